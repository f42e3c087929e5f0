#include "config/problems.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::config {

void Problems::Add(const Node& node, std::string message, std::string hint) {
  problems_.push_back({node.line, node.column, node.length, std::move(message), std::move(hint)});
}

std::string Problems::Describe(const Node& node) const {
  if (quoting_ == Quoting::kNothing && node.IsScalar()) return "a text";
  return config::Describe(node);
}

std::vector<const Problems::Problem*> Problems::Sorted() const {
  std::vector<const Problem*> sorted;
  for (const Problem& problem : problems_) sorted.push_back(&problem);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem* a, const Problem* b) {
    return std::tie(a->line, a->column) < std::tie(b->line, b->column);
  });
  return sorted;
}

std::string Problems::RenderOne(const Problem& problem) const {
  const std::string what =
      fmt::format("{}:{}:{}: {}", file_name_, problem.line, problem.column, problem.message);
  if (quoting_ == Quoting::kNothing)
    return problem.hint.empty() ? what : fmt::format("{}; {}", what, problem.hint);
  return fmt::format(
      "{}\n{}", what,
      base::Snippet(text_, problem.line, problem.column, problem.length, problem.hint));
}

std::vector<std::string> Problems::RenderEach() const {
  std::vector<std::string> texts;
  const std::vector<const Problem*> sorted = Sorted();
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxShown); ++i)
    texts.push_back(RenderOne(*sorted[i]));
  if (sorted.size() > kMaxShown) {
    const std::size_t more = sorted.size() - kMaxShown;
    texts.push_back(fmt::format("{}: {} more problem{}", file_name_, more, more == 1 ? "" : "s"));
  }
  return texts;
}

std::string Problems::Render() const {
  std::string text;
  for (const std::string& each : RenderEach()) text += each + "\n";
  return text;
}

base::Result<void> Problems::ToResult() const {
  if (empty()) return {};
  std::string text = Render();
  text.pop_back();  // the newline: errors end without one
  return base::Error(base::ErrorCode::kInvalid, std::move(text));
}

}  // namespace partita::config
