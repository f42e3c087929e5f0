#include "model/testing/sample_gpus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace partita::model::testing {

namespace {

using model::Bytes;
using model::Celsius;
using model::ComputeInstance;
using model::ComputeInstanceId;
using model::Gpu;
using model::GpuIndex;
using model::GpuInstance;
using model::GpuInstanceId;
using model::GpuInstanceProfile;
using model::Mebibytes;
using model::Megahertz;
using model::Mig;
using model::Milliwatts;
using model::PciAddress;
using model::Percent;
using model::Placement;
using model::ProfileConstant;
using model::ProfileId;

std::vector<GpuInstanceProfile> H200Profiles() {
  return {
      Profile({0, 19, "1g.18gb", 1, 7, 16, 16384, {0, 1, 2, 3, 4, 5, 6}, 1}),
      Profile({1, 14, "2g.35gb", 2, 3, 32, 33280, {0, 2, 4}, 2}),
      Profile({2, 9, "3g.71gb", 3, 2, 60, 71424, {0, 4}, 4}),
      Profile({3, 5, "4g.71gb", 4, 1, 64, 71424, {0}, 4}),
      Profile({4, 0, "7g.141gb", 7, 1, 132, 143360, {0}, 8}),
      Profile({7, 20, "1g.18gb+me", 1, 1, 16, 16384, {0, 1, 2, 3, 4, 5, 6}, 1}),
      Profile({9, 15, "1g.35gb", 1, 4, 26, 33280, {0, 2, 4, 6}, 2}),
  };
}

constexpr std::uint8_t kDgxBuses[] = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd};

}  // namespace

GpuInstanceProfile Profile(const ProfileFacts& facts) {
  GpuInstanceProfile profile;
  profile.constant = ProfileConstant(facts.constant);
  profile.id = ProfileId(facts.id);
  profile.name = facts.name;
  profile.nvml_name = facts.name;
  profile.slice_count = facts.slices;
  profile.instance_count = facts.count;
  profile.multiprocessors = facts.multiprocessors;
  profile.copy_engines = facts.slices;
  profile.memory = Mebibytes(facts.mebibytes);
  for (const std::uint32_t start : facts.starts) profile.placements.push_back({start, facts.size});
  return profile;
}

std::vector<GpuInstanceProfile> A100Profiles() {
  return {
      Profile({0, 19, "1g.5gb", 1, 7, 14, 4864, {0, 1, 2, 3, 4, 5, 6}, 1}),
      Profile({1, 14, "2g.10gb", 2, 3, 28, 9856, {0, 2, 4}, 2}),
      Profile({2, 9, "3g.20gb", 3, 2, 42, 19968, {0, 4}, 4}),
      Profile({3, 5, "4g.20gb", 4, 1, 56, 19968, {0}, 4}),
      Profile({4, 0, "7g.40gb", 7, 1, 98, 40192, {0}, 8}),
      Profile({7, 20, "1g.5gb+me", 1, 1, 14, 4864, {0, 1, 2, 3, 4, 5, 6}, 1}),
      Profile({9, 15, "1g.10gb", 1, 4, 14, 9856, {0, 2, 4, 6}, 2}),
  };
}

MigBuilder::MigBuilder(std::vector<GpuInstanceProfile> profiles, std::uint32_t gpu) : gpu_(gpu) {
  mig_.enabled = mig_.pending_enabled = true;
  mig_.profiles = std::move(profiles);
  for (const GpuInstanceProfile& profile : mig_.profiles) {
    for (const Placement& place : profile.placements) {
      mig_.memory_slices = std::max(mig_.memory_slices, place.start + place.size);
    }
  }
}

MigBuilder& MigBuilder::Add(const std::string& profile,
                            std::uint32_t start,
                            std::uint32_t id,
                            const std::vector<std::uint32_t>& shares) {
  const auto found = std::find_if(mig_.profiles.begin(), mig_.profiles.end(),
                                  [&](const auto& p) { return p.name == profile; });
  GpuInstance instance;
  instance.id = GpuInstanceId(id);
  instance.profile = found->id;
  instance.profile_name = profile;
  instance.placement = {start, found->placements.front().size};
  instance.access = model::CapabilityMinor(3 + 135 * gpu_ + 9 * id);
  std::uint32_t at = 0;
  for (std::uint32_t c = 0; c < shares.size(); ++c) {
    ComputeInstance compute;
    compute.id = ComputeInstanceId(c);
    compute.placement = {at, shares[c]};
    compute.slice_count = shares[c];
    compute.multiprocessors = found->multiprocessors * shares[c] / found->slice_count;
    const bool whole = shares[c] == found->slice_count;
    compute.name = whole ? profile : fmt::format("{}c.{}", shares[c], profile);
    compute.uuid = model::MigUuid(fmt::format("MIG-{:08x}-5c1f-5d3e-8b7a-{:04x}{:04x}{:04x}",
                                              0x3fa10000 + gpu_, gpu_, id, c));
    compute.slot = slot_++;
    compute.access = model::CapabilityMinor(4 + 135 * gpu_ + 9 * id + c);
    at += shares[c];
    instance.compute_instances.push_back(std::move(compute));
  }
  if (!shares.empty()) {
    const std::uint64_t total = found->memory.value() * kMebi;
    instance.memory = model::Memory{Bytes(total), Bytes(0), Bytes(0), Bytes(total)};
  }
  mig_.instances.push_back(std::move(instance));
  return *this;
}

MigBuilder& MigBuilder::Remaining(const std::string& profile, std::uint32_t count) {
  for (GpuInstanceProfile& p : mig_.profiles) {
    if (p.name == profile) p.remaining = count;
  }
  return *this;
}

Mig MigBuilder::Build() {
  for (GpuInstanceProfile& profile : mig_.profiles) {
    if (!profile.remaining) profile.remaining = 0;
  }
  return mig_;
}

model::Process Holder(std::int64_t pid, std::string name, std::uint64_t bytes) {
  model::Process process;
  process.pid = model::Pid(pid);
  process.name = std::move(name);
  process.memory = Bytes(bytes);
  return process;
}

model::Process In(model::Process process, std::uint32_t gi, std::uint32_t ci) {
  process.gpu_instance = GpuInstanceId(gi);
  process.compute_instance = ComputeInstanceId(ci);
  return process;
}

void Fill(Gpu& gpu, std::uint64_t total, std::uint64_t reserved, std::uint64_t used) {
  gpu.memory =
      model::Memory{Bytes(total), Bytes(reserved), Bytes(used), Bytes(total - reserved - used)};
}

Gpu H200() {
  Gpu gpu;
  gpu.index = GpuIndex(0);
  gpu.minor = model::DeviceMinor(0);
  gpu.uuid = model::GpuUuid("GPU-75dc73da-78d6-3405-d610-419a0819d22a");
  gpu.name = "NVIDIA H200";
  gpu.pci = {0, 0, 6, 0};
  gpu.pci_device_id = 0x233510DE;
  gpu.pci_subsystem_id = 0x18BF10DE;
  gpu.serial = "1653724055491";
  gpu.part_number = "692-2G520-0282-000";
  gpu.vbios = "96.00.A5.00.1A";
  gpu.module_id = 6;
  gpu.numa_node = 0;
  gpu.irq = 41;
  gpu.architecture = model::Architecture::kHopper;
  gpu.brand = 14;
  gpu.compute_major = 9;
  gpu.compute_minor = 0;
  gpu.cores = 16896;
  Fill(gpu, 150754820096, 644939776, 0);
  gpu.bar1 = Bytes(274877906944);
  gpu.pcie_generation = gpu.pcie_generation_max = 5;
  gpu.pcie_width = gpu.pcie_width_max = 16;
  gpu.persistence = true;
  gpu.compute_mode = model::ComputeMode::kDefault;
  gpu.ecc = gpu.ecc_pending = true;
  gpu.addressing_mode = 0;
  gpu.virtualization_mode = 1;
  gpu.mig = Mig{};
  gpu.mig->memory_slices = 8;
  gpu.mig->profiles = H200Profiles();
  gpu.readings = {.utilization = Percent(0),
                  .memory_utilization = Percent(0),
                  .temperature = Celsius(29),
                  .power = Milliwatts(76578),
                  .power_limit = Milliwatts(700000),
                  .graphics_clock = Megahertz(345),
                  .sm_clock = Megahertz(345),
                  .memory_clock = Megahertz(3201),
                  .video_clock = Megahertz(765),
                  .performance_state = 0};
  return gpu;
}

Gpu A100(std::uint32_t index) {
  Gpu gpu;
  gpu.index = GpuIndex(index);
  gpu.minor = model::DeviceMinor(index);
  gpu.uuid = model::GpuUuid(fmt::format("GPU-{:08x}-0a1b-4c2d-9e3f-5a6b7c8d9e0{}",
                                        0x5d6f1b20 + index * 0x01010101, index));
  gpu.name = "NVIDIA A100-SXM4-40GB";
  gpu.pci = {0, kDgxBuses[index], 0, 0};
  gpu.pci_device_id = 0x20B010DE;
  gpu.numa_node = kDgxNuma[index];
  gpu.architecture = model::Architecture::kAmpere;
  gpu.compute_major = 8;
  gpu.compute_minor = 0;
  Fill(gpu, 40 * kGibi, 624 * kMebi, 0);
  gpu.persistence = true;
  gpu.compute_mode = model::ComputeMode::kDefault;
  gpu.ecc = gpu.ecc_pending = true;
  gpu.mig = Mig{};
  gpu.mig->memory_slices = 8;
  gpu.mig->profiles = A100Profiles();
  gpu.readings.utilization = Percent(0);
  gpu.readings.temperature = Celsius(static_cast<std::int32_t>(30 + index));
  gpu.readings.power = Milliwatts(52000 + index * 1000);
  gpu.readings.power_limit = Milliwatts(400000);
  gpu.readings.sm_clock = Megahertz(210);
  gpu.readings.memory_clock = Megahertz(1215);
  gpu.readings.performance_state = 0;
  return gpu;
}

void Busy(Gpu& gpu, std::uint64_t used, std::uint32_t load, std::uint32_t watts) {
  Fill(gpu, gpu.memory->total.value(), gpu.memory->reserved.value(), used);
  gpu.readings.utilization = Percent(load);
  gpu.readings.power = Milliwatts(watts * 1000);
  gpu.readings.temperature = Celsius(static_cast<std::int32_t>(34 + load / 3));
  gpu.readings.sm_clock = Megahertz(1410);
}

void Slice(Gpu& gpu, Mig mig) {
  gpu.mig = std::move(mig);
  gpu.readings.utilization.reset();  // the driver does not count it in MIG mode
}

void Hold(Gpu& gpu, std::vector<model::Process> processes) {
  std::uint64_t all = 0;
  for (const model::Process& process : processes) {
    all += process.memory->value();
    for (GpuInstance& instance : gpu.mig->instances) {
      if (instance.id != process.gpu_instance) continue;
      model::Memory& memory = *instance.memory;
      memory.used = Bytes(memory.used.value() + process.memory->value());
      memory.free = Bytes(memory.free.value() - process.memory->value());
    }
  }
  Fill(gpu, gpu.memory->total.value(), gpu.memory->reserved.value(), all);
  gpu.processes = std::move(processes);
}

}  // namespace partita::model::testing
