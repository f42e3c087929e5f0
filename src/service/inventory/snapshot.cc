#include "service/inventory/snapshot.h"

#include <algorithm>
#include <utility>

#include "hw/nvml/gpu_look.h"

namespace partita::service::inventory {
namespace {

using hw::nvml::Part;

const model::Gpu* Find(const model::Inventory& inventory, const model::PciAddress& pci) {
  const auto found = std::find_if(inventory.gpus.begin(), inventory.gpus.end(),
                                  [&](const model::Gpu& gpu) { return gpu.pci == pci; });
  return found == inventory.gpus.end() ? nullptr : &*found;
}

// A GPU with nothing but these parts.
model::Gpu Only(const model::Gpu& gpu, std::initializer_list<Part> parts) {
  model::Gpu only;
  for (const Part part : parts) hw::nvml::Take(part, gpu, only);
  return only;
}

bool SameIdentity(const model::Gpu& a, const model::Gpu& b) {
  return a.numa_node == b.numa_node && a.pci_path == b.pci_path && a.pci_class == b.pci_class &&
         Only(a, {Part::kIdentity}) == Only(b, {Part::kIdentity});
}

// How many more instances fit is a function of those that exist; memory in use is its holders'.
model::Gpu ShapeOf(const model::Gpu& gpu) {
  model::Gpu shape = Only(gpu, {Part::kInstances, Part::kModes});
  shape.faults = gpu.faults;
  if (!shape.mig) return shape;
  for (model::GpuInstance& instance : shape.mig->instances) instance.memory.reset();
  return shape;
}

bool SameHolders(const model::Gpu& a, const model::Gpu& b) {
  return a.processes == b.processes && a.processes_error == b.processes_error &&
         a.hidden_holders == b.hidden_holders && a.memory == b.memory;
}

void CompareGpu(const model::Gpu& before, const model::Gpu& after, Changes& changes) {
  const bool identity = !SameIdentity(before, after);
  const bool shape = ShapeOf(before) != ShapeOf(after);
  const bool holders = !SameHolders(before, after);
  changes.identity |= identity;
  changes.shape |= shape;
  changes.holders |= holders;
  changes.readings |= Only(before, {Part::kReadings}) != Only(after, {Part::kReadings});
  if (identity || shape || holders) changes.changed.push_back(after.pci);
}

}  // namespace

Changes Difference(const model::Inventory& before, const model::Inventory& after) {
  Changes changes;
  for (const model::Gpu& gpu : before.gpus) {
    if (Find(after, gpu.pci) == nullptr) changes.gone.push_back(gpu.pci);
  }
  for (const model::Gpu& gpu : after.gpus) {
    const model::Gpu* was = Find(before, gpu.pci);
    if (was == nullptr) {
      changes.appeared.push_back(gpu.pci);
      continue;
    }
    CompareGpu(*was, gpu, changes);
  }
  if (!changes.appeared.empty() || !changes.gone.empty()) changes.identity = changes.shape = true;
  changes.identity |= before.driver != after.driver || before.driver_error != after.driver_error ||
                      before.vfio != after.vfio || before.problems != after.problems;
  changes.shape |= before.nodes != after.nodes || before.links != after.links ||
                   before.switch_links != after.switch_links;
  return changes;
}

}  // namespace partita::service::inventory
