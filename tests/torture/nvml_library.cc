#include "nvml_library.h"

#include <dlfcn.h>

#include <algorithm>

namespace partita::torture {
namespace {

using base::Result;

template <typename Function>
void Bind(void* library, const char* name, Function* function, std::string* missing) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) *missing += std::string(" ") + name;
}

// NOT_FOUND and INVALID_ARGUMENT are what a vanished instance answers.
bool Vanished(int code) { return code == kInvalidArgument || code == kNotFound; }

Result<std::vector<ComputeSlice>> ReadComputeSlices(const Nvml& nvml, Handle gpu_instance) {
  std::vector<ComputeSlice> slices;
  for (unsigned constant = 0; constant < kComputeProfileConstants; ++constant) {
    ComputeInstanceProfileView profile{};
    int code = nvml.GetComputeInstanceProfile(gpu_instance, constant, 0, &profile);
    if (code == kNotSupported) continue;
    if (Vanished(code)) break;
    if (code != kSuccess) return CallFailed("GetComputeInstanceProfileInfo", code);
    Handle handles[16];
    unsigned count = std::size(handles);
    code = nvml.GetComputeInstances(gpu_instance, profile.id, handles, &count);
    if (Vanished(code)) break;
    if (code != kSuccess) return CallFailed("GetComputeInstances", code);
    for (unsigned i = 0; i < count; ++i) {
      ComputeSlice slice{handles[i], {}, ""};
      code = nvml.GetComputeInstance(handles[i], &slice.view);
      if (Vanished(code)) continue;
      if (code != kSuccess) return CallFailed("ComputeInstanceGetInfo_v2", code);
      char uuid[96] = {};
      code = nvml.GetUuid(slice.view.device, uuid, sizeof uuid);
      if (Vanished(code)) continue;
      if (code != kSuccess) return CallFailed("DeviceGetUUID", code);
      slice.uuid = uuid;
      slices.push_back(slice);
    }
  }
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.view.id < b.view.id; });
  return slices;
}

}  // namespace

base::Error CallFailed(const char* call, int code) {
  return base::MakeError(base::ErrorCode::kInternal, "nvml{} answered {}", call, code)
      .WithNative({base::NativeKind::kNvml, code});
}

Result<Nvml> LoadNvml(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return base::MakeError(base::ErrorCode::kNotFound, "load {}: {}", path, dlerror());
  }
  Nvml nvml{};
  std::string missing;
  Bind(library, "nvmlInit_v2", &nvml.Init, &missing);
  Bind(library, "nvmlShutdown", &nvml.Shutdown, &missing);
  Bind(library, "nvmlDeviceGetCount_v2", &nvml.GetCount, &missing);
  Bind(library, "nvmlDeviceGetHandleByIndex_v2", &nvml.GetHandleByIndex, &missing);
  Bind(library, "nvmlDeviceGetMigMode", &nvml.GetMigMode, &missing);
  Bind(library, "nvmlDeviceSetMigMode", &nvml.SetMigMode, &missing);
  Bind(library, "nvmlDeviceGetGpuInstanceProfileInfo", &nvml.GetGpuInstanceProfile, &missing);
  Bind(library, "nvmlDeviceGetGpuInstancePossiblePlacements_v2", &nvml.GetPossiblePlacements,
       &missing);
  Bind(library, "nvmlDeviceCreateGpuInstance", &nvml.CreateGpuInstance, &missing);
  Bind(library, "nvmlDeviceCreateGpuInstanceWithPlacement", &nvml.CreateGpuInstanceAt, &missing);
  Bind(library, "nvmlGpuInstanceDestroy", &nvml.DestroyGpuInstance, &missing);
  Bind(library, "nvmlDeviceGetGpuInstances", &nvml.GetGpuInstances, &missing);
  Bind(library, "nvmlGpuInstanceGetInfo", &nvml.GetGpuInstance, &missing);
  Bind(library, "nvmlGpuInstanceGetComputeInstanceProfileInfo", &nvml.GetComputeInstanceProfile,
       &missing);
  Bind(library, "nvmlGpuInstanceCreateComputeInstance", &nvml.CreateComputeInstance, &missing);
  Bind(library, "nvmlComputeInstanceDestroy", &nvml.DestroyComputeInstance, &missing);
  Bind(library, "nvmlGpuInstanceGetComputeInstances", &nvml.GetComputeInstances, &missing);
  Bind(library, "nvmlComputeInstanceGetInfo_v2", &nvml.GetComputeInstance, &missing);
  Bind(library, "nvmlDeviceGetUUID", &nvml.GetUuid, &missing);
  Bind(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.GetComputeProcesses, &missing);
  Bind(library, "nvmlEventSetCreate", &nvml.CreateEventSet, &missing);
  Bind(library, "nvmlDeviceRegisterEvents", &nvml.RegisterEvents, &missing);
  Bind(library, "nvmlEventSetWait_v2", &nvml.WaitForEvent, &missing);
  Bind(library, "nvmlEventSetFree", &nvml.FreeEventSet, &missing);
  if (!missing.empty()) {
    return base::MakeError(base::ErrorCode::kUnsupported, "{} lacks{}", path, missing);
  }
  return nvml;
}

Result<std::vector<unsigned>> ReadProfileIds(const Nvml& nvml, Handle gpu) {
  std::vector<unsigned> ids;
  for (unsigned constant = 0; constant < kProfileConstants; ++constant) {
    GpuInstanceProfileView profile{};
    const int code = nvml.GetGpuInstanceProfile(gpu, constant, &profile);
    if (code == kInvalidArgument) break;
    if (code == kSuccess) ids.push_back(profile.id);
    if (code != kSuccess && code != kNotSupported) {
      return CallFailed("DeviceGetGpuInstanceProfileInfo", code);
    }
  }
  return ids;
}

Result<std::vector<Slice>> ReadSlices(const Nvml& nvml, Handle gpu) {
  TRY(profiles, ReadProfileIds(nvml, gpu));
  std::vector<Slice> slices;
  for (const unsigned profile : profiles) {
    Handle handles[16];
    unsigned count = std::size(handles);
    int code = nvml.GetGpuInstances(gpu, profile, handles, &count);
    if (code != kSuccess) return CallFailed("DeviceGetGpuInstances", code);
    for (unsigned i = 0; i < count; ++i) {
      Slice slice{handles[i], {}, {}};
      code = nvml.GetGpuInstance(handles[i], &slice.view);
      if (Vanished(code)) continue;
      if (code != kSuccess) return CallFailed("GpuInstanceGetInfo", code);
      TRY(compute, ReadComputeSlices(nvml, handles[i]));
      slice.compute = std::move(compute);
      slices.push_back(std::move(slice));
    }
  }
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.view.id < b.view.id; });
  return slices;
}

Result<std::string> DescribeNode(const Nvml& nvml) {
  unsigned count = 0;
  if (const int code = nvml.GetCount(&count); code != kSuccess) {
    return CallFailed("DeviceGetCount_v2", code);
  }
  std::string text;
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    if (const int code = nvml.GetHandleByIndex(index, &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    unsigned current = 0, pending = 0;
    const int code = nvml.GetMigMode(gpu, &current, &pending);
    if (code == kNotSupported) continue;
    if (code != kSuccess) return CallFailed("DeviceGetMigMode", code);
    text += fmt::format("gpu {} mig {} pending {}\n", index, current, pending);
    TRY(slices, ReadSlices(nvml, gpu));
    for (const Slice& slice : slices) {
      text +=
          fmt::format("gpu {} gi {} profile {} placement {}:{}\n", index, slice.view.id,
                      slice.view.profile, slice.view.placement.start, slice.view.placement.size);
      for (const ComputeSlice& compute : slice.compute) {
        text += fmt::format("gpu {} gi {} ci {} profile {} placement {}:{}\n", index, slice.view.id,
                            compute.view.id, compute.view.profile, compute.view.placement.start,
                            compute.view.placement.size);
      }
    }
  }
  return text;
}

Result<MigUuids> ReadMigUuids(const Nvml& nvml) {
  unsigned count = 0;
  if (const int code = nvml.GetCount(&count); code != kSuccess) {
    return CallFailed("DeviceGetCount_v2", code);
  }
  MigUuids uuids;
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    if (const int code = nvml.GetHandleByIndex(index, &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    TRY(slices, ReadSlices(nvml, gpu));
    for (const Slice& slice : slices) {
      for (const ComputeSlice& compute : slice.compute) {
        uuids[{index, slice.view.id, compute.view.id}] = compute.uuid;
      }
    }
  }
  return uuids;
}

}  // namespace partita::torture
