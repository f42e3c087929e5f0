// GPU resets, through the driver's nvidia-smi: NVML has no call for them.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::hw {

struct ResetOptions {
  std::string driver_root = "/";
  std::string library;  // the driver's library, if a certain one is meant: the tool must use it too
  std::chrono::milliseconds limit{120'000};
  const std::atomic<bool>* stop = nullptr;  // ends a tool that waits, when it becomes true
};

// Where the tool is: below the driver root, or with root "/" by PATH and then in the usual places.
// kNotFound names all that were tried.
[[nodiscard]] base::Result<std::string> FindNvidiaSmi(const std::string& driver_root);

// Resets these GPUs and no others; at least one. The error holds what the tool said.
[[nodiscard]] base::Result<void> ResetGpus(const std::vector<model::PciAddress>& gpus,
                                           const ResetOptions& options);

}  // namespace partita::hw
