#include "service/ledger/testing/machine.h"

#include <fmt/format.h>

namespace partita::service::ledger::testing {

model::Inventory Machine(std::size_t count) {
  model::Inventory machine;
  for (std::size_t i = 0; i < count; ++i) {
    model::Gpu gpu;
    gpu.index = model::GpuIndex(static_cast<std::uint32_t>(i));
    gpu.uuid = model::GpuUuid(fmt::format("GPU-{}", i));
    gpu.pci = {0, static_cast<std::uint8_t>(i + 1), 0, 0};
    gpu.mig.emplace();
    machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

void LayOut(model::Inventory& machine, std::size_t gpu, const std::vector<Made>& instances) {
  model::Mig& mig = *machine.gpus[gpu].mig;
  mig.enabled = mig.pending_enabled = !instances.empty();
  mig.instances.clear();
  for (std::size_t i = 0; i < instances.size(); ++i) {
    model::GpuInstance& instance = mig.instances.emplace_back();
    instance.id = model::GpuInstanceId(static_cast<std::uint32_t>(i + 1));
    instance.profile = model::ProfileId(instances[i].profile);
    instance.placement = instances[i].memory;
    for (std::size_t c = 0; c < instances[i].compute.size(); ++c) {
      model::ComputeInstance& compute = instance.compute_instances.emplace_back();
      compute.id = model::ComputeInstanceId(static_cast<std::uint32_t>(c));
      compute.placement = instances[i].compute[c];
      compute.uuid = model::MigUuid(fmt::format("MIG-{}-{}-{}", gpu, i + 1, c));
    }
  }
}

WholeGpu GpuAt(const model::Inventory& machine, std::size_t gpu) {
  return {*machine.gpus[gpu].uuid, machine.gpus[gpu].pci};
}

MigDevice MigAt(const model::Inventory& machine,
                std::size_t gpu,
                std::size_t instance,
                std::size_t compute) {
  const model::GpuInstance& made = machine.gpus[gpu].mig->instances[instance];
  const model::ComputeInstance& part = made.compute_instances[compute];
  return {GpuAt(machine, gpu), made.profile, made.placement, part.placement, part.uuid};
}

}  // namespace partita::service::ledger::testing
