// A domain's control daemon on this machine: started, known again, mended, ended. Everything here
// blocks, for seconds at most, and belongs on a thread beside the loop. `stop` ends it early.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/mps/domain_files.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "service/mps/domain.h"
#include "service/mps/reconcile.h"

namespace partita::agent::mps {

// A daemon that answers, with its limits in force; not `checked`: both are still to be seen.
struct Running {
  service::mps::Record record;
  base::UniqueFd process;
  std::vector<std::string> news;  // what is not as it should be and keeps nobody from working
  bool checked = true;
};

// By the machine's runner. The record is written as soon as there is a process; the
// limits are read back after they were set. What fails leaves no daemon behind.
[[nodiscard]] base::Result<Running> StartDaemon(const Machine& machine,
                                                const service::mps::Domain& domain,
                                                const std::atomic<bool>& stop);

struct Seen {
  service::mps::Found found;
  std::optional<Running> running;  // where `found` has its parameters
  std::string why;                 // a record that could not be used
};
// What earlier agents left below the root. A daemon is known by its record and the process of it,
// and not asked: whoever adopts it sees whether it answers, and with which limits.
[[nodiscard]] base::Result<std::vector<Seen>> LookAround(const Machine& machine,
                                                         const std::atomic<bool>& stop);

// Directories of MIG devices, by name, but for those that `stay`; none in which a daemon is, or has
// left its record.
struct Removed {
  std::vector<std::string> names;
  std::vector<base::Error> failed;
};
[[nodiscard]] Removed RemoveGone(const Machine& machine,
                                 const std::set<std::string>& stay,
                                 const std::atomic<bool>& stop);

enum class Stopping : bool {
  kForGood,
  kToStartAgain,  // the tmpfs stays, which containers have
};
// With clients that are given a moment, then signals; its servers go with it. The directories of
// pipe and shm stay: kubelet mounts them again for containers that start again.
[[nodiscard]] base::Result<void> StopDaemon(const Machine& machine,
                                            const std::string& name,
                                            Stopping stopping,
                                            const std::atomic<bool>& stop);

// Whether its limits are in force. kConflict: others are. Other errors as of FindFaulty.
[[nodiscard]] base::Result<void> CheckLimits(const Machine& machine,
                                             const service::mps::Domain& domain,
                                             const std::atomic<bool>& stop);

// A client that came before the limits has a server without them, for as long as that lives: all
// servers end, and the record says so. Errors as of FindFaulty, or of writing.
[[nodiscard]] base::Result<void> EndUnlimited(const Machine& machine,
                                              service::mps::Record& record,
                                              const std::atomic<bool>& stop);

enum class Fault : bool {
  kMaybe,
  kHeard,  // the log tells of one: its server says FAULT a moment later
};
// Servers in FAULT. kTimeout, kUnavailable: the daemon does not answer. Another error: it could not
// be asked, or its answer is not to be understood.
[[nodiscard]] base::Result<std::vector<model::Pid>> FindFaulty(const Machine& machine,
                                                               const std::string& name,
                                                               Fault fault,
                                                               const std::atomic<bool>& stop);
// Ends these, so that the next client gets a new one.
[[nodiscard]] base::Result<void> EndServers(const Machine& machine,
                                            const std::string& name,
                                            const std::vector<model::Pid>& servers,
                                            const std::atomic<bool>& stop);

}  // namespace partita::agent::mps
