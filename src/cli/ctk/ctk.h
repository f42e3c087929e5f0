// This program under the name nvidia-ctk: `cdi generate`, `cdi list`, `config` and `runtime
// configure` with the reference's flags and variables. partita-hook, which has that name, calls it
// for everything but `hook`.
#pragma once

#include <string_view>

namespace partita::cli {

inline constexpr std::string_view kCtkName = "nvidia-ctk";

// Every error ends with status 1.
int CtkMain(int argc, char** argv);

}  // namespace partita::cli
