// What `mig` lists and changes, as NVML tells it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/smi/devices.h"
#include "sim/smi/nvml.h"

namespace partita::sim::smi {

using GpuProfile = nvmlGpuInstanceProfileInfo_v2_t;
using ComputeProfile = nvmlComputeInstanceProfileInfo_v2_t;

struct GpuInstance {
  nvmlGpuInstance_t handle = nullptr;
  GpuProfile profile = {};
  nvmlGpuInstanceInfo_t info = {};
};

struct ComputeInstance {
  nvmlComputeInstance_t handle = nullptr;
  ComputeProfile profile = {};
  nvmlComputeInstanceInfo_t info = {};
};

// The order of every listing: by size, then by the number of the profile's constant.
[[nodiscard]] std::vector<GpuProfile> GpuProfilesOf(const Nvml& nvml, nvmlDevice_t device);
[[nodiscard]] std::vector<ComputeProfile> ComputeProfilesOf(const Nvml& nvml,
                                                            nvmlGpuInstance_t instance);

// Those with one of the ids, or all when there are none; by profile, then by id.
[[nodiscard]] std::vector<GpuInstance> GpuInstancesOf(const Nvml& nvml,
                                                      nvmlDevice_t device,
                                                      std::span<const unsigned int> ids);
[[nodiscard]] std::vector<ComputeInstance> ComputeInstancesOf(const Nvml& nvml,
                                                              const GpuInstance& instance,
                                                              std::span<const unsigned int> ids);

// The full width of the GPU instance, with the most multiprocessors: on Hopper the double-memory 1g
// has two of one slice, and `-C` takes the larger.
[[nodiscard]] const ComputeProfile* DefaultComputeProfile(const GpuProfile& gpu_profile,
                                                          std::span<const ComputeProfile> profiles);

// "9", "3g.20gb", "MIG 3g.20gb", each with ":start" when a placement is asked for.
struct WantedProfile {
  std::string text;
  std::string profile;
  std::optional<unsigned int> start;
};
[[nodiscard]] std::optional<std::vector<WantedProfile>> ParseWanted(std::string_view text);
[[nodiscard]] bool IsCalled(std::string_view wanted, unsigned int id, std::string_view name);

// `name` as "3g.20gb": without "MIG ".
[[nodiscard]] std::string_view ShortName(std::string_view name);

int ListGpuInstanceProfiles(const Nvml& nvml, const std::vector<Device>& devices);
int ListPlacements(const Nvml& nvml, const std::vector<Device>& devices);
int ListGpuInstances(const Nvml& nvml, const std::vector<Device>& devices);
int ListComputeInstances(const Nvml& nvml,
                         const std::vector<Device>& devices,
                         std::span<const unsigned int> gpu_instances);
int ListComputeInstanceProfiles(const Nvml& nvml,
                                const std::vector<Device>& devices,
                                std::span<const unsigned int> gpu_instances);

int CreateGpuInstances(const Nvml& nvml,
                       const std::vector<Device>& devices,
                       const std::vector<WantedProfile>& wanted,
                       bool with_compute_instance);
// An empty list makes the default one in each.
int CreateComputeInstances(const Nvml& nvml,
                           const std::vector<Device>& devices,
                           std::span<const unsigned int> gpu_instances,
                           const std::vector<WantedProfile>& wanted);
int DestroyGpuInstances(const Nvml& nvml,
                        const std::vector<Device>& devices,
                        std::span<const unsigned int> gpu_instances);
int DestroyComputeInstances(const Nvml& nvml,
                            const std::vector<Device>& devices,
                            std::span<const unsigned int> gpu_instances,
                            std::span<const unsigned int> compute_instances);

}  // namespace partita::sim::smi
