#include "hw/mig_control.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "hw/gpu_reset.h"
#include "hw/nvml/device_calls.h"
#include "hw/nvml/errors.h"
#include "hw/nvml/job_fault.h"
#include "model/mig/compute_profile.h"

namespace partita::hw {
namespace {

using nvml::Caller;
using nvml::CallWatch;
using nvml::NvmlError;
using nvml::nvmlReturn_t;

// More than any driver has; only against one that never says "no such constant".
constexpr unsigned kMostConstants = 64;

// One GPU within one job of the driver.
struct Conversation {
  Caller& call;
  nvml::nvmlDevice_t device;
  std::uint64_t generation;        // of the session
  std::chrono::nanoseconds limit;  // of the call that changes something
};

base::Result<nvml::nvmlGpuInstance_t> FindInstance(Conversation& gpu, model::GpuInstanceId id) {
  const auto& function = gpu.call.api.gi_by_id;
  nvml::nvmlGpuInstance_t instance = nullptr;
  const nvmlReturn_t code = gpu.call(function, gpu.device, id.value(), &instance);
  if (code != nvml::NVML_SUCCESS) return NvmlError(function.name(), code);
  return instance;
}

// Empty if the instance is gone. A list that an error cuts short is none.
base::Result<std::vector<model::ComputeInstanceProfile>> AskOffered(
    Conversation& gpu, nvml::nvmlGpuInstance_t instance) {
  const auto& function = gpu.call.api.ci_profile;
  std::vector<model::ComputeInstanceProfile> offered;
  for (unsigned constant = 0; constant < kMostConstants; ++constant) {
    nvml::nvmlComputeInstanceProfileInfo_t info{};
    const nvmlReturn_t code = gpu.call(
        function, instance, constant, unsigned{NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED}, &info);
    if (code == nvml::NVML_ERROR_NOT_SUPPORTED) continue;
    if (code == nvml::NVML_ERROR_INVALID_ARGUMENT || code == nvml::NVML_ERROR_NOT_FOUND) break;
    if (code != nvml::NVML_SUCCESS) return NvmlError(function.name(), code);
    if (info.sliceCount == 0) continue;  // the reader has told of it
    offered.push_back({info.id, info.sliceCount, info.multiprocessorCount, info.instanceCount});
  }
  return offered;
}

// What compute instances a GPU instance offers depends on its profile alone, and asking takes ten
// calls. Shared with the jobs. After a session comes perhaps another driver, which may offer
// others.
class OfferedProfiles {
 public:
  base::Result<std::vector<model::ComputeInstanceProfile>> Of(const model::PciAddress& pci,
                                                              Conversation& gpu,
                                                              nvml::nvmlGpuInstance_t instance) {
    nvml::nvmlGpuInstanceInfo_t info{};
    if (gpu.call(gpu.call.api.gi_info, instance, &info) != nvml::NVML_SUCCESS) {
      return AskOffered(gpu, instance);
    }
    const std::pair key(pci, info.profileId);
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(generation_, gpu.generation) != gpu.generation) offered_.clear();
      const auto known = offered_.find(key);
      if (known != offered_.end()) return known->second;
    }
    TRY(offered, AskOffered(gpu, instance));
    const std::scoped_lock lock(mutex_);
    // Empty only if the instance vanished: the next of its kind must ask for itself.
    if (!offered.empty()) offered_.emplace(key, offered);
    return offered;
  }

 private:
  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::map<std::pair<model::PciAddress, unsigned>, std::vector<model::ComputeInstanceProfile>>
      offered_;
};

base::Result<Activation> SetModeOf(Conversation& gpu, bool enable) {
  const auto& function = gpu.call.api.set_mig_mode;
  nvmlReturn_t activation = nvml::NVML_SUCCESS;
  // Two answers: whether the request was accepted, and whether it took effect.
  const nvmlReturn_t code =
      gpu.call.Within(gpu.limit, function, gpu.device, unsigned{enable}, &activation);
  if (code != nvml::NVML_SUCCESS) return NvmlError(function.name(), code);
  switch (activation) {
    case nvml::NVML_SUCCESS: return Activation::kActive;
    case nvml::NVML_ERROR_IN_USE: return Activation::kInUse;
    // "Not supported" comes from virtual machines that may not reset their GPU.
    case nvml::NVML_ERROR_NOT_SUPPORTED:
    case nvml::NVML_ERROR_RESET_REQUIRED: return Activation::kResetRequired;
    default: return NvmlError(function.name(), activation).Within("activation");
  }
}

base::Result<model::GpuInstanceId> CreateInstanceOn(Conversation& gpu,
                                                    model::ProfileId profile,
                                                    const model::Placement& placement) {
  const nvml::Api& api = gpu.call.api;
  const nvml::nvmlGpuInstancePlacement_t place{placement.start, placement.size};
  nvml::nvmlGpuInstance_t instance = nullptr;
  nvmlReturn_t code =
      gpu.call.Within(gpu.limit, api.create_gi, gpu.device, profile.value(), &place, &instance);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.create_gi.name(), code);
  nvml::nvmlGpuInstanceInfo_t info{};
  code = gpu.call(api.gi_info, instance, &info);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.gi_info.name(), code);
  if (info.profileId != profile.value() || info.placement.start != placement.start ||
      info.placement.size != placement.size) {
    return base::MakeError(base::ErrorCode::kInternal,
                           "the driver made profile {} at slice {} instead of {} at slice {}",
                           info.profileId, info.placement.start, profile.value(), placement.start);
  }
  return model::GpuInstanceId(info.id);
}

// `start` absent: wherever the driver liked.
base::Result<void> CheckCompute(const nvml::nvmlComputeInstanceInfo_t& made,
                                std::uint32_t profile,
                                std::optional<std::uint32_t> start) {
  if (made.profileId == profile && (!start || made.placement.start == *start)) return {};
  if (!start) {
    return base::MakeError(base::ErrorCode::kInternal,
                           "the driver made compute instance profile {} instead of {}",
                           made.profileId, profile);
  }
  return base::MakeError(base::ErrorCode::kInternal,
                         "the driver made compute instance profile {} at slice {} instead of {} at "
                         "slice {}",
                         made.profileId, made.placement.start, profile, *start);
}

base::Result<nvml::nvmlComputeInstance_t> MakeCompute(Conversation& gpu,
                                                      nvml::nvmlGpuInstance_t instance,
                                                      std::uint32_t profile,
                                                      std::uint32_t slices,
                                                      std::optional<std::uint32_t> start) {
  const nvml::Api& api = gpu.call.api;
  nvml::nvmlComputeInstance_t compute = nullptr;
  if (start) {
    const nvml::nvmlComputeInstancePlacement_t place{*start, slices};
    const nvmlReturn_t code =
        gpu.call.Within(gpu.limit, api.create_ci_at, instance, profile, &place, &compute);
    if (code != nvml::NVML_SUCCESS) return NvmlError(api.create_ci_at.name(), code);
    return compute;
  }
  const nvmlReturn_t code = gpu.call.Within(gpu.limit, api.create_ci, instance, profile, &compute);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.create_ci.name(), code);
  return compute;
}

std::vector<model::Placement> ComputePlaces(Conversation& gpu,
                                            nvml::nvmlGpuInstance_t instance,
                                            std::uint32_t profile) {
  const auto& function = gpu.call.api.ci_placements;
  unsigned count = 0;
  nvml::nvmlComputeInstancePlacement_t* none = nullptr;
  if (gpu.call(function, instance, profile, none, &count) != nvml::NVML_SUCCESS) return {};
  if (!nvml::RoomFor(function.name(), count).ok()) return {};
  std::vector<nvml::nvmlComputeInstancePlacement_t> list(std::max(count, kMostConstants));
  if (gpu.call(function, instance, profile, list.data(), &count) != nvml::NVML_SUCCESS) return {};
  list.resize(std::min<std::size_t>(count, list.size()));
  std::vector<model::Placement> places;
  places.reserve(list.size());
  for (const nvml::nvmlComputeInstancePlacement_t& each : list) {
    places.push_back({each.start, each.size});
  }
  return places;
}

base::Result<model::ComputeInstanceId> CreateComputeOn(const model::PciAddress& pci,
                                                       Conversation& gpu,
                                                       OfferedProfiles& offered,
                                                       model::GpuInstanceId id,
                                                       std::uint32_t slices,
                                                       std::optional<std::uint32_t> start) {
  const nvml::Api& api = gpu.call.api;
  TRY(instance, FindInstance(gpu, id));
  TRY(kinds, offered.Of(pci, gpu, instance));
  const std::optional<std::uint32_t> profile = model::ChooseComputeProfile(kinds, slices);
  if (!profile) {
    return base::MakeError(base::ErrorCode::kUnsupported,
                           "GPU instance {} offers no compute instance of {} slices", id.value(),
                           slices);
  }
  // An older driver cannot be told a place; its own choice may do.
  if (api.create_ci_at.pointer() == nullptr) start.reset();
  TRY(compute, MakeCompute(gpu, instance, *profile, slices, start));
  nvml::nvmlComputeInstanceInfo_t info{};
  const nvmlReturn_t code = gpu.call(api.ci_info, compute, &info);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.ci_info.name(), code);
  TRY_VOID(CheckCompute(info, *profile, start));
  return model::ComputeInstanceId(info.id);
}

base::Result<bool> DestroyComputeOf(Conversation& gpu,
                                    model::GpuInstanceId id,
                                    model::ComputeInstanceId compute_id) {
  const nvml::Api& api = gpu.call.api;
  TRY(instance, FindInstance(gpu, id));
  nvml::nvmlComputeInstance_t compute = nullptr;
  nvmlReturn_t code = gpu.call(api.ci_by_id, instance, compute_id.value(), &compute);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.ci_by_id.name(), code);
  code = gpu.call.Within(gpu.limit, api.destroy_ci, compute);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.destroy_ci.name(), code);
  return true;
}

base::Result<bool> DestroyInstanceOf(Conversation& gpu, model::GpuInstanceId id) {
  const auto& function = gpu.call.api.destroy_gi;
  TRY(instance, FindInstance(gpu, id));
  const nvmlReturn_t code = gpu.call.Within(gpu.limit, function, instance);
  if (code != nvml::NVML_SUCCESS) return NvmlError(function.name(), code);
  return true;
}

// "Unknown" is all that a client hears from a driver that was reloaded under it, whatever it asks;
// where it means something else, a new session costs milliseconds.
bool MayMeanAReload(int code) {
  return nvml::MeansSessionLost(code) || code == nvml::NVML_ERROR_UNKNOWN;
}

base::Result<void> WithoutValue(const base::Result<bool>& result) {
  if (!result.ok()) return result.error();
  return {};
}

// Handed from the job to whoever waits; shared, since the job may be left behind.
template <typename Value>
struct Answer {
  std::mutex mutex;
  std::uint64_t generation = 0;
  std::optional<base::Result<Value>> value;
  void Set(std::uint64_t its_generation, base::Result<Value> result) {
    const std::scoped_lock lock(mutex);
    generation = its_generation;
    value.emplace(std::move(result));
  }
};

}  // namespace

class MigControl::Impl {
 public:
  Impl(std::shared_ptr<nvml::Driver> driver, ControlLimits limits)
      : driver_(std::move(driver)), limits_(limits) {}

  [[nodiscard]] nvml::Driver& driver() const { return *driver_; }
  [[nodiscard]] const ControlLimits& limits() const { return limits_; }
  [[nodiscard]] const std::shared_ptr<OfferedProfiles>& offered() const { return offered_; }

  // `change` runs as a job and owns what it needs.
  template <typename Value>
  base::Result<Value> Run(const model::PciAddress& pci,
                          std::chrono::nanoseconds limit,
                          std::function<base::Result<Value>(Conversation&)> change) {
    const auto answer = std::make_shared<Answer<Value>>();
    const nvml::Driver::Report report = driver_->Run(
        nvml::KeyOf(pci), driver_->LimitsFor(limit),
        [=, change = std::move(change)](const nvml::Session& session, CallWatch& watch) {
          answer->Set(session.generation(), Converse<Value>(session, watch, pci, limit, change));
        });
    if (!report.Done()) return nvml::ErrorFrom(report);
    const std::scoped_lock lock(answer->mutex);
    base::Result<Value>& result = *answer->value;
    // The driver went away under us: the next call is through a new session.
    const auto native = result.ok() ? std::nullopt : result.error().native();
    if (native && MayMeanAReload(native->value)) (void)driver_->Reopen(answer->generation);
    return std::move(result);
  }

 private:
  template <typename Value>
  static base::Result<Value> Converse(
      const nvml::Session& session,
      CallWatch& watch,
      const model::PciAddress& pci,
      std::chrono::nanoseconds limit,
      const std::function<base::Result<Value>(Conversation&)>& change) {
    TRY(handle, session.FindDevice(pci, watch));
    TRY(device, session.Use(handle));
    Caller call = session.CallerFor(watch);
    Conversation gpu{call, device, session.generation(), limit};
    return change(gpu);
  }

  const std::shared_ptr<nvml::Driver> driver_;
  const ControlLimits limits_;
  const std::shared_ptr<OfferedProfiles> offered_ = std::make_shared<OfferedProfiles>();
};

// The driver's own "timeout" is an answer, and has its code.
bool EndIsUnknown(const base::Error& error) {
  return error.code() == base::ErrorCode::kTimeout && !error.native();
}

MigControl::MigControl(std::shared_ptr<nvml::Driver> driver, ControlLimits limits)
    : impl_(std::make_unique<Impl>(std::move(driver), limits)) {}
MigControl::~MigControl() = default;

base::Result<Activation> MigControl::SetMode(const model::PciAddress& gpu, bool enable) {
  return impl_->Run<Activation>(gpu, impl_->limits().mode, [enable](Conversation& conversation) {
    return SetModeOf(conversation, enable);
  });
}

base::Result<model::GpuInstanceId> MigControl::CreateInstance(const model::PciAddress& gpu,
                                                              model::ProfileId profile,
                                                              const model::Placement& placement) {
  return impl_->Run<model::GpuInstanceId>(
      gpu, impl_->limits().instance, [profile, placement](Conversation& conversation) {
        return CreateInstanceOn(conversation, profile, placement);
      });
}

base::Result<model::ComputeInstanceId> MigControl::CreateCompute(
    const model::PciAddress& gpu,
    model::GpuInstanceId instance,
    std::uint32_t slices,
    std::optional<std::uint32_t> start) {
  return impl_->Run<model::ComputeInstanceId>(
      gpu, impl_->limits().instance,
      [gpu, instance, slices, start, offered = impl_->offered()](Conversation& conversation) {
        return CreateComputeOn(gpu, conversation, *offered, instance, slices, start);
      });
}

base::Result<std::vector<model::ComputeInstanceProfile>> MigControl::OfferedCompute(
    const model::PciAddress& gpu, model::GpuInstanceId instance) {
  using Offered = std::vector<model::ComputeInstanceProfile>;
  return impl_->Run<Offered>(gpu, impl_->limits().instance,
                             [instance](Conversation& conversation) -> base::Result<Offered> {
                               TRY(handle, FindInstance(conversation, instance));
                               TRY(offered, AskOffered(conversation, handle));
                               for (model::ComputeInstanceProfile& profile : offered) {
                                 profile.placements =
                                     ComputePlaces(conversation, handle, profile.id);
                               }
                               return offered;
                             });
}

base::Result<void> MigControl::DestroyCompute(const model::PciAddress& gpu,
                                              model::GpuInstanceId instance,
                                              model::ComputeInstanceId compute) {
  return WithoutValue(impl_->Run<bool>(gpu, impl_->limits().instance,
                                       [instance, compute](Conversation& conversation) {
                                         return DestroyComputeOf(conversation, instance, compute);
                                       }));
}

base::Result<void> MigControl::DestroyInstance(const model::PciAddress& gpu,
                                               model::GpuInstanceId instance) {
  return WithoutValue(
      impl_->Run<bool>(gpu, impl_->limits().instance, [instance](Conversation& conversation) {
        return DestroyInstanceOf(conversation, instance);
      }));
}

base::Result<void> MigControl::MayReset() { return impl_->driver().AwaitOverdue(); }

base::Result<void> MigControl::Reset(const std::vector<model::PciAddress>& gpus,
                                     const std::atomic<bool>* stop) {
  TRY(lease, impl_->driver().Exclusive());
  const nvml::LibrarySearch& search = impl_->driver().options().search;
  return ResetGpus(gpus, {.driver_root = search.driver_root,
                          .library = search.path,
                          .limit = impl_->limits().reset,
                          .stop = stop});
}

}  // namespace partita::hw
