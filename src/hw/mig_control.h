// Changes to MIG, each one driver call with its deadline. Nothing here decides what to change.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/nvml/driver.h"
#include "model/ids.h"
#include "model/inventory.h"

namespace partita::hw {

// Whether a mode that was accepted is in force.
enum class Activation : std::uint8_t {
  kActive,
  kInUse,          // somebody holds the GPU
  kResetRequired,  // after a reset, or where the platform forbids one, a reboot
};

struct ControlLimits {
  std::chrono::milliseconds instance{10'000};  // create or destroy an instance
  std::chrono::milliseconds mode{60'000};
  std::chrono::milliseconds reset{120'000};
};

// A change that was given up: its call still runs, or came back too late for anyone to know how.
// Only a look at the GPU tells, once it can be read again; until then every other call for it is
// refused.
[[nodiscard]] bool EndIsUnknown(const base::Error& error);

// Used by one thread. GPUs are named by PCI address, which survives resets and re-enumeration.
// Errors carry NVML's code; who holds a GPU is for the caller to add.
class MigControl {
 public:
  explicit MigControl(std::shared_ptr<nvml::Driver> driver, ControlLimits limits = {});
  MigControl(const MigControl&) = delete;
  MigControl& operator=(const MigControl&) = delete;
  ~MigControl();

  [[nodiscard]] base::Result<Activation> SetMode(const model::PciAddress& gpu, bool enable);

  // At exactly this place; anything else that the driver made is an error.
  [[nodiscard]] base::Result<model::GpuInstanceId> CreateInstance(
      const model::PciAddress& gpu, model::ProfileId profile, const model::Placement& placement);
  // Of the profiles with so many slices the one with the most multiprocessors; from this compute
  // slice on, or where the driver likes. Anything else that it made is an error, too.
  [[nodiscard]] base::Result<model::ComputeInstanceId> CreateCompute(
      const model::PciAddress& gpu,
      model::GpuInstanceId instance,
      std::uint32_t slices,
      std::optional<std::uint32_t> start = std::nullopt);
  // What a GPU instance can be divided into, with places where the driver tells them.
  [[nodiscard]] base::Result<std::vector<model::ComputeInstanceProfile>> OfferedCompute(
      const model::PciAddress& gpu, model::GpuInstanceId instance);
  [[nodiscard]] base::Result<void> DestroyCompute(const model::PciAddress& gpu,
                                                  model::GpuInstanceId instance,
                                                  model::ComputeInstanceId compute);
  [[nodiscard]] base::Result<void> DestroyInstance(const model::PciAddress& gpu,
                                                   model::GpuInstanceId instance);

  // Whether a reset could have the driver for itself: an error names the GPU whose call was given
  // up and has not come back. To be asked before a mode is changed that only a reset completes.
  [[nodiscard]] base::Result<void> MayReset();
  // Resets these GPUs and no others, with the driver's own nvidia-smi: NVML has no call for it. Has
  // the driver for itself meanwhile (nvml::Driver::Exclusive), with the errors of that. `stop` ends
  // a tool that waits: with SIGTERM, five seconds later with SIGKILL.
  [[nodiscard]] base::Result<void> Reset(const std::vector<model::PciAddress>& gpus,
                                         const std::atomic<bool>* stop = nullptr);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::hw
