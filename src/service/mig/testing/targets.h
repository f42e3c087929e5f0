// Goals of single GPUs, for tests.
#pragma once

#include <cstddef>
#include <string>

#include "model/gpu_identity.h"
#include "model/inventory.h"
#include "model/mig/geometry.h"
#include "model/testing/mig_notation.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

// MIG on and empty, or off.
[[nodiscard]] inline GpuTarget Mode(const model::Inventory& node, std::size_t gpu, bool on) {
  return {model::GpuIdentity::Of(node.gpus[gpu]), {on, {}}};
}

// Divided into these.
[[nodiscard]] inline GpuTarget Target(const model::Inventory& node,
                                      std::size_t gpu,
                                      const std::string& devices) {
  const model::MigGeometry geometry = model::MigGeometry::From(*node.gpus[gpu].mig);
  return {model::GpuIdentity::Of(node.gpus[gpu]),
          {true, model::testing::Wanted(geometry, devices)}};
}

}  // namespace partita::service::mig
