// What the driver shows under /proc, also about GPUs that its library cannot read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::hw::procfs {

// The kernel module that is loaded, from /proc/driver/nvidia/version.
struct KernelModule {
  std::string version;
  bool open = false;  // the open-source one
  bool operator==(const KernelModule&) const = default;
};

// One GPU, from /proc/driver/nvidia/gpus/<address>/information. The driver writes question marks
// for what it does not know of a GPU that it has not woken; those are absent here.
struct GpuInformation {
  model::PciAddress pci;
  std::string model;
  std::optional<model::GpuUuid> uuid;
  std::optional<model::DeviceMinor> minor;
  std::optional<std::uint32_t> irq;
  std::optional<std::string> vbios;
  bool excluded = false;  // the driver was told to leave it alone
  bool operator==(const GpuInformation&) const = default;
};

// Which GPU, GPU instance and compute instance a capability is for; no compute instance: the GPU
// instance itself.
struct InstancePath {
  model::DeviceMinor gpu;
  model::GpuInstanceId gpu_instance;
  std::optional<model::ComputeInstanceId> compute_instance;
  auto operator<=>(const InstancePath&) const = default;
};
using CapabilityMinors = std::map<InstancePath, model::CapabilityMinor>;

// Character device majors by name: "nvidia-caps" -> 241. A name may have several.
using Majors = std::multimap<std::string, std::uint32_t>;

[[nodiscard]] std::optional<KernelModule> ParseVersion(std::string_view text);
[[nodiscard]] GpuInformation ParseInformation(std::string_view text);
// Of these GPUs alone: the file lists what 32 of them could hold, thousands of lines. Lines that
// are not of an instance, such as "config 1", are left out.
[[nodiscard]] CapabilityMinors ParseMigMinors(std::string_view text,
                                              std::span<const model::DeviceMinor> gpus);
[[nodiscard]] Majors ParseDevices(std::string_view text);

// The same from the files below `root`. kNotFound where there is no driver.
[[nodiscard]] base::Result<KernelModule> ReadKernelModule(const std::string& root);
[[nodiscard]] base::Result<std::vector<GpuInformation>> ReadGpus(const std::string& root);
[[nodiscard]] base::Result<CapabilityMinors> ReadMigMinors(
    const std::string& root, std::span<const model::DeviceMinor> gpus);
[[nodiscard]] base::Result<Majors> ReadMajors(const std::string& root);

// The program that a process runs; empty when it is gone or hidden from us.
[[nodiscard]] std::string ReadProcessName(const std::string& root, model::Pid pid);

}  // namespace partita::hw::procfs
