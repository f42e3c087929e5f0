#include "cli/status/status_document.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/unread.h"
#include "model/words.h"

namespace partita::cli {

namespace {

using base::Value;

template <typename T>
Value Plain(const T& value) {
  return Value(value);
}
template <typename Tag, typename T>
Value Plain(const base::Strong<Tag, T>& value) {
  return Value(value.value());
}

template <typename T>
void SetIf(Value& map, const char* key, const std::optional<T>& value) {
  if (value) map.Set(key, Plain(*value));
}

void SetIf(Value& map, const char* key, const std::string& text) {
  if (!text.empty()) map.Set(key, text);
}

template <typename T, typename Render>
Value ListOf(const std::vector<T>& items, Render render) {
  Value list = Value::List();
  for (const T& item : items) list.Add(render(item));
  return list;
}

Value ErrorValue(const base::Error& error) {
  Value map = Value::Map();
  map.Set("code", base::ToString(error.code())).Set("message", error.ToString());
  SetIf(map, "hint", error.hint());
  if (error.native()) {
    const bool nvml = error.native()->kind == base::NativeKind::kNvml;
    map.Set(nvml ? "nvmlCode" : "errno", error.native()->value);
  }
  return map;
}

Value DriverValue(const model::Driver& driver) {
  Value map = Value::Map();
  SetIf(map, "version", driver.version);
  SetIf(map, "nvmlVersion", driver.nvml_version);
  if (driver.cuda) {
    map.Set("cudaVersion", fmt::format("{}.{}", driver.cuda->major, driver.cuda->minor));
  }
  SetIf(map, "libraryPath", driver.library_path);
  return map;
}

Value PlacementValue(const model::Placement& placement) {
  return Value::Map().Set("start", placement.start).Set("size", placement.size);
}

Value ComputeInstanceValue(const model::ComputeInstance& compute) {
  Value map = Value::Map();
  map.Set("id", Plain(compute.id)).Set("profileId", compute.profile);
  SetIf(map, "name", compute.name);
  SetIf(map, "uuid", compute.uuid.value());
  SetIf(map, "migDeviceIndex", compute.slot);
  map.Set("placement", PlacementValue(compute.placement))
      .Set("computeSlices", compute.slice_count)
      .Set("multiprocessors", compute.multiprocessors);
  SetIf(map, "capabilityMinor", compute.access);
  return map;
}

Value MemoryValue(const model::Memory& memory) {
  return Value::Map()
      .Set("totalBytes", Plain(memory.total))
      .Set("reservedBytes", Plain(memory.reserved))
      .Set("usedBytes", Plain(memory.used))
      .Set("freeBytes", Plain(memory.free));
}

Value GpuInstanceValue(const model::GpuInstance& instance) {
  Value map = Value::Map();
  map.Set("id", Plain(instance.id)).Set("profileId", Plain(instance.profile));
  SetIf(map, "profileName", instance.profile_name);
  map.Set("placement", PlacementValue(instance.placement));
  if (instance.memory) map.Set("memory", MemoryValue(*instance.memory));
  SetIf(map, "capabilityMinor", instance.access);
  map.Set("computeInstances", ListOf(instance.compute_instances, ComputeInstanceValue));
  return map;
}

Value MigValue(const model::Mig& mig) {
  return Value::Map()
      .Set("enabled", mig.enabled)
      .Set("pendingEnabled", mig.pending_enabled)
      .Set("memorySlices", mig.memory_slices)
      .Set("profiles", ListOf(mig.profiles, ProfileDocument))
      .Set("gpuInstances", ListOf(mig.instances, GpuInstanceValue));
}

Value ReadingsValue(const model::Readings& readings) {
  Value map = Value::Map();
  SetIf(map, "utilizationPercent", readings.utilization);
  SetIf(map, "memoryUtilizationPercent", readings.memory_utilization);
  SetIf(map, "temperatureCelsius", readings.temperature);
  SetIf(map, "powerMilliwatts", readings.power);
  SetIf(map, "powerLimitMilliwatts", readings.power_limit);
  SetIf(map, "graphicsClockMegahertz", readings.graphics_clock);
  SetIf(map, "smClockMegahertz", readings.sm_clock);
  SetIf(map, "memoryClockMegahertz", readings.memory_clock);
  SetIf(map, "videoClockMegahertz", readings.video_clock);
  SetIf(map, "performanceState", readings.performance_state);
  return map;
}

Value ProcessValue(const model::Process& process) {
  Value map = Value::Map();
  map.Set("pid", Plain(process.pid)).Set("kind", Token(process.kind));
  SetIf(map, "name", process.name);
  SetIf(map, "memoryBytes", process.memory);
  SetIf(map, "gpuInstanceId", process.gpu_instance);
  SetIf(map, "computeInstanceId", process.compute_instance);
  if (process.container) SetContainer(map, *process.container);
  return map;
}

Value HiddenValue(const model::HiddenHolder& holder) {
  Value map = Value::Map();
  SetIf(map, "gpuInstanceId", holder.gpu_instance);
  return map.Set("memoryBytes", holder.memory.value());
}

Value FaultValue(const model::Fault& fault) {
  return Value::Map().Set("kind", Token(fault.kind)).Set("text", fault.text);
}

// NVML packs both halves into one number; people and lspci write them apart, in hex.
void SetPciIds(Value& map, const char* vendor_key, const char* device_key, std::uint32_t packed) {
  if (packed == 0) return;
  map.Set(vendor_key, fmt::format("{:04x}", packed & 0xFFFF))
      .Set(device_key, fmt::format("{:04x}", packed >> 16));
}

void SetIdentity(Value& map, const model::Gpu& gpu) {
  SetIf(map, "index", gpu.index);
  SetIf(map, "minor", gpu.minor);
  SetIf(map, "uuid", gpu.uuid);
  SetIf(map, "name", gpu.name);
  if (gpu.pci != model::PciAddress()) {
    map.Set("pciAddress", gpu.pci.ToString()).Set("pciBusId", gpu.pci.NvmlBusId());
  }
  SetPciIds(map, "pciVendorId", "pciDeviceId", gpu.pci_device_id);
  SetPciIds(map, "pciSubsystemVendorId", "pciSubsystemId", gpu.pci_subsystem_id);
  map.Set("pciPath", ListOf(gpu.pci_path, [](const model::PciAddress& bridge) {
            return Value(bridge.ToString());
          }));
  SetIf(map, "numaNode", gpu.numa_node);
  SetIf(map, "irq", gpu.irq);
  SetIf(map, "serial", gpu.serial);
  SetIf(map, "partNumber", gpu.part_number);
  SetIf(map, "vbiosVersion", gpu.vbios);
  SetIf(map, "moduleId", gpu.module_id);
}

void SetAbilities(Value& map, const model::Gpu& gpu) {
  if (gpu.architecture != model::Architecture::kUnknown) {
    map.Set("architecture", Token(gpu.architecture));
  }
  if (gpu.brand) map.Set("brand", model::BrandToken(*gpu.brand));
  if (gpu.compute_major && gpu.compute_minor) {
    map.Set("computeCapability", fmt::format("{}.{}", *gpu.compute_major, *gpu.compute_minor));
  }
  SetIf(map, "cores", gpu.cores);
  if (gpu.memory) map.Set("memory", MemoryValue(*gpu.memory));
  SetIf(map, "bar1TotalBytes", gpu.bar1);
  Value pcie = Value::Map();
  SetIf(pcie, "generation", gpu.pcie_generation);
  SetIf(pcie, "lanes", gpu.pcie_width);
  SetIf(pcie, "maxGeneration", gpu.pcie_generation_max);
  SetIf(pcie, "maxLanes", gpu.pcie_width_max);
  if (!pcie.members().empty()) map.Set("pcie", std::move(pcie));
}

void SetModes(Value& map, const model::Gpu& gpu) {
  SetIf(map, "persistenceMode", gpu.persistence);
  if (gpu.compute_mode) map.Set("computeMode", Token(*gpu.compute_mode));
  if (gpu.ecc || gpu.ecc_pending) {
    Value ecc = Value::Map();
    SetIf(ecc, "enabled", gpu.ecc);
    SetIf(ecc, "pendingEnabled", gpu.ecc_pending);
    if (gpu.uncorrected_errors) {
      ecc.Set("uncorrectedErrors", gpu.uncorrected_errors->since_reset);
      ecc.Set("uncorrectedErrorsInAll", gpu.uncorrected_errors->in_all);
    }
    map.Set("ecc", std::move(ecc));
  }
  if (gpu.row_remapping) {
    map.Set("rowRemapping", Value::Map()
                                .Set("correctedRows", gpu.row_remapping->corrected)
                                .Set("uncorrectedRows", gpu.row_remapping->uncorrected)
                                .Set("pending", gpu.row_remapping->pending)
                                .Set("failed", gpu.row_remapping->failed));
  }
  if (gpu.addressing_mode) map.Set("addressingMode", model::AddressingToken(*gpu.addressing_mode));
  if (gpu.virtualization_mode) {
    map.Set("virtualizationMode", model::VirtualizationToken(*gpu.virtualization_mode));
  }
  if (gpu.mig) map.Set("mig", MigValue(*gpu.mig));
}

Value StaleValue(const model::StaleGpu& stale) {
  Value map = Value::Map();
  SetIf(map, "ageSeconds", stale.seconds);
  SetIf(map, "why", stale.why);
  return map;
}

Value GpuValue(const model::Gpu& gpu, const model::StaleGpus& stale) {
  Value map = Value::Map();
  SetIdentity(map, gpu);
  SetAbilities(map, gpu);
  SetModes(map, gpu);
  map.Set("readings", ReadingsValue(gpu.readings))
      .Set("processes", ListOf(gpu.processes, ProcessValue));
  if (!gpu.hidden_holders.empty())
    map.Set("hiddenHolders", ListOf(gpu.hidden_holders, HiddenValue));
  if (const auto why = model::WhyHoldersUnknown(gpu))
    map.Set("processesUnknown", ReasonValue(*why));
  map.Set("faults", ListOf(gpu.faults, FaultValue));
  if (const auto found = stale.find(gpu.pci); found != stale.end())
    map.Set("stale", StaleValue(found->second));
  return map;
}

Value VfioValue(const model::VfioGpu& gpu) {
  Value map = Value::Map();
  map.Set("pciAddress", gpu.pci.ToString());
  SetPciIds(map, "pciVendorId", "pciDeviceId", gpu.pci_device_id);
  SetIf(map, "numaNode", gpu.numa_node);
  SetIf(map, "iommuGroup", gpu.iommu_group);
  return map;
}

Value LinkValue(const model::GpuLink& link) {
  Value map = Value::Map();
  map.Set("a", link.a.ToString()).Set("b", link.b.ToString());
  if (link.path) map.Set("pciePath", Token(*link.path));
  map.Set("nvlinks", link.nvlinks);
  return map;
}

Value SwitchLinksValue(const model::SwitchLinks& links) {
  return Value::Map().Set("pciAddress", links.gpu.ToString()).Set("activeNvlinks", links.active);
}

Value DeviceNodeValue(const model::DeviceNode& node) {
  return Value::Map()
      .Set("path", node.path)
      .Set("major", node.major)
      .Set("minor", node.minor)
      .Set("mode", fmt::format("{:04o}", node.mode));
}

Value ProblemValue(const model::Problem& problem) {
  Value map = Value::Map();
  SetIf(map, "gpu", problem.gpu);
  map.Set("error", ErrorValue(problem.error));
  return map;
}

}  // namespace

Value ReasonValue(const base::Error& error) {
  Value map = Value::Map().Set("message", error.ToString());
  if (!error.hint().empty()) map.Set("hint", error.hint());
  return map;
}

void SetContainer(Value& process, const model::Container& container) {
  Value pod = Value::Map();
  SetIf(pod, "namespace", container.pod_namespace);
  SetIf(pod, "name", container.pod_name);
  SetIf(pod, "uid", container.pod_uid);
  if (!pod.members().empty()) process.Set("pod", std::move(pod));
  Value runtime = Value::Map();
  SetIf(runtime, "name", container.name);
  SetIf(runtime, "id", container.id);
  if (!runtime.members().empty()) process.Set("container", std::move(runtime));
}

Value ProfileDocument(const model::GpuInstanceProfile& profile) {
  Value map = Value::Map();
  map.Set("name", profile.name);
  SetIf(map, "nvmlName", profile.nvml_name);
  map.Set("constant", Plain(profile.constant))
      .Set("id", Plain(profile.id))
      .Set("computeSlices", profile.slice_count)
      .Set("maxInstances", profile.instance_count);
  SetIf(map, "remainingInstances", profile.remaining);
  map.Set("memoryMebibytes", Plain(profile.memory))
      .Set("multiprocessors", profile.multiprocessors)
      .Set("copyEngines", profile.copy_engines)
      .Set("decoders", profile.decoders)
      .Set("encoders", profile.encoders)
      .Set("jpegEngines", profile.jpegs)
      .Set("opticalFlowEngines", profile.ofas)
      .Set("peerToPeer", profile.p2p)
      .Set("placements", ListOf(profile.placements, PlacementValue));
  return map;
}

Value StatusDocument(const model::NodeReport& report) {
  const model::Inventory& inventory = report.inventory;
  Value map = Value::Map();
  map.Set("apiVersion", "partita.dev/status/v1").Set("kind", "NodeStatus");
  SetIf(map, "host", report.host);
  SetIf(map, "time", report.time);
  map.Set("generation", inventory.generation);
  if (inventory.driver) map.Set("driver", DriverValue(*inventory.driver));
  if (inventory.driver_error) map.Set("driverError", ErrorValue(*inventory.driver_error));
  map.Set("gpus", ListOf(inventory.gpus,
                         [&](const model::Gpu& gpu) { return GpuValue(gpu, report.stale); }))
      .Set("vfioGpus", ListOf(inventory.vfio, VfioValue))
      .Set("gpuLinks", ListOf(inventory.links, LinkValue))
      .Set("switchLinks", ListOf(inventory.switch_links, SwitchLinksValue))
      .Set("deviceNodes", ListOf(inventory.nodes, DeviceNodeValue))
      .Set("problems", ListOf(inventory.problems, ProblemValue));
  if (!report.mps.empty()) map.Set("mps", ToValue(report.mps));
  return map;
}

}  // namespace partita::cli
