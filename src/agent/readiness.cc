#include "agent/readiness.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::agent {

bool Readiness::ready() const {
  return std::all_of(checks_.begin(), checks_.end(),
                     [](const Check& check) { return check.problem.empty(); });
}

std::string Readiness::Text() const {
  std::string text;
  for (const Check& check : checks_) {
    text += check.problem.empty() ? fmt::format("[+] {}\n", check.name)
                                  : fmt::format("[-] {}: {}\n", check.name, check.problem);
  }
  return text + (ready() ? "ready\n" : "not ready\n");
}

std::string Readiness::Problem() const {
  for (const Check& check : checks_)
    if (!check.problem.empty()) return fmt::format("{}: {}", check.name, check.problem);
  return "";
}

void Readiness::Set(std::string name, std::string problem) {
  const auto found = std::find_if(checks_.begin(), checks_.end(),
                                  [&](const Check& check) { return check.name == name; });
  if (found != checks_.end()) {
    if (found->problem == problem) return;
    found->problem = std::move(problem);
  } else {
    checks_.push_back({std::move(name), std::move(problem)});
  }
  if (changed_) changed_();
}

}  // namespace partita::agent
