#include "service/cdi/jit.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "model/words.h"
#include "service/cdi/generate.h"
#include "service/cdi/miscounts.h"
#include "service/cdi/simplify.h"

namespace partita::service::cdi {

namespace {

using base::Result;
using partita::cdi::Device;
using partita::cdi::DeviceRow;
using partita::cdi::NodeDevices;
using partita::cdi::Spec;

constexpr std::string_view kVendor = "runtime.nvidia.com";

Spec SpecOf(const model::Inventory& inventory, const NodeFiles& files, const HookSet& hooks) {
  GenerateOptions options;
  options.vendor = kVendor;
  options.namings = {Naming::kIndex};
  options.best_effort = true;
  options.numbers = Numbers::kAsCounted;  // whoever asks by one is looked at (request::Resolve)
  options.hooks = hooks;
  Result<Generated> made = Generate(inventory, files.driver, files.devices, files.places, options);
  if (made.ok()) return std::move(made->spec);
  // Without a device: what comes is told by name.
  Spec empty;
  empty.kind = options.vendor + "/" + options.klass;
  empty.edits = CommonEdits(files.driver, files.devices, files.places, hooks);
  empty.edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  return empty;
}

// GPUs in MIG mode, for whoever names one.
void AddParents(const model::Inventory& inventory,
                const NodeFiles& files,
                const HookSet& hooks,
                Spec& spec) {
  constexpr Naming kIndex[] = {Naming::kIndex};
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.mig || !gpu.mig->enabled) continue;
    const Result<std::vector<std::string>> names = Names(gpu, nullptr, kIndex);
    Result<partita::cdi::ContainerEdits> edits = GpuEdits(gpu, files.devices, files.places, hooks);
    if (!names.ok() || !edits.ok()) continue;
    Device device;
    device.name = names->front();
    device.edits = *std::move(edits);
    spec.devices.push_back(std::move(device));
  }
}

// As images write it in NVIDIA_REQUIRE_*: "nvidiartx".
std::string BrandOf(const model::Gpu& gpu) {
  if (!gpu.brand) return "";
  std::string brand = model::BrandToken(*gpu.brand);
  std::erase(brand, '-');
  return brand;
}

DeviceRow GpuRowOf(const model::Gpu& gpu) {
  DeviceRow row;
  row.index = gpu.index->value();
  row.minor = gpu.minor->value();
  row.uuid = gpu.uuid->value();
  row.pci = gpu.pci.ToString();
  row.brand = BrandOf(gpu);
  if (gpu.compute_major && gpu.compute_minor)
    row.compute = fmt::format("{}.{}", *gpu.compute_major, *gpu.compute_minor);
  row.mig_enabled = gpu.mig && gpu.mig->enabled;
  return row;
}

std::vector<DeviceRow> SliceRows(const model::Gpu& gpu, const DeviceRow& parent) {
  std::vector<DeviceRow> rows;
  if (!parent.mig_enabled) return rows;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      if (!compute.slot || !compute.access || !instance.access) continue;
      DeviceRow row = parent;
      row.mig = {.slot = *compute.slot,
                 .gi = instance.id.value(),
                 .ci = compute.id.value(),
                 .gi_cap = instance.access->value(),
                 .ci_cap = compute.access->value(),
                 .uuid = compute.uuid.value()};
      rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const DeviceRow& a, const DeviceRow& b) { return a.mig->slot < b.mig->slot; });
  return rows;
}

}  // namespace

NodeDevices MakeNodeDevices(const model::Inventory& inventory,
                            const NodeFiles& files,
                            const HookSet& hooks) {
  NodeDevices node;
  node.generation = inventory.generation;
  node.driver_version = files.driver.version;
  if (inventory.driver && inventory.driver->cuda)
    node.cuda = fmt::format("{}.{}", inventory.driver->cuda->major, inventory.driver->cuda->minor);
  node.driver_root = files.places.driver_root;
  node.dev_root = files.places.dev_root;
  node.caps_major = files.devices.caps_major;
  for (const auto* list : {&files.driver.driver, &files.driver.graphics, &files.driver.legacy})
    node.files.insert(node.files.end(), list->begin(), list->end());
  node.control_nodes = CommonEdits({}, files.devices, files.places, hooks).device_nodes;

  node.spec = SpecOf(inventory, files, hooks);
  AddParents(inventory, files, hooks, node.spec);
  Simplify(node.spec);
  node.spec.version = partita::cdi::MinimumVersion(node.spec).ToString();

  node.miscounts = MiscountsOf(inventory, files.devices, files.places, hooks);

  std::set<std::string> offered;
  for (const Device& device : node.spec.devices) offered.insert(device.name);
  const auto add = [&](DeviceRow row) {
    std::string name = fmt::to_string(row.index);
    if (row.mig) name += fmt::format(":{}", row.mig->slot);
    if (offered.contains(name)) row.cdi_name = std::move(name);
    node.rows.push_back(std::move(row));
  };
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.index || !gpu.minor || !gpu.uuid) continue;
    const DeviceRow parent = GpuRowOf(gpu);
    add(parent);
    for (DeviceRow& row : SliceRows(gpu, parent)) add(std::move(row));
  }
  return node;
}

}  // namespace partita::service::cdi
