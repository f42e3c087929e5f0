// Every key that a log line can have. A closed list, so that whoever searches logs finds one name
// for one thing; a key is added here, not made up where it is used.
#pragma once

#include <cstdint>
#include <string_view>

namespace partita::base {

enum class LogKey : std::uint8_t {
  kGpu,         // UUID or address
  kMig,         // UUID of a MIG device, or a layout in words
  kPod,         // namespace/name
  kClaim,       // namespace/name
  kResource,    // "nvidia.com/gpu"
  kNode,        // its name in Kubernetes
  kPath,        // of a file
  kAddress,     // of a listener
  kError,       // what went wrong, as base::Error says it
  kHint,        // what to do about it
  kDurationMs,  // how long it took
  kAttempt,     // the how many-th time
  kStep,        // of starting or stopping
  kMethod,      // of the control socket
  kPid,         // of another process
  kCommand,     // who ordered it: "pid 4711 (partita mig apply)"
  kSignal,      // its name
  kVersion,     // of this program
  kXid,         // its number
  kCount,       // how many
};

[[nodiscard]] constexpr std::string_view ToString(LogKey key) {
  switch (key) {
    case LogKey::kGpu: return "gpu";
    case LogKey::kMig: return "mig";
    case LogKey::kPod: return "pod";
    case LogKey::kClaim: return "claim";
    case LogKey::kResource: return "resource";
    case LogKey::kNode: return "node";
    case LogKey::kPath: return "path";
    case LogKey::kAddress: return "address";
    case LogKey::kError: return "err";
    case LogKey::kHint: return "hint";
    case LogKey::kDurationMs: return "dur_ms";
    case LogKey::kAttempt: return "attempt";
    case LogKey::kStep: return "step";
    case LogKey::kMethod: return "method";
    case LogKey::kPid: return "pid";
    case LogKey::kCommand: return "command";
    case LogKey::kSignal: return "signal";
    case LogKey::kVersion: return "version";
    case LogKey::kXid: return "xid";
    case LogKey::kCount: return "count";
  }
  return "";
}

}  // namespace partita::base
