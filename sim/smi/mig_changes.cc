// Creating and destroying instances. What was made before a failure stays, as with the real tool.
#include <algorithm>

#include "sim/smi/mig.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

nvmlReturn_t MakeGpuInstance(const Nvml& nvml,
                             nvmlDevice_t device,
                             const GpuProfile& profile,
                             std::optional<unsigned int> start,
                             nvmlGpuInstance_t* made) {
  if (!start) return nvml.nvmlDeviceCreateGpuInstance(device, profile.id, made);
  std::vector<nvmlGpuInstancePlacement_t> placements(64);
  auto count = static_cast<unsigned int>(placements.size());
  const nvmlReturn_t listed = nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(
      device, profile.id, placements.data(), &count);
  if (listed != NVML_SUCCESS) return listed;
  for (unsigned int i = 0; i < count && i < placements.size(); ++i) {
    if (placements[i].start != *start) continue;
    return nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, &placements[i], made);
  }
  return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t MakeComputeInstance(const Nvml& nvml,
                                 nvmlGpuInstance_t instance,
                                 const ComputeProfile& profile,
                                 std::optional<unsigned int> start,
                                 nvmlComputeInstance_t* made) {
  if (!start) return nvml.nvmlGpuInstanceCreateComputeInstance(instance, profile.id, made);
  const nvmlComputeInstancePlacement_t placement = {*start, profile.sliceCount};
  return nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement(instance, profile.id, &placement,
                                                                made);
}

int FailedTo(const Nvml& nvml, std::string_view what, nvmlReturn_t code) {
  Say("Failed to {}: {}\n", what, nvml.ErrorText(code));
  return code;
}

nvmlReturn_t CreateComputeInstance(const Nvml& nvml,
                                   const Device& device,
                                   const GpuInstance& instance,
                                   const WantedProfile* wanted) {
  const std::vector<ComputeProfile> profiles = ComputeProfilesOf(nvml, instance.handle);
  const ComputeProfile* profile = DefaultComputeProfile(instance.profile, profiles);
  if (wanted != nullptr) {
    const auto found = std::find_if(
        profiles.begin(), profiles.end(),
        [&](const ComputeProfile& each) { return IsCalled(wanted->profile, each.id, each.name); });
    profile = found == profiles.end() ? nullptr : &*found;
  }
  nvmlReturn_t made = NVML_ERROR_INVALID_ARGUMENT;
  nvmlComputeInstance_t handle = nullptr;
  if (profile != nullptr) {
    made = MakeComputeInstance(nvml, instance.handle, *profile,
                               wanted != nullptr ? wanted->start : std::nullopt, &handle);
  }
  nvmlComputeInstanceInfo_t info = {};
  if (made == NVML_SUCCESS) made = nvml.nvmlComputeInstanceGetInfo_v2(handle, &info);
  if (made != NVML_SUCCESS) {
    const std::string name = wanted != nullptr    ? wanted->text
                             : profile != nullptr ? std::to_string(profile->id)
                                                  : "default";
    Say("Unable to create a compute instance on GPU {:>2} GPU instance ID {:>2} using profile {}: "
        "{}\n",
        device.index, instance.info.id, name, nvml.ErrorText(made));
    return made;
  }
  Say("Successfully created compute instance ID {:>2} on GPU {:>2} GPU instance ID {:>2} using "
      "profile {} (ID {:>2})\n",
      info.id, device.index, instance.info.id, profile->name, profile->id);
  return NVML_SUCCESS;
}

nvmlReturn_t CreateGpuInstance(const Nvml& nvml,
                               const Device& device,
                               const WantedProfile& wanted,
                               GpuInstance* created) {
  const std::vector<GpuProfile> profiles = GpuProfilesOf(nvml, device.handle);
  const auto profile = std::find_if(profiles.begin(), profiles.end(), [&](const GpuProfile& each) {
    return IsCalled(wanted.profile, each.id, each.name);
  });
  nvmlReturn_t made = NVML_ERROR_INVALID_ARGUMENT;
  if (profile != profiles.end()) {
    created->profile = *profile;
    made = MakeGpuInstance(nvml, device.handle, *profile, wanted.start, &created->handle);
  }
  if (made == NVML_SUCCESS) made = nvml.nvmlGpuInstanceGetInfo(created->handle, &created->info);
  if (made != NVML_SUCCESS) {
    Say("Unable to create a GPU instance on GPU {:>2} using profile {}: {}\n", device.index,
        wanted.text, nvml.ErrorText(made));
    return made;
  }
  Say("Successfully created GPU instance ID {:>2} on GPU {:>2} using profile {} (ID {:>2})\n",
      created->info.id, device.index, profile->name, profile->id);
  return NVML_SUCCESS;
}

}  // namespace

int CreateGpuInstances(const Nvml& nvml,
                       const std::vector<Device>& devices,
                       const std::vector<WantedProfile>& wanted,
                       bool with_compute_instance) {
  for (const Device& device : devices) {
    for (const WantedProfile& each : wanted) {
      GpuInstance instance;
      const nvmlReturn_t made = CreateGpuInstance(nvml, device, each, &instance);
      if (made != NVML_SUCCESS) return FailedTo(nvml, "create GPU instances", made);
      if (!with_compute_instance) continue;
      const nvmlReturn_t filled = CreateComputeInstance(nvml, device, instance, nullptr);
      if (filled != NVML_SUCCESS) return FailedTo(nvml, "create compute instances", filled);
    }
  }
  return 0;
}

int CreateComputeInstances(const Nvml& nvml,
                           const std::vector<Device>& devices,
                           std::span<const unsigned int> gpu_instances,
                           const std::vector<WantedProfile>& wanted) {
  std::vector<const WantedProfile*> list;
  list.reserve(wanted.size() + 1);
  for (const WantedProfile& each : wanted) list.push_back(&each);
  if (list.empty()) list.push_back(nullptr);
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& instance : GpuInstancesOf(nvml, device.handle, gpu_instances)) {
      any = true;
      for (const WantedProfile* each : list) {
        const nvmlReturn_t made = CreateComputeInstance(nvml, device, instance, each);
        if (made != NVML_SUCCESS) return FailedTo(nvml, "create compute instances", made);
      }
    }
  }
  if (any) return 0;
  Say("No GPU instances found: {}\n", nvml.ErrorText(NVML_ERROR_NOT_FOUND));
  return NVML_ERROR_NOT_FOUND;
}

int DestroyGpuInstances(const Nvml& nvml,
                        const std::vector<Device>& devices,
                        std::span<const unsigned int> gpu_instances) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& instance : GpuInstancesOf(nvml, device.handle, gpu_instances)) {
      any = true;
      const nvmlReturn_t gone = nvml.nvmlGpuInstanceDestroy(instance.handle);
      if (gone != NVML_SUCCESS) {
        Say("Unable to destroy GPU instance ID {:>2} from GPU {:>2}: {}\n", instance.info.id,
            device.index, nvml.ErrorText(gone));
        return FailedTo(nvml, "destroy GPU instances", gone);
      }
      Say("Successfully destroyed GPU instance ID {:>2} from GPU {:>2}\n", instance.info.id,
          device.index);
    }
  }
  if (any) return 0;
  Say("No GPU instances found: {}\n", nvml.ErrorText(NVML_ERROR_NOT_FOUND));
  return NVML_ERROR_NOT_FOUND;
}

int DestroyComputeInstances(const Nvml& nvml,
                            const std::vector<Device>& devices,
                            std::span<const unsigned int> gpu_instances,
                            std::span<const unsigned int> compute_instances) {
  bool any_gpu_instance = false;
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& holder : GpuInstancesOf(nvml, device.handle, gpu_instances)) {
      any_gpu_instance = true;
      for (const ComputeInstance& instance : ComputeInstancesOf(nvml, holder, compute_instances)) {
        any = true;
        const nvmlReturn_t gone = nvml.nvmlComputeInstanceDestroy(instance.handle);
        if (gone != NVML_SUCCESS) {
          Say("Unable to destroy compute instance ID {:>2} from GPU {:>2} GPU instance ID {:>2}: "
              "{}\n",
              instance.info.id, device.index, holder.info.id, nvml.ErrorText(gone));
          return FailedTo(nvml, "destroy compute instances", gone);
        }
        Say("Successfully destroyed compute instance ID {:>2} from GPU {:>2} GPU instance ID "
            "{:>2}\n",
            instance.info.id, device.index, holder.info.id);
      }
    }
  }
  if (any) return 0;
  Say("No {} found: {}\n", any_gpu_instance ? "compute instances" : "GPU instances",
      nvml.ErrorText(NVML_ERROR_NOT_FOUND));
  return NVML_ERROR_NOT_FOUND;
}

}  // namespace partita::sim::smi
