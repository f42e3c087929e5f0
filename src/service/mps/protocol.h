// What is said to an MPS control daemon and what it answers: its environment, commands on standard
// input, lines on standard output. Seen on an H200 with driver 580 (data/captures/h200/mps.txt).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "service/mps/domain.h"

namespace partita::service::mps {

// Where the files of a domain are, on the host.
struct Directories {
  std::string pipe, log, shm, record;
  bool operator==(const Directories&) const = default;
};
// Below <root>/<name>.
[[nodiscard]] Directories DirectoriesOf(std::string_view root, const std::string& name);

// "NAME=value" of a daemon, all that it gets. Its devices by UUID; their ordinals there are those
// of the list, whatever other GPUs the machine has.
[[nodiscard]] std::vector<std::string> EnvironmentOf(const Domain& domain,
                                                     const Directories& directories);
// Of a program that talks to a daemon.
[[nodiscard]] std::vector<std::string> EnvironmentToAsk(const Directories& directories);

// One limit: how it is set, and how it is read back. The daemon says yes to nonsense too (exit
// status 0, and a line in its log), so that only what it gives back is in force.
struct Setting {
  std::string set, get;
  std::optional<model::Mebibytes> memory;  // that it sets; else…
  std::optional<model::Percent> threads;
  bool operator==(const Setting&) const = default;
};
[[nodiscard]] std::vector<Setting> SettingsOf(const Domain& domain);

// Whether what `get` was answered is what was set. A memory limit comes back in whole GiB from 1
// GiB on ("1500M" is "1G"): the rest cannot be read. kConflict: something else is in force.
[[nodiscard]] base::Result<void> CheckReadBack(const Setting& setting, std::string_view answer);

// Any answer that is not as expected is kInternal, with the answer in it.
// Nothing: no limit is set.
[[nodiscard]] base::Result<std::optional<model::Mebibytes>> ParseMemoryLimit(
    std::string_view answer);
// In tenths: "40.0" is 400.
[[nodiscard]] base::Result<std::uint32_t> ParsePercentage(std::string_view answer);
[[nodiscard]] base::Result<std::vector<model::Pid>> ParseServerList(std::string_view answer);

enum class ServerState : std::uint8_t {
  kInitializing,
  kActive,
  kFault,  // a client's fault ended all clients; every later one fails too
  kGone,
  kOther,  // a word that a newer driver has: no fault
};
[[nodiscard]] base::Result<ServerState> ParseServerStatus(std::string_view answer);

inline constexpr std::string_view kListServers = "get_server_list";
inline constexpr std::string_view kPing = "get_default_active_thread_percentage";
[[nodiscard]] std::string AskStatus(model::Pid server);
// Ends it with its clients; those of a server in FAULT have failed already.
[[nodiscard]] std::string EndServer(model::Pid server);
// Clients get so many seconds.
[[nodiscard]] std::string Quit(std::uint32_t seconds);

// Whether this line of the daemon's log says that a server met a fault. Which one is asked then.
[[nodiscard]] bool TellsOfFault(std::string_view line);

// What a container's programs are told, so that they take no more than their shares: the daemon's
// defaults are the whole device. "0=1024M,1=2048M" by the ordinals that the program sees.
[[nodiscard]] std::string MemoryVariable(const std::vector<model::Mebibytes>& limits);

}  // namespace partita::service::mps
