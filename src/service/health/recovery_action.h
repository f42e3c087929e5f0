// What the driver asks for (NVML's field 230, since driver 570), and what that makes of an XID.
#pragma once

#include <chrono>
#include <cstdint>

#include "service/health/state.h"

namespace partita::service::health {

// It asks for a reset or a reboot, now or once the GPU is idle.
[[nodiscard]] bool AsksForReset(const GpuFacts& gpu);

[[nodiscard]] Effect EffectOfAction(std::uint32_t action);

// Whether it is listened to. XID 154 tells of it: who disables that, or all, does without.
[[nodiscard]] bool FollowsDriver(const XidOptions& options);

// What a preset made of an XID gives way to what the driver asks for since. That it asks for
// nothing counts once it had the time to ask, and the part was out for `hold`: until then the
// preset holds.
void FollowDriver(Fault& fault,
                  const GpuFacts& gpu,
                  const XidOptions& options,
                  std::chrono::nanoseconds hold);

}  // namespace partita::service::health
