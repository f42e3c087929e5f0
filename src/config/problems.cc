#include "config/problems.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::config {

void Problems::Add(const Node& node, std::string message, std::string hint) {
  problems_.push_back({node.line, node.column, node.length, std::move(message), std::move(hint)});
}

std::string Problems::Render() const {
  std::vector<const Problem*> sorted;
  for (const Problem& problem : problems_) sorted.push_back(&problem);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem* a, const Problem* b) {
    return std::tie(a->line, a->column) < std::tie(b->line, b->column);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxShown); ++i) {
    const Problem& problem = *sorted[i];
    text += fmt::format(
        "{}:{}:{}: {}\n{}\n", file_name_, problem.line, problem.column, problem.message,
        base::Snippet(text_, problem.line, problem.column, problem.length, problem.hint));
  }
  if (sorted.size() > kMaxShown) {
    const std::size_t more = sorted.size() - kMaxShown;
    text += fmt::format("{}: {} more problem{}\n", file_name_, more, more == 1 ? "" : "s");
  }
  return text;
}

base::Result<void> Problems::ToResult() const {
  if (empty()) return {};
  std::string text = Render();
  text.pop_back();  // the newline: errors end without one
  return base::Error(base::ErrorCode::kInvalid, std::move(text));
}

}  // namespace partita::config
