#include "hw/merge.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace partita::hw {
namespace {

bool IsVfio(const sysfs::PciGpu& gpu) {
  // vfio-pci and its kin for particular boards, such as nvgrace_gpu_vfio_pci.
  return gpu.driver.find("vfio") != std::string::npos;
}

void FillFromBus(const sysfs::PciGpu& bus, model::Gpu& gpu) {
  if (gpu.pci_device_id == 0) gpu.pci_device_id = bus.device_id;
  if (gpu.pci_subsystem_id == 0) gpu.pci_subsystem_id = bus.subsystem_id;
  gpu.pci_class = bus.pci_class;
  if (!gpu.irq) gpu.irq = bus.irq;
  gpu.numa_node = bus.numa_node;
  gpu.pci_path = bus.path;
}

void FillFromFiles(const procfs::GpuInformation& file, model::Gpu& gpu) {
  if (gpu.name.empty()) gpu.name = file.model;
  if (!gpu.uuid) gpu.uuid = file.uuid;
  if (!gpu.minor) gpu.minor = file.minor;
  if (!gpu.irq) gpu.irq = file.irq;
  if (!gpu.vbios) gpu.vbios = file.vbios;
  if (!file.excluded) return;
  std::erase_if(gpu.faults,
                [](const model::Fault& fault) { return fault.kind == model::FaultKind::kMissing; });
  gpu.faults.push_back({model::FaultKind::kMissing,
                        "the driver was told to leave it alone: take it out of the module "
                        "parameter NVreg_ExcludedGpus and reload the driver"});
}

// NVML numbers GPUs in the order of their addresses. Where it counts as many as the bus has, and
// those that answer agree with that order, the others' numbers follow.
void InferIndexes(std::uint32_t count, std::vector<model::Gpu>& gpus) {
  if (gpus.size() != count) return;
  std::vector<model::Gpu*> ordered;
  ordered.reserve(gpus.size());
  for (model::Gpu& gpu : gpus) ordered.push_back(&gpu);
  std::sort(ordered.begin(), ordered.end(),
            [](const model::Gpu* a, const model::Gpu* b) { return a->pci < b->pci; });
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::optional<model::GpuIndex>& index = ordered[i]->index;
    if (index && *index != model::GpuIndex(i)) return;
  }
  for (std::uint32_t i = 0; i < count; ++i) ordered[i]->index = model::GpuIndex(i);
}

void SortGpus(std::vector<model::Gpu>& gpus) {
  const auto key = [](const model::Gpu& gpu) {
    return std::make_tuple(!gpu.index.has_value(), gpu.index, gpu.pci);
  };
  std::sort(gpus.begin(), gpus.end(),
            [&key](const model::Gpu& a, const model::Gpu& b) { return key(a) < key(b); });
}

model::Problem Unbound(const sysfs::PciGpu& gpu) {
  const std::string driver =
      gpu.driver.empty() ? "has no driver" : fmt::format("belongs to driver {}", gpu.driver);
  return {gpu.pci.ToString(),
          base::MakeError(base::ErrorCode::kUnavailable, "the GPU {}, so it cannot be used", driver)
              .WithHint(fmt::format("bind {} to nvidia, or to vfio-pci for virtual machines",
                                    gpu.pci.ToString()))};
}

// Without the driver's library, what the bus and the files know is all there is.
void AddUnanswered(const std::vector<sysfs::PciGpu>& bus, nvml::Facts& facts) {
  for (const model::PciAddress& pci : BoundToNvidia(bus)) {
    const bool known = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                   [&pci](const model::Gpu& gpu) { return gpu.pci == pci; });
    if (known) continue;
    model::Gpu gpu;
    gpu.pci = pci;
    gpu.faults.push_back({model::FaultKind::kUnreadable,
                          "the driver's library does not answer: see the driver's error"});
    facts.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

std::vector<model::PciAddress> BoundToNvidia(const std::vector<sysfs::PciGpu>& bus) {
  std::vector<model::PciAddress> addresses;
  for (const sysfs::PciGpu& gpu : bus) {
    if (gpu.driver == "nvidia") addresses.push_back(gpu.pci);
  }
  return addresses;
}

model::Inventory Merge(const std::vector<sysfs::PciGpu>& bus,
                       const std::vector<procfs::GpuInformation>& files,
                       nvml::Facts facts) {
  if (!facts.driver) AddUnanswered(bus, facts);
  model::Inventory inventory;
  inventory.driver = std::move(facts.driver);
  inventory.driver_error = std::move(facts.driver_error);
  inventory.gpus = std::move(facts.gpus);
  inventory.links = std::move(facts.links);
  inventory.switch_links = std::move(facts.switch_links);
  inventory.problems = std::move(facts.problems);

  for (model::Gpu& gpu : inventory.gpus) {
    for (const sysfs::PciGpu& on_bus : bus) {
      if (on_bus.pci == gpu.pci) FillFromBus(on_bus, gpu);
    }
    for (const procfs::GpuInformation& file : files) {
      if (file.pci == gpu.pci) FillFromFiles(file, gpu);
    }
  }
  InferIndexes(facts.count, inventory.gpus);
  SortGpus(inventory.gpus);

  for (const sysfs::PciGpu& gpu : bus) {
    if (IsVfio(gpu)) {
      inventory.vfio.push_back({.pci = gpu.pci,
                                .pci_device_id = gpu.device_id,
                                .numa_node = gpu.numa_node,
                                .iommu_group = gpu.iommu_group});
    } else if (gpu.driver != "nvidia") {
      inventory.problems.push_back(Unbound(gpu));
    }
  }
  return inventory;
}

void SetAccess(const procfs::CapabilityMinors& minors, model::Inventory& inventory) {
  const auto find = [&minors](const procfs::InstancePath& path) {
    const auto entry = minors.find(path);
    return entry == minors.end() ? std::nullopt : std::optional(entry->second);
  };
  for (model::Gpu& gpu : inventory.gpus) {
    if (!gpu.mig || !gpu.minor) continue;
    for (model::GpuInstance& instance : gpu.mig->instances) {
      instance.access = find({*gpu.minor, instance.id, std::nullopt});
      for (model::ComputeInstance& compute : instance.compute_instances) {
        compute.access = find({*gpu.minor, instance.id, compute.id});
      }
    }
  }
}

}  // namespace partita::hw
