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
#include "hw/nvml/session.h"
#include "hw/nvml/worker.h"
#include "model/mig_compute_profile.h"

namespace partita::hw {
namespace {

using nvml::Caller;
using nvml::CallWatch;
using nvml::NvmlError;
using nvml::nvmlReturn_t;
using nvml::Worker;

// More than any driver has; only against one that never says "no such constant".
constexpr unsigned kMostConstants = 64;

// One GPU within one job on the driver thread.
struct Conversation {
  Caller& call;
  nvml::nvmlDevice_t device;
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
// calls. Shared with the driver thread.
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

base::Result<nvml::nvmlComputeInstance_t> MakeCompute(Conversation& gpu,
                                                      nvml::nvmlGpuInstance_t instance,
                                                      std::uint32_t profile,
                                                      std::uint32_t slices,
                                                      std::optional<std::uint32_t> start) {
  const nvml::Api& api = gpu.call.api;
  nvml::nvmlComputeInstance_t compute = nullptr;
  // An older driver cannot be told a place; its own choice may do.
  if (start && api.create_ci_at.pointer() != nullptr) {
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
  TRY(compute, MakeCompute(gpu, instance, *profile, slices, start));
  nvml::nvmlComputeInstanceInfo_t info{};
  const nvmlReturn_t code = gpu.call(api.ci_info, compute, &info);
  if (code != nvml::NVML_SUCCESS) return NvmlError(api.ci_info.name(), code);
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

base::Error HungError(const Worker::Report& report) {
  if (report.outcome != Worker::Outcome::kHung) {
    return base::MakeError(base::ErrorCode::kTimeout, "an earlier driver call has not come back")
        .WithHint("see the kernel log, then reboot the node");
  }
  const double seconds = std::chrono::duration<double>(report.limit).count();
  return base::MakeError(base::ErrorCode::kTimeout, "{} did not come back within {:g} s",
                         report.function.empty() ? "the driver" : report.function, seconds)
      .WithHint("see the kernel log, then reset the GPU or reboot the node");
}

base::Result<void> WithoutValue(const base::Result<bool>& result) {
  if (!result.ok()) return result.error();
  return {};
}

// Handed from the driver thread to whoever waits; shared, since the thread may be left behind.
template <typename Value>
struct Answer {
  std::mutex mutex;
  std::optional<base::Result<Value>> value;
  void Set(base::Result<Value> result) {
    const std::scoped_lock lock(mutex);
    value.emplace(std::move(result));
  }
};

}  // namespace

class MigControl::Impl {
 public:
  Impl(ReaderOptions options, ControlLimits limits)
      : options_(std::move(options)), limits_(limits) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Release(); }

  [[nodiscard]] const ReaderOptions& options() const { return options_; }
  [[nodiscard]] const ControlLimits& limits() const { return limits_; }
  [[nodiscard]] const std::shared_ptr<OfferedProfiles>& offered() const { return offered_; }

  // `change` runs on the driver thread and owns what it needs.
  template <typename Value>
  base::Result<Value> Run(const model::PciAddress& pci,
                          std::chrono::nanoseconds limit,
                          std::function<base::Result<Value>(Conversation&)> change) {
    TRY_VOID(Open());
    base::Result<Value> result = OnDriverThread<Value>(
        pci.ToString(), limit, [=, session = session_](CallWatch& watch) -> base::Result<Value> {
          TRY(handle, session->FindDevice(pci, watch));
          TRY(device, session->Use(handle));
          Caller call = session->CallerFor(watch);
          Conversation gpu{call, device, limit};
          return change(gpu);
        });
    // The driver went away under us: the next call is through a new session.
    const auto native = result.ok() ? std::nullopt : result.error().native();
    if (native && MayMeanAReload(native->value)) Release();
    return result;
  }

  void Release() {
    if (!session_) return;
    std::shared_ptr<nvml::Session> session = std::move(session_);
    session_.reset();
    offered_ = std::make_shared<OfferedProfiles>();  // another driver may offer others
    // Where a call hangs, the shutdown would too; then the session stays open until the end.
    if (worker_.abandoned() > 0) return;
    worker_.Run("", JobLimits(options_.deadline),
                [session = std::move(session)](CallWatch& watch) { session->Close(watch); });
  }

 private:
  [[nodiscard]] Worker::Limits JobLimits(std::chrono::nanoseconds change) const {
    return {.call = options_.deadline,
            .job = options_.attach_deadline + change + 10 * options_.deadline};
  }

  template <typename Value, typename Job>
  base::Result<Value> OnDriverThread(const std::string& key,
                                     std::chrono::nanoseconds limit,
                                     Job job) {
    const auto answer = std::make_shared<Answer<Value>>();
    const Worker::Report report =
        worker_.Run(key, JobLimits(limit),
                    [answer, job = std::move(job)](CallWatch& watch) { answer->Set(job(watch)); });
    const std::scoped_lock lock(answer->mutex);
    if (report.outcome != Worker::Outcome::kDone || !answer->value) return HungError(report);
    return *std::move(answer->value);
  }

  base::Result<void> Open() {
    if (session_) return {};
    using Opened = std::shared_ptr<nvml::Session>;
    TRY(session, OnDriverThread<Opened>(
                     "", options_.attach_deadline,
                     [search = nvml::LibrarySearch{options_.library, options_.driver_root},
                      generation = ++generation_,
                      limit = options_.attach_deadline](CallWatch& watch) -> base::Result<Opened> {
                       TRY(library, nvml::Library::Open(search));
                       return nvml::Session::Open(library, generation, limit, watch);
                     }));
    session_ = std::move(session);
    return {};
  }

  const ReaderOptions options_;
  const ControlLimits limits_;
  Worker worker_;
  std::shared_ptr<nvml::Session> session_;
  std::shared_ptr<OfferedProfiles> offered_ = std::make_shared<OfferedProfiles>();
  std::uint64_t generation_ = 0;
};

MigControl::MigControl(ReaderOptions options, ControlLimits limits)
    : impl_(std::make_unique<Impl>(std::move(options), limits)) {}
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

base::Result<void> MigControl::Reset(const std::vector<model::PciAddress>& gpus,
                                     const std::atomic<bool>* stop) {
  Release();
  TRY_VOID(CheckReleased());
  const ReaderOptions& options = impl_->options();
  return ResetGpus(gpus, {.driver_root = options.driver_root,
                          .library = options.library,
                          .limit = impl_->limits().reset,
                          .stop = stop});
}

void MigControl::Release() { impl_->Release(); }

}  // namespace partita::hw
