// The control daemon's commands as driver 580 reads them: one line, words between blanks, numbers
// as strtol takes them ("x" is 0), and what is too much is not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace partita::sim::mps {

enum class Verb : std::uint8_t {
  kNothing,  // an empty line: not known either
  kUnknown,
  kQuit,
  kGetServerList,
  kStartServer,
  kShutdownServer,
  kGetServerStatus,
  kGetClientList,
  kGetDeviceClientList,
  kPs,
  kTerminateClient,
  kGetDefaultPercentage,
  kSetDefaultPercentage,
  kGetPercentage,
  kSetPercentage,
  kGetDefaultLimit,
  kSetDefaultLimit,
  kGetLimit,
  kSetLimit,
  kSimFault,  // partita-sim's own: `fault mps`
};

struct Command {
  Verb verb = Verb::kNothing;
  std::string word;           // the first, for kUnknown
  std::uint32_t server = 0;   // a pid
  std::uint32_t client = 0;   // a pid
  std::int64_t user = -1;     // of start_server; -1: none was given
  bool force = false;         // of shutdown_server
  std::int64_t seconds = -1;  // of quit -t; -1: wait for clients for as long as it takes
  std::string device;         // ordinal or UUID
  std::string value;          // a percentage or a size
};

[[nodiscard]] Command ParseCommand(std::string_view line);

// Changes something: only for the daemon's user and root.
[[nodiscard]] bool NeedsPrivilege(Verb verb);

}  // namespace partita::sim::mps
