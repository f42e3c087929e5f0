#pragma once

#include <cstdint>

#include "model/inventory.h"
#include "model/mig/geometry.h"
#include "model/mig/plan.h"

namespace partita::model {

// A GPU as it will be once the plan is carried out. Instances that are new have ids from
// kNewInstance on: the driver chooses theirs.
inline constexpr std::uint32_t kNewInstance = 1'000'000;
[[nodiscard]] Gpu AfterPlan(const Gpu& gpu, const MigGeometry& geometry, const GpuPlan& plan);

}  // namespace partita::model
