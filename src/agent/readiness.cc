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
    if (!check.problem.empty())
      text += fmt::format("[-] {}: {}\n", check.name, check.problem);
    else
      text += fmt::format("[+] {}{}\n", check.name,
                          check.note.empty() ? "" : fmt::format(" ({})", check.note));
  }
  return text + (ready() ? "ready\n" : "not ready\n");
}

std::string Readiness::Problem() const {
  for (const Check& check : checks_)
    if (!check.problem.empty()) return fmt::format("{}: {}", check.name, check.problem);
  return "";
}

std::string Readiness::Summary() const {
  if (!ready()) return Problem();
  for (const Check& check : checks_)
    if (!check.note.empty()) return fmt::format("running; {}: {}", check.name, check.note);
  return "running";
}

void Readiness::Set(Check check) {
  const auto found = std::find_if(checks_.begin(), checks_.end(),
                                  [&](const Check& each) { return each.name == check.name; });
  if (found != checks_.end()) {
    if (*found == check) return;
    *found = std::move(check);
  } else {
    checks_.push_back(std::move(check));
  }
  if (changed_) changed_();
}

}  // namespace partita::agent
