// The name mps-control-daemon, which manifests of NVIDIA's device plugin run beside it. The agent
// does that work, so the name says where it went.
#pragma once

#include <string_view>

namespace partita::cli {

inline constexpr std::string_view kMpsControlDaemonName = "mps-control-daemon";

// Whatever it is asked: tells what replaces it, with the status of invalid input.
int MpsControlDaemonMain();

}  // namespace partita::cli
