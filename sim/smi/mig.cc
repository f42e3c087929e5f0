#include "sim/smi/mig.h"

#include <algorithm>

#include "base/text.h"
#include "sim/smi/commands.h"
#include "sim/smi/options.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

bool IsAmong(std::span<const unsigned int> ids, unsigned int id) {
  return ids.empty() || std::find(ids.begin(), ids.end(), id) != ids.end();
}

// "0,2": nothing for what is no list of numbers.
std::optional<std::vector<unsigned int>> ParseIds(const std::optional<std::string>& text) {
  std::vector<unsigned int> ids;
  if (!text) return ids;
  for (const std::string_view word : base::Split(*text, ',')) {
    const std::optional<std::uint64_t> id = base::ParseUnsigned(base::Trim(word));
    if (!id || *id > 0xFFFF) {
      Say("{} is not a list of instance ids.\n", base::Quoted(*text));
      return std::nullopt;
    }
    ids.push_back(static_cast<unsigned int>(*id));
  }
  return ids;
}

constexpr OptionRow kMigRows[] = {
    {"-i", "--id", OptionRow::Takes::kValue},
    {"-gi", "--gpu-instance-id", OptionRow::Takes::kValue},
    {"-ci", "--compute-instance-id", OptionRow::Takes::kValue},
    {"-lgip", "--list-gpu-instance-profiles", OptionRow::Takes::kNothing},
    {"-lgipp", "--list-gpu-instance-possible-placements", OptionRow::Takes::kNothing},
    {"-lgi", "--list-gpu-instances", OptionRow::Takes::kNothing},
    {"-lci", "--list-compute-instances", OptionRow::Takes::kNothing},
    {"-lcip", "--list-compute-instance-profiles", OptionRow::Takes::kNothing},
    {"-cgi", "--create-gpu-instance", OptionRow::Takes::kValue},
    {"-C", "--default-compute-instance", OptionRow::Takes::kNothing},
    {"-cci", "--create-compute-instance", OptionRow::Takes::kOptionalValue},
    {"-dgi", "--destroy-gpu-instance", OptionRow::Takes::kNothing},
    {"-dci", "--destroy-compute-instance", OptionRow::Takes::kNothing},
};

struct Request {
  const Options& options;
  std::vector<Device> enabled;  // of the GPUs asked for, those with MIG on
  std::vector<unsigned int> gpu_instances, compute_instances;
};

std::optional<int> List(const Nvml& nvml, const Request& request) {
  const std::vector<Device>& devices = request.enabled;
  const bool lists =
      request.options.Has("-lgi") || request.options.Has("-lci") || request.options.Has("-lcip");
  if (lists && devices.empty()) {
    Say("No MIG-enabled devices found.\n");
    return 0;  // as captured, although nothing was listed
  }
  if (request.options.Has("-lgi")) return ListGpuInstances(nvml, devices);
  if (request.options.Has("-lci"))
    return ListComputeInstances(nvml, devices, request.gpu_instances);
  if (request.options.Has("-lcip"))
    return ListComputeInstanceProfiles(nvml, devices, request.gpu_instances);
  return std::nullopt;
}

int Change(const Nvml& nvml, const Request& request) {
  const std::vector<Device>& devices = request.enabled;
  const Options& options = request.options;
  if (devices.empty()) {
    Say("No MIG-enabled devices found.\n");
    return NVML_ERROR_NOT_FOUND;
  }
  if (options.Has("-dci"))
    return DestroyComputeInstances(nvml, devices, request.gpu_instances, request.compute_instances);
  if (options.Has("-dgi")) return DestroyGpuInstances(nvml, devices, request.gpu_instances);
  const bool for_gpu_instances = options.Has("-cgi");
  const std::optional<std::string> text = options.Get(for_gpu_instances ? "-cgi" : "-cci");
  std::vector<WantedProfile> wanted;
  if (text) {
    const std::optional<std::vector<WantedProfile>> parsed = ParseWanted(*text);
    if (!parsed) {
      Say("{} is not a list of profiles.\n", base::Quoted(*text));
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    wanted = *parsed;
  }
  if (for_gpu_instances) return CreateGpuInstances(nvml, devices, wanted, options.Has("-C"));
  return CreateComputeInstances(nvml, devices, request.gpu_instances, wanted);
}

}  // namespace

std::vector<GpuProfile> GpuProfilesOf(const Nvml& nvml, nvmlDevice_t device) {
  std::vector<GpuProfile> profiles;
  for (unsigned int constant = 0; constant < NVML_GPU_INSTANCE_PROFILE_COUNT; ++constant) {
    GpuProfile profile = {};
    profile.version = nvmlGpuInstanceProfileInfo_v2;
    if (nvml.nvmlDeviceGetGpuInstanceProfileInfoV(device, constant, &profile) == NVML_SUCCESS)
      profiles.push_back(profile);
  }
  std::stable_sort(profiles.begin(), profiles.end(), [](const GpuProfile& a, const GpuProfile& b) {
    return a.sliceCount < b.sliceCount;
  });
  return profiles;
}

std::vector<ComputeProfile> ComputeProfilesOf(const Nvml& nvml, nvmlGpuInstance_t instance) {
  std::vector<ComputeProfile> profiles;
  for (unsigned int constant = 0; constant < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++constant) {
    ComputeProfile profile = {};
    profile.version = nvmlComputeInstanceProfileInfo_v2;
    if (nvml.nvmlGpuInstanceGetComputeInstanceProfileInfoV(
            instance, constant, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, &profile) ==
        NVML_SUCCESS)
      profiles.push_back(profile);
  }
  std::stable_sort(
      profiles.begin(), profiles.end(),
      [](const ComputeProfile& a, const ComputeProfile& b) { return a.sliceCount < b.sliceCount; });
  return profiles;
}

std::vector<GpuInstance> GpuInstancesOf(const Nvml& nvml,
                                        nvmlDevice_t device,
                                        std::span<const unsigned int> ids) {
  std::vector<GpuInstance> instances;
  for (const GpuProfile& profile : GpuProfilesOf(nvml, device)) {
    std::vector<nvmlGpuInstance_t> handles(profile.instanceCount);
    unsigned int count = 0;
    if (nvml.nvmlDeviceGetGpuInstances(device, profile.id, handles.data(), &count) != NVML_SUCCESS)
      continue;
    const auto first = static_cast<std::ptrdiff_t>(instances.size());
    for (unsigned int i = 0; i < count && i < handles.size(); ++i) {
      GpuInstance instance{handles[i], profile, {}};
      if (nvml.nvmlGpuInstanceGetInfo(handles[i], &instance.info) == NVML_SUCCESS &&
          IsAmong(ids, instance.info.id))
        instances.push_back(instance);
    }
    std::sort(instances.begin() + first, instances.end(),
              [](const GpuInstance& a, const GpuInstance& b) { return a.info.id < b.info.id; });
  }
  return instances;
}

std::vector<ComputeInstance> ComputeInstancesOf(const Nvml& nvml,
                                                const GpuInstance& instance,
                                                std::span<const unsigned int> ids) {
  std::vector<ComputeInstance> instances;
  for (const ComputeProfile& profile : ComputeProfilesOf(nvml, instance.handle)) {
    std::vector<nvmlComputeInstance_t> handles(profile.instanceCount);
    unsigned int count = 0;
    if (nvml.nvmlGpuInstanceGetComputeInstances(instance.handle, profile.id, handles.data(),
                                                &count) != NVML_SUCCESS)
      continue;
    const auto first = static_cast<std::ptrdiff_t>(instances.size());
    for (unsigned int i = 0; i < count && i < handles.size(); ++i) {
      ComputeInstance found{handles[i], profile, {}};
      if (nvml.nvmlComputeInstanceGetInfo_v2(handles[i], &found.info) == NVML_SUCCESS &&
          IsAmong(ids, found.info.id))
        instances.push_back(found);
    }
    std::sort(
        instances.begin() + first, instances.end(),
        [](const ComputeInstance& a, const ComputeInstance& b) { return a.info.id < b.info.id; });
  }
  return instances;
}

const ComputeProfile* DefaultComputeProfile(const GpuProfile& gpu_profile,
                                            std::span<const ComputeProfile> profiles) {
  const ComputeProfile* best = nullptr;
  for (const ComputeProfile& profile : profiles) {
    if (profile.sliceCount != gpu_profile.sliceCount) continue;
    if (best == nullptr || profile.multiprocessorCount > best->multiprocessorCount) best = &profile;
  }
  return best;
}

std::optional<std::vector<WantedProfile>> ParseWanted(std::string_view text) {
  std::vector<WantedProfile> wanted;
  for (const std::string_view word : base::Split(text, ',')) {
    const std::string_view item = base::Trim(word);
    const std::size_t colon = item.find(':');
    WantedProfile profile{std::string(item), std::string(item.substr(0, colon)), std::nullopt};
    if (colon != std::string_view::npos) {
      const std::optional<std::uint64_t> start = base::ParseUnsigned(item.substr(colon + 1));
      if (!start || *start > 0xFFFF) return std::nullopt;
      profile.start = static_cast<unsigned int>(*start);
    }
    if (profile.profile.empty()) return std::nullopt;
    wanted.push_back(std::move(profile));
  }
  return wanted;
}

std::string_view ShortName(std::string_view name) {
  return base::WithoutPrefix(name, "MIG ").value_or(name);
}

bool IsCalled(std::string_view wanted, unsigned int id, std::string_view name) {
  return wanted == std::to_string(id) || wanted == name || wanted == ShortName(name);
}

int RunMig(const Nvml& nvml, std::span<const std::string> words) {
  const std::optional<Options> options = Options::Parse(kMigRows, words);
  if (!options) return NVML_ERROR_INVALID_ARGUMENT;
  const auto gpu_instances = ParseIds(options->Get("-gi"));
  const auto compute_instances = ParseIds(options->Get("-ci"));
  if (!gpu_instances || !compute_instances) return NVML_ERROR_INVALID_ARGUMENT;
  int status = 0;
  const std::optional<std::vector<Device>> devices =
      SelectDevices(nvml, options->Get("-i"), &status);
  if (!devices) return status;
  if (options->Has("-lgip")) return ListGpuInstanceProfiles(nvml, *devices);
  if (options->Has("-lgipp")) return ListPlacements(nvml, *devices);

  Request request{*options, {}, *gpu_instances, *compute_instances};
  for (const Device& device : *devices) {
    const std::optional<MigMode> mig = AskMigMode(nvml, device.handle);
    if (mig && mig->enabled) request.enabled.push_back(device);
  }
  if (const std::optional<int> listed = List(nvml, request)) return *listed;
  for (const char* change : {"-cgi", "-cci", "-dgi", "-dci"}) {
    if (options->Has(change)) return Change(nvml, request);
  }
  return UsageError("mig", "needs something to do, such as -lgip, -lgi, -cgi or -dgi.");
}

}  // namespace partita::sim::smi
