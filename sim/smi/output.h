#pragma once

#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace partita::sim::smi {

// Everything, errors included, goes to standard output: so does the tool that this one looks like,
// and its callers show what they find there.
template <typename... Args>
void Say(fmt::format_string<Args...> text, Args&&... args) {
  std::fputs(fmt::format(text, std::forward<Args>(args)...).c_str(), stdout);
}

}  // namespace partita::sim::smi
