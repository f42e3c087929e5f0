#include "hw/nvml/mig_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "hw/nvml/device_reader.h"
#include "model/profile_name.h"

namespace partita::hw::nvml {
namespace {

// More than any driver has; only against one that never says "no such constant".
constexpr unsigned kMostConstants = 64;
// No array below is ever longer on known parts: a GPU has at most 15 GPU instances, a profile at
// most 8 placements.
constexpr std::size_t kRoom = 64;

// A range of slices that can be: the planner's masks have 64 bits, the largest GPU seen 12 slices.
bool IsRange(const nvmlGpuInstancePlacement_t& placement) {
  constexpr unsigned kMostSlices = 64;
  return placement.size > 0 && placement.start < kMostSlices &&
         placement.size <= kMostSlices - placement.start;
}

// Numbers of the driver that mean nothing: told as a problem, and used for nothing.
base::Error Nonsense(std::string text) {
  return base::Error(base::ErrorCode::kInternal, std::move(text))
      .WithHint("the driver is damaged, or not what it says it is: see the kernel log");
}

std::string WithoutMig(const std::string& name) {
  return name.starts_with("MIG ") ? name.substr(4) : name;
}

// One profile by NVML's constant, with the driver's own name where the call knows names.
nvmlReturn_t AskProfile(DeviceCalls& calls,
                        unsigned constant,
                        nvmlGpuInstanceProfileInfo_v2_t& info) {
  const Api& api = calls.api();
  info = {};
  // Driver 580 sets the version to 0 on success, so it is set before each call.
  info.version = nvmlGpuInstanceProfileInfo_v2;
  nvmlReturn_t code = calls.Raw(api.gi_profile_v, calls.device(), constant, &info);
  if (code != NVML_ERROR_FUNCTION_NOT_FOUND) return code;

  nvmlGpuInstanceProfileInfo_t plain{};
  code = calls.Raw(api.gi_profile, calls.device(), constant, &plain);
  info.id = plain.id;
  info.isP2pSupported = plain.isP2pSupported;
  info.sliceCount = plain.sliceCount;
  info.instanceCount = plain.instanceCount;
  info.multiprocessorCount = plain.multiprocessorCount;
  info.copyEngineCount = plain.copyEngineCount;
  info.decoderCount = plain.decoderCount;
  info.encoderCount = plain.encoderCount;
  info.jpegCount = plain.jpegCount;
  info.ofaCount = plain.ofaCount;
  info.memorySizeMB = plain.memorySizeMB;
  return code;
}

model::ProfileName ProfileNameOf(unsigned constant,
                                 const nvmlGpuInstanceProfileInfo_v2_t& info,
                                 const std::optional<model::Memory>& memory) {
  const model::Bytes total = memory ? memory->total : model::Bytes(0);
  std::uint64_t gigabytes = model::MemorySuffix(model::Mebibytes(info.memorySizeMB), total);
  if (!memory) {
    const base::Result<model::ProfileName> given = model::ProfileName::Parse(info.name);
    if (given.ok()) gigabytes = given->gigabytes;
  }
  return model::NameGpuInstanceProfile(model::ProfileConstant(constant), info.sliceCount, gigabytes,
                                       info.name);
}

std::vector<model::Placement> ReadPlacements(DeviceCalls& calls,
                                             unsigned profile_id,
                                             std::optional<base::Error>& gap) {
  const auto& function = calls.api().gi_placements;
  const auto ask = [&](nvmlGpuInstancePlacement_t* list, unsigned* count) {
    const nvmlReturn_t code = calls.Raw(function, calls.device(), profile_id, list, count);
    return calls.NoteGap(function.name(), code, gap);
  };
  // Without an array the call says how many there are; with one it writes them all, whatever room
  // the count promises.
  unsigned count = 0;
  if (!ask(nullptr, &count) || count == 0) return {};
  const base::Result<std::size_t> room = RoomFor(function.name(), count);
  if (!room.ok()) {
    calls.AddProblem(room.error());
    gap = room.error();
    return {};
  }
  std::vector<nvmlGpuInstancePlacement_t> list(std::max(*room, kRoom));
  if (!ask(list.data(), &count)) return {};
  list.resize(std::min<std::size_t>(count, list.size()));
  std::vector<model::Placement> placements;
  placements.reserve(list.size());
  for (const nvmlGpuInstancePlacement_t& each : list) {
    if (IsRange(each)) {
      placements.push_back({.start = each.start, .size = each.size});
    } else {
      calls.AddProblem(Nonsense(fmt::format("{} places profile {} at slice {} with {} slices",
                                            function.name(), profile_id, each.start, each.size)));
    }
  }
  return placements;
}

model::GpuInstanceProfile ToProfile(unsigned constant,
                                    const nvmlGpuInstanceProfileInfo_v2_t& info,
                                    const std::optional<model::Memory>& memory) {
  model::GpuInstanceProfile profile;
  profile.constant = model::ProfileConstant(constant);
  profile.id = model::ProfileId(info.id);
  profile.name = ProfileNameOf(constant, info, memory).ToString();
  profile.nvml_name = WithoutMig(info.name);
  profile.slice_count = info.sliceCount;
  profile.instance_count = info.instanceCount;
  profile.multiprocessors = info.multiprocessorCount;
  profile.copy_engines = info.copyEngineCount;
  profile.decoders = info.decoderCount;
  profile.encoders = info.encoderCount;
  profile.jpegs = info.jpegCount;
  profile.ofas = info.ofaCount;
  profile.memory = model::Mebibytes(info.memorySizeMB);
  profile.p2p = info.isP2pSupported != 0;
  return profile;
}

std::uint32_t CountMemorySlices(const std::vector<model::GpuInstanceProfile>& profiles) {
  std::uint32_t slices = 0;
  for (const model::GpuInstanceProfile& profile : profiles) {
    for (const model::Placement& placement : profile.placements) {
      slices = std::max(slices, placement.start + placement.size);
    }
  }
  return slices;
}

void ReadProfiles(DeviceCalls& calls,
                  const std::optional<model::Memory>& memory,
                  bool with_remaining,
                  model::Mig& mig,
                  std::optional<base::Error>& gap) {
  const Api& api = calls.api();
  // The constants are counted up until the driver knows no more of them: a list compiled in here
  // would hide the profiles of newer drivers.
  for (unsigned constant = 0; constant < kMostConstants; ++constant) {
    nvmlGpuInstanceProfileInfo_v2_t info;
    const nvmlReturn_t code = AskProfile(calls, constant, info);
    if (code == NVML_ERROR_NOT_SUPPORTED) continue;
    if (code == NVML_ERROR_INVALID_ARGUMENT) break;
    if (!calls.NoteGap(api.gi_profile_v.name(), code, gap)) break;

    if (info.sliceCount == 0) {
      // What exists of it would be missed, too.
      gap = Nonsense(fmt::format("{}: profile {} has 0 slices", api.gi_profile_v.name(), info.id));
      calls.AddProblem(*gap);
      continue;
    }
    model::GpuInstanceProfile profile = ToProfile(constant, info, memory);
    profile.placements = ReadPlacements(calls, info.id, gap);
    if (mig.enabled && with_remaining)
      profile.remaining = calls.Get<unsigned>(api.gi_remaining, info.id);
    mig.profiles.push_back(std::move(profile));
  }
}

// An instance may be destroyed by somebody else between two calls; then it is simply not there.
bool Vanished(nvmlReturn_t code) {
  return code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_NOT_FOUND;
}

// Reads the instances of one GPU. What compute instances a GPU instance may hold depends on its
// profile alone, so it is asked once per profile.
class InstanceReader {
 public:
  InstanceReader(DeviceCalls& calls,
                 const std::vector<model::GpuInstanceProfile>& profiles,
                 bool only_mig,
                 std::optional<base::Error>& gap)
      : calls_(calls), profiles_(profiles), only_mig_(only_mig), gap_(gap) {}

  std::vector<model::GpuInstance> Read() {
    std::vector<model::GpuInstance> instances;
    for (const model::GpuInstanceProfile& profile : profiles_) {
      // The caller's array must hold as many as the profile allows. Drivers are known to misstate
      // that number (on the A30), so there is room for more.
      std::array<nvmlGpuInstance_t, kRoom> handles{};
      unsigned count = 0;
      const auto& function = calls_.api().gpu_instances;
      const nvmlReturn_t code =
          calls_.Raw(function, calls_.device(), profile.id.value(), handles.data(), &count);
      if (!calls_.NoteGap(function.name(), code, gap_)) continue;
      for (std::size_t i = 0; i < std::min<std::size_t>(count, handles.size()); ++i) {
        ReadInstance(handles.at(i), profile, instances);
      }
    }
    std::sort(instances.begin(), instances.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    return instances;
  }

 private:
  void ReadInstance(nvmlGpuInstance_t handle,
                    const model::GpuInstanceProfile& profile,
                    std::vector<model::GpuInstance>& instances) {
    nvmlGpuInstanceInfo_t info{};
    const nvmlReturn_t code = calls_.Raw(calls_.api().gi_info, handle, &info);
    if (Vanished(code) || !calls_.NoteGap(calls_.api().gi_info.name(), code, gap_)) return;
    if (!IsRange(info.placement)) {
      gap_ = Nonsense(fmt::format("{} places GPU instance {} at slice {} with {} slices",
                                  calls_.api().gi_info.name(), info.id, info.placement.start,
                                  info.placement.size));
      calls_.AddProblem(*gap_);
      return;
    }
    model::GpuInstance instance;
    instance.id = model::GpuInstanceId(info.id);
    instance.profile = model::ProfileId(info.profileId);
    instance.profile_name = profile.name;
    instance.placement = {.start = info.placement.start, .size = info.placement.size};
    ReadComputeInstances(handle, profile, instance);
    if (std::any_of(instance.compute_instances.begin(), instance.compute_instances.end(),
                    [&](const auto& each) { return each.slice_count < profile.slice_count; })) {
      instance.offered = Offered(handle, profile.id);
    }
    instances.push_back(std::move(instance));
  }

  void ReadComputeInstances(nvmlGpuInstance_t handle,
                            const model::GpuInstanceProfile& profile,
                            model::GpuInstance& instance) {
    std::uint32_t slices = 0;
    for (const nvmlComputeInstanceProfileInfo_t& kind : ComputeProfiles(handle, profile.id)) {
      // All slices are spoken for: none of the smaller kinds can exist beside these.
      if (slices >= profile.slice_count) break;
      std::array<nvmlComputeInstance_t, kRoom> handles{};
      unsigned count = 0;
      const nvmlReturn_t code =
          calls_.Raw(calls_.api().compute_instances, handle, kind.id, handles.data(), &count);
      if (Vanished(code) || !calls_.NoteGap(calls_.api().compute_instances.name(), code, gap_)) {
        continue;
      }
      for (std::size_t i = 0; i < std::min<std::size_t>(count, handles.size()); ++i) {
        slices += kind.sliceCount;
        ReadComputeInstance(handles.at(i), kind, instance);
      }
    }
    std::sort(instance.compute_instances.begin(), instance.compute_instances.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
  }

  void ReadComputeInstance(nvmlComputeInstance_t handle,
                           const nvmlComputeInstanceProfileInfo_t& kind,
                           model::GpuInstance& instance) {
    nvmlComputeInstanceInfo_t info{};
    const nvmlReturn_t code = calls_.Raw(calls_.api().ci_info, handle, &info);
    if (Vanished(code) || !calls_.NoteGap(calls_.api().ci_info.name(), code, gap_)) return;
    model::ComputeInstance compute;
    compute.id = model::ComputeInstanceId(info.id);
    compute.profile = info.profileId;
    compute.placement = {.start = info.placement.start, .size = info.placement.size};
    compute.slice_count = kind.sliceCount;
    compute.multiprocessors = kind.multiprocessorCount;
    compute.name = NameOfPart(instance.profile_name, kind.sliceCount);
    // The device of a compute instance is its MIG device, whose index is its slot: no need to walk
    // the slots, which was reported to take seconds on loaded machines.
    if (info.device != nullptr) ReadMigDevice(info.device, compute, instance);
    instance.compute_instances.push_back(std::move(compute));
  }

  void ReadMigDevice(nvmlDevice_t device,
                     model::ComputeInstance& compute,
                     model::GpuInstance& instance) {
    if (auto uuid = calls_.GetTextOf<NVML_DEVICE_UUID_V2_BUFFER_SIZE>(calls_.api().uuid, device)) {
      compute.uuid = model::MigUuid(*std::move(uuid));
    }
    // Changes need it too: it may be all that tells of somebody in the instance.
    if (!instance.memory) instance.memory = ReadMemory(calls_, device);
    if (only_mig_) return;
    unsigned slot = 0;
    if (calls_.Raw(calls_.api().index, device, &slot) == NVML_SUCCESS) compute.slot = slot;
  }

  static std::string NameOfPart(const std::string& whole, std::uint32_t compute_slices) {
    base::Result<model::ProfileName> name = model::ProfileName::Parse(whole);
    if (!name.ok()) return whole;
    name->compute_slices = compute_slices;
    return name->ToString();
  }

  // The places of compute instances depend on the profile alone, too.
  std::vector<model::ComputeInstanceProfile> Offered(nvmlGpuInstance_t handle,
                                                     model::ProfileId id) {
    const auto known = offered_.find(id);
    if (known != offered_.end()) return known->second;
    std::vector<model::ComputeInstanceProfile> offered;
    for (const nvmlComputeInstanceProfileInfo_t& kind : ComputeProfiles(handle, id)) {
      offered.push_back({kind.id, kind.sliceCount, kind.multiprocessorCount, kind.instanceCount,
                         ComputePlacements(handle, kind.id)});
    }
    return offered_.emplace(id, std::move(offered)).first->second;
  }

  // An older driver does not tell; then slices are counted.
  std::vector<model::Placement> ComputePlacements(nvmlGpuInstance_t handle, unsigned kind) {
    const auto& function = calls_.api().ci_placements;
    unsigned count = 0;
    nvmlComputeInstancePlacement_t* none = nullptr;
    if (calls_.Raw(function, handle, kind, none, &count) != NVML_SUCCESS) return {};
    if (!RoomFor(function.name(), count).ok()) return {};
    std::vector<nvmlComputeInstancePlacement_t> list(std::max<std::size_t>(count, kRoom));
    if (calls_.Raw(function, handle, kind, list.data(), &count) != NVML_SUCCESS) return {};
    list.resize(std::min<std::size_t>(count, list.size()));
    std::vector<model::Placement> placements;
    placements.reserve(list.size());
    for (const nvmlComputeInstancePlacement_t& each : list) {
      placements.push_back({.start = each.start, .size = each.size});
    }
    return placements;
  }

  // Widest first: usually that is the only one in use.
  std::vector<nvmlComputeInstanceProfileInfo_t> ComputeProfiles(nvmlGpuInstance_t handle,
                                                                model::ProfileId id) {
    const auto known = compute_profiles_.find(id);
    if (known != compute_profiles_.end()) return known->second;
    std::vector<nvmlComputeInstanceProfileInfo_t> kinds;
    for (unsigned constant = 0; constant < kMostConstants; ++constant) {
      nvmlComputeInstanceProfileInfo_t info{};
      const nvmlReturn_t code =
          calls_.Raw(calls_.api().ci_profile, handle, constant,
                     unsigned{NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED}, &info);
      if (code == NVML_ERROR_NOT_SUPPORTED) continue;
      if (Vanished(code)) break;
      // A list that is cut short must not be taken for that of the next instance.
      if (!calls_.NoteGap(calls_.api().ci_profile.name(), code, gap_)) return kinds;
      if (info.sliceCount == 0) {
        gap_ = Nonsense(fmt::format("{}: compute instance profile {} has 0 slices",
                                    calls_.api().ci_profile.name(), info.id));
        calls_.AddProblem(*gap_);
        continue;
      }
      kinds.push_back(info);
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return a.sliceCount > b.sliceCount; });
    // Empty only if the instance vanished: the next of its kind must ask for itself.
    if (!kinds.empty()) compute_profiles_.emplace(id, kinds);
    return kinds;
  }

  DeviceCalls& calls_;
  const std::vector<model::GpuInstanceProfile>& profiles_;
  bool only_mig_;
  std::optional<base::Error>& gap_;
  std::map<model::ProfileId, std::vector<nvmlComputeInstanceProfileInfo_t>> compute_profiles_;
  std::map<model::ProfileId, std::vector<model::ComputeInstanceProfile>> offered_;
};

}  // namespace

std::optional<MigMode> ReadMigMode(DeviceCalls& calls, std::optional<base::Error>& gap) {
  unsigned current = 0;
  unsigned pending = 0;
  // "Not supported" here, and only here, means that the board has no MIG.
  const auto& function = calls.api().mig_mode;
  const nvmlReturn_t code = calls.Raw(function, calls.device(), &current, &pending);
  if (!calls.NoteGap(function.name(), code, gap)) return std::nullopt;
  return MigMode{current == NVML_DEVICE_MIG_ENABLE, pending == NVML_DEVICE_MIG_ENABLE};
}

void ReadMig(DeviceCalls& calls, model::Gpu& gpu, const std::optional<OnlyMig>& only) {
  const std::optional<MigMode> mode = ReadMigMode(calls, gpu.mig_error);
  if (!mode) return;
  model::Mig mig;
  mig.enabled = mode->enabled;
  mig.pending_enabled = mode->pending;
  if (only) mig.profiles = only->profiles;
  const bool slots = !only || only->slots;
  if (mig.profiles.empty()) {
    ReadProfiles(calls, gpu.memory, slots, mig, gpu.mig_error);
  } else if (slots) {
    for (model::GpuInstanceProfile& profile : mig.profiles) {
      profile.remaining.reset();
      if (mig.enabled)
        profile.remaining = calls.Get<unsigned>(calls.api().gi_remaining, profile.id.value());
    }
  }
  mig.memory_slices = CountMemorySlices(mig.profiles);
  if (mig.enabled) {
    mig.instances = InstanceReader(calls, mig.profiles, !slots, gpu.mig_error).Read();
  }
  gpu.mig = std::move(mig);
}

}  // namespace partita::hw::nvml
