#include "service/cdi/testing/sample_node.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

#include <fmt/format.h>

#include "service/cdi/testing/driver_tree.h"

namespace partita::service::cdi::testing {

void Put(DeviceFiles& devices,
         const std::string& path,
         std::uint32_t major_number,
         std::uint32_t minor_number,
         std::uint32_t mode,
         std::uint32_t gid) {
  base::FileFacts facts;
  facts.mode = S_IFCHR | mode;
  facts.device = makedev(major_number, minor_number);
  facts.gid = gid;
  devices.nodes[path] = facts;
}

model::Gpu SampleGpu() {
  model::Gpu gpu;
  gpu.index = model::GpuIndex(0);
  gpu.minor = model::DeviceMinor(0);
  gpu.uuid = model::GpuUuid(kGpuUuid);
  gpu.name = "NVIDIA H200";
  gpu.pci = {.domain = 0, .bus = 0x3b, .device = 0, .function = 0};
  return gpu;
}

model::Inventory SampleNode() {
  model::Inventory node;
  node.generation = 1;
  node.driver = model::Driver{"550.90.07", "12.550.90.07", model::CudaVersion{12, 4}, ""};
  node.gpus.push_back(SampleGpu());
  return node;
}

DeviceFiles SampleNodes() {
  DeviceFiles devices;
  Put(devices, "/dev/nvidia0", 195, 0);
  Put(devices, "/dev/nvidiactl", 195, 255);
  Put(devices, "/dev/nvidia-uvm", 511, 0);
  Put(devices, "/dev/nvidia-uvm-tools", 511, 1);
  return devices;
}

DriverFiles SampleFiles() {
  const DriverTree tree;
  MakeSmallDriver(tree);
  base::Result<DriverFiles> files = ReadDriverFiles(tree.Open(), Search{}, "550.90.07", {});
  PARTITA_CHECK(files.ok());
  return *std::move(files);
}

HookSet SampleHooks() {
  HookSet hooks;
  hooks.path = "/usr/bin/nvidia-cdi-hook";
  return hooks;
}

void AddSlice(model::Gpu& gpu,
              std::uint32_t slot,
              std::uint32_t gi,
              std::uint32_t gi_cap,
              std::uint32_t ci_cap,
              const std::string& profile) {
  if (!gpu.mig) gpu.mig = model::Mig();
  gpu.mig->enabled = gpu.mig->pending_enabled = true;
  model::ComputeInstance compute;
  compute.id = model::ComputeInstanceId(0);
  compute.uuid = model::MigUuid(fmt::format("MIG-aaaaaaaa-0000-0000-0000-{:012}", gi));
  compute.slot = slot;
  compute.access = model::CapabilityMinor(ci_cap);
  model::GpuInstance instance;
  instance.id = model::GpuInstanceId(gi);
  instance.profile_name = profile;
  instance.access = model::CapabilityMinor(gi_cap);
  instance.compute_instances.push_back(std::move(compute));
  gpu.mig->instances.push_back(std::move(instance));
}

void Slice(model::Inventory& node, DeviceFiles& devices) {
  AddSlice(node.gpus[0], 0, 1, 12, 13);
  AddSlice(node.gpus[0], 3, 5, 48, 49);
  devices.caps_major = 241;
  for (const std::uint32_t cap : {12U, 13U, 48U, 49U})
    Put(devices, fmt::format("/dev/nvidia-caps/nvidia-cap{}", cap), 241, cap, 0444);
}

}  // namespace partita::service::cdi::testing
