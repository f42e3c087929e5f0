// A domain's MPS servers as processes, whatever its daemon says of them.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/ids.h"
#include "service/mps/protocol.h"

namespace partita::agent::mps {

// kNotFound: it has ended, or is no server of this domain.
[[nodiscard]] base::Result<base::UniqueFd> OpenServer(model::Pid pid,
                                                      const service::mps::Directories& directories);

// How long it is waited before anything is said, after SIGTERM, and after SIGKILL.
struct Patience {
  std::chrono::milliseconds silent = std::chrono::seconds(2);
  std::chrono::milliseconds after_term = std::chrono::seconds(2);
  std::chrono::milliseconds after_kill = std::chrono::seconds(2);
};
// Blocks: for so long, however many there are. One that is told to stop leaves the rest to the next
// agent.
[[nodiscard]] base::Result<void> EndProcesses(const std::vector<int>& processes,
                                              const std::string& what,
                                              const std::atomic<bool>& stop,
                                              Patience patience);
// Once their daemon has ended: no other takes them, and none gets their GPUs beside them.
[[nodiscard]] base::Result<void> EndServersLeft(const service::mps::Directories& directories,
                                                const std::string& name,
                                                const std::atomic<bool>& stop,
                                                Patience patience);

}  // namespace partita::agent::mps
