// The inventory of a Ward's node.
#pragma once

#include <cstdint>
#include <string>

#include "model/inventory.h"
#include "service/health/testing/ward.h"

namespace partita::service::health::testing {

// 0000:07:00.0 has the GPU instances 1 and 2 with one compute instance each, MIG-1 and MIG-2;
// 0000:08:00.0 is whole.
inline model::Inventory WardInventory() {
  model::Inventory node;
  std::uint8_t index = 0;
  for (const model::GpuUuid& uuid : {kFirst, kSecond}) {
    model::Gpu& gpu = node.gpus.emplace_back();
    gpu.index = model::GpuIndex(index);
    gpu.uuid = uuid;
    gpu.pci = {0, static_cast<std::uint8_t>(7 + index++), 0, 0};
  }
  node.gpus[0].mig.emplace().enabled = true;
  for (const std::uint32_t id : {1U, 2U}) {
    model::ComputeInstance compute;
    compute.id = model::ComputeInstanceId(0);
    compute.uuid = model::MigUuid("MIG-" + std::to_string(id));
    compute.name = "1g.5gb";
    model::GpuInstance& instance = node.gpus[0].mig->instances.emplace_back();
    instance.id = model::GpuInstanceId(id);
    instance.compute_instances = {compute};
  }
  return node;
}

}  // namespace partita::service::health::testing
