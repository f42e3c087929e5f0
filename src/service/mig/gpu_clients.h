// Units that hold GPUs: stopped before a change of MIG modes, started after it.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/mig/lock.h"

namespace partita::service::mig {

struct GpuClientOptions {
  // In the order in which they start; they stop in the other.
  std::vector<std::string> units = {"nvsm.service", "nvidia-dcgm.service", "dcgm-exporter.service",
                                    "kubelet.service"};
  std::string directory = RunDirectory();   // of the journal
  const std::atomic<bool>* stop = nullptr;  // ends a stop of units that takes long
};

struct StartedClients {
  std::vector<std::string> units;
  std::vector<std::string> failures;  // a line for each that did not start
};

// The units of a file (`version: v1`, `systemd-services`), without the one that asks under either
// of its names. Other keys of the file are for others.
[[nodiscard]] base::Result<std::vector<std::string>> LoadGpuClients(const std::string& path);

// What is stopped is written down first, so that a run after a crash starts it. The journal is of
// this boot: after a reboot systemd starts what is enabled. Without systemd there are no units.
class GpuClients {
 public:
  explicit GpuClients(GpuClientOptions options) : options_(std::move(options)) {}

  // Those that run, to their end.
  [[nodiscard]] base::Result<void> Stop();
  // Everything that the journal names, and never waits for it: units that are ordered after the
  // caller's own would wait for the caller. One that cannot start keeps no other from it, and stays
  // in the journal for the next run. An error is one of the journal itself.
  [[nodiscard]] base::Result<StartedClients> Start();

 private:
  [[nodiscard]] base::Result<std::vector<std::string>> ReadJournal() const;
  [[nodiscard]] base::Result<void> WriteJournal(const std::vector<std::string>& units) const;
  [[nodiscard]] std::string Journal() const { return options_.directory + "/mig-stopped-units"; }
  GpuClientOptions options_;
};

}  // namespace partita::service::mig
