#include "base/text_edit.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/result.h"

namespace partita::base {
namespace {

constexpr std::size_t kContext = 3;
// Beyond this the middle is shown as replaced: a table of all pairs would cost too much memory.
constexpr std::size_t kMostPairs = std::size_t{16} << 20;

// Lines with their ends, so that a last one without differs from one with.
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// One line of the comparison: ' ' in both, '-' before only, '+' after only.
struct Step {
  char sign;
  std::string_view line;
};

using Lines = std::vector<std::string_view>;

// The longest common subsequence of [begin, end) of both, as steps.
class Comparison {
 public:
  Comparison(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  std::vector<Step> Steps() {
    std::size_t same = 0, last = 0;
    const std::size_t shorter = std::min(before_.size(), after_.size());
    while (same < shorter && before_[same] == after_[same]) ++same;
    while (last < shorter - same &&
           before_[before_.size() - 1 - last] == after_[after_.size() - 1 - last])
      ++last;
    for (std::size_t i = 0; i < same; ++i) steps_.push_back({' ', before_[i]});
    Middle(same, before_.size() - last, after_.size() - last);
    for (std::size_t i = before_.size() - last; i < before_.size(); ++i)
      steps_.push_back({' ', before_[i]});
    return std::move(steps_);
  }

 private:
  void Middle(std::size_t begin, std::size_t before_end, std::size_t after_end) {
    const std::size_t rows = before_end - begin, columns = after_end - begin;
    if (rows != 0 && columns > kMostPairs / rows) {
      for (std::size_t i = begin; i < before_end; ++i) steps_.push_back({'-', before_[i]});
      for (std::size_t i = begin; i < after_end; ++i) steps_.push_back({'+', after_[i]});
      return;
    }
    // common[i][j]: how many lines the rests from i and j have in common.
    std::vector<std::uint32_t> common((rows + 1) * (columns + 1), 0);
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
      return common[i * (columns + 1) + j];
    };
    for (std::size_t i = rows; i-- > 0;) {
      for (std::size_t j = columns; j-- > 0;) {
        at(i, j) = before_[begin + i] == after_[begin + j] ? at(i + 1, j + 1) + 1
                                                           : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
    std::size_t i = 0, j = 0;
    while (i < rows || j < columns) {
      if (i < rows && j < columns && before_[begin + i] == after_[begin + j]) {
        steps_.push_back({' ', before_[begin + i++]});
        ++j;
      } else if (j == columns || (i < rows && at(i + 1, j) >= at(i, j + 1))) {
        steps_.push_back({'-', before_[begin + i++]});
      } else {
        steps_.push_back({'+', after_[begin + j++]});
      }
    }
  }

  const Lines& before_;
  const Lines& after_;
  std::vector<Step> steps_;
};

// "12,3"; an empty range names the line before it, as diff(1) does.
std::string Range(std::size_t first, std::size_t count) {
  const std::size_t line = count == 0 ? first : first + 1;
  return count == 1 ? fmt::format("{}", line) : fmt::format("{},{}", line, count);
}

void AppendLine(std::string& out, const Step& step) {
  out += step.sign;
  out += step.line;
  if (!step.line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

}  // namespace

std::string Apply(std::string_view text, std::vector<Splice> splices) {
  std::stable_sort(splices.begin(), splices.end(),
                   [](const Splice& a, const Splice& b) { return a.at < b.at; });
  std::string out;
  std::size_t done = 0;
  for (const Splice& splice : splices) {
    PARTITA_CHECK(splice.at >= done && splice.at <= text.size() &&
                  splice.length <= text.size() - splice.at);
    out += text.substr(done, splice.at - done);
    out += splice.with;
    done = splice.at + splice.length;
  }
  return out.append(text.substr(done));
}

std::string UnifiedDiff(std::string_view before, std::string_view after, std::string_view name) {
  if (before == after) return "";
  const Lines old_lines = LinesOf(before), new_lines = LinesOf(after);
  const std::vector<Step> steps = Comparison(old_lines, new_lines).Steps();
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  std::size_t old_line = 0, new_line = 0;  // of steps[at]
  for (std::size_t at = 0; at < steps.size();) {
    if (steps[at].sign == ' ') {
      ++old_line, ++new_line, ++at;
      continue;
    }
    // A hunk goes on while the next change is near enough for their contexts to touch.
    const std::size_t begin = at - std::min(kContext, at);
    std::size_t end = at + 1, last = at;
    while (end < steps.size() && end <= last + 2 * kContext + 1) {
      if (steps[end].sign != ' ') last = end;
      ++end;
    }
    end = std::min(steps.size(), last + 1 + kContext);
    const std::size_t lead = at - begin;
    std::size_t old_count = 0, new_count = 0;
    std::string body;
    for (std::size_t i = begin; i < end; ++i) {
      if (steps[i].sign != '+') ++old_count;
      if (steps[i].sign != '-') ++new_count;
      AppendLine(body, steps[i]);
    }
    out += fmt::format("@@ -{} +{} @@\n", Range(old_line - lead, old_count),
                       Range(new_line - lead, new_count));
    out += body;
    old_line += old_count - lead;
    new_line += new_count - lead;
    at = end;
  }
  return out;
}

}  // namespace partita::base
