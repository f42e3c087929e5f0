// The MIG side of one GPU. In a job of the driver.
#pragma once

#include <optional>
#include <vector>

#include "hw/nvml/device_calls.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// What a change of MIG needs, and no more: not how many more instances the driver says fit, no
// slots and no memory of MIG devices, and `profiles` where they are known already.
struct OnlyMig {
  std::vector<model::GpuInstanceProfile> profiles;
  // All the same with slots, and with how many more fit.
  bool slots = false;
};

// Whether MIG is on now, and after the next activation; absent if the GPU cannot do MIG.
struct MigMode {
  bool enabled = false, pending = false;
  bool operator==(const MigMode&) const = default;
};
[[nodiscard]] std::optional<MigMode> ReadMigMode(DeviceCalls& calls,
                                                 std::optional<base::Error>& gap);

// Mode, profiles, placements and what is made of them; `gpu.mig` stays absent if the GPU cannot do
// MIG, and `gpu.mig_error` says what could not be read. Needs `gpu.memory`, which the names of
// profiles depend on.
void ReadMig(DeviceCalls& calls, model::Gpu& gpu, const std::optional<OnlyMig>& only);

}  // namespace partita::hw::nvml
