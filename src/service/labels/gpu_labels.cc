#include "service/labels/gpu_labels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::labels {
namespace {

constexpr std::string_view kWholeGpus = "nvidia.com/gpu";

// The board that drives a DGX Station's screens. NVIDIA's programs leave it out by these names.
bool IsStationDisplay(const model::Gpu& gpu) {
  return gpu.name == "DGX Display" || gpu.name == "NVIDIA DGX Display";
}

bool HasMigOn(const model::Gpu& gpu) { return gpu.mig && gpu.mig->enabled; }

// A lost one is listed and tells nothing.
bool Answers(const model::Gpu& gpu) { return gpu.memory && gpu.compute_major; }

std::string SourceOn(const model::Gpu& gpu, std::string_view what) {
  return fmt::format("{} of GPU {}", what, *gpu.index);
}

struct MigDevice {
  const model::Gpu* gpu;
  const model::GpuInstance* instance;
  const model::ComputeInstance* compute;
};

// By slot, as the driver lists them.
std::vector<MigDevice> MigDevicesOf(const model::Gpu& gpu) {
  std::vector<MigDevice> devices;
  if (!HasMigOn(gpu)) return devices;
  for (const model::GpuInstance& instance : gpu.mig->instances)
    for (const model::ComputeInstance& compute : instance.compute_instances)
      if (!compute.uuid.value().empty()) devices.push_back({&gpu, &instance, &compute});
  std::stable_sort(devices.begin(), devices.end(), [](const MigDevice& a, const MigDevice& b) {
    return a.compute->slot < b.compute->slot;
  });
  return devices;
}

// "1g.5gb.me": a plus may not be in a label.
std::string ProfileLabel(const MigDevice& device) {
  std::string name = device.compute->name;
  std::replace(name.begin(), name.end(), '+', '.');
  return name;
}

// How many get a device at once, and who says so.
struct Sharing {
  std::uint32_t replicas = 1;
  std::string_view strategy = "none";
  bool renamed = false;
  std::string source = "no sharing is configured for it";
  [[nodiscard]] bool shared() const { return replicas > 1; }
};

Sharing SharingOf(const config::PluginConfig& config, std::string_view resource) {
  const auto by = [&](const std::optional<config::SharingSection>& section,
                      std::string_view strategy, std::string_view key) -> std::optional<Sharing> {
    if (!section) return std::nullopt;
    const auto& all = section->resources;
    const auto found =
        std::find_if(all.begin(), all.end(),
                     [&](const config::SharedResource& each) { return each.name == resource; });
    if (found == all.end()) return std::nullopt;
    const bool sized = !found->shares.empty();
    if (found->replicas < 2 && !sized) return std::nullopt;
    // Sizes are never called as the devices are.
    return Sharing{found->replicas, strategy, sized || found->rename.has_value(),
                   fmt::format("{} of {} in the configuration", key, resource)};
  };
  if (auto mps = by(config.mps, "mps", "sharing.mps")) return *std::move(mps);
  return by(config.time_slicing, "time-slicing", "sharing.timeSlicing").value_or(Sharing());
}

// MIG is on, so that nobody gets the GPU as a whole.
Sharing NotOffered() { return {0, "none", false, "MIG is on: it is not offered as a whole"}; }

std::string ResourceOf(const std::vector<config::ResourcePattern>& patterns,
                       std::string_view text,
                       std::string otherwise) {
  for (const config::ResourcePattern& pattern : patterns)
    if (pattern.Matches(text)) return pattern.name;
  return otherwise;
}

// What is said of every kind of resource: `prefix` is "nvidia.com/gpu" or "nvidia.com/mig-1g.5gb".
struct Base {
  std::string prefix;
  std::string product;  // without what sharing adds
  std::size_t count;
  std::string count_source;
  std::string product_source;
};

void SetBase(const Base& base, const Sharing& sharing, LabelSet& labels) {
  const bool says_shared = sharing.shared() && !sharing.renamed;
  labels.Set(base.prefix + ".product", base.product + (says_shared ? "-SHARED" : ""),
             base.product_source);
  labels.Set(base.prefix + ".count", base.count, base.count_source);
  labels.Set(base.prefix + ".replicas", sharing.replicas, sharing.source);
  labels.Set(base.prefix + ".sharing-strategy", sharing.strategy, sharing.source);
}

std::string_view FamilyOf(int major, int minor) {
  switch (major) {
    case 1: return "tesla";
    case 2: return "fermi";
    case 3: return "kepler";
    case 5: return "maxwell";
    case 6: return "pascal";
    case 7: return minor < 5 ? "volta" : "turing";
    case 8: return minor < 9 ? "ampere" : "ada-lovelace";
    case 9: return "hopper";
    case 10:
    case 11:  // some integrated parts
    case 12: return "blackwell";
    case 13: return "rubin";
    default: return "undefined";
  }
}

void SetArchitecture(const model::Gpu& gpu, LabelSet& labels) {
  if (gpu.compute_major.value_or(0) == 0) return;
  const int minor = gpu.compute_minor.value_or(0);
  const std::string source = SourceOn(gpu, "compute capability");
  labels.SetNvidia("gpu.family", FamilyOf(*gpu.compute_major, minor), source);
  labels.SetNvidia("gpu.compute.major", *gpu.compute_major, source);
  labels.SetNvidia("gpu.compute.minor", minor, source);
}

// One model of several is described, the same at every look: whole GPUs before those that MIG
// divides, then the model with most GPUs, then the lowest index.
const ProductGroup& Primary(const std::vector<ProductGroup>& groups) {
  const auto has_whole = [](const ProductGroup& group) {
    return !std::all_of(group.gpus.begin(), group.gpus.end(),
                        [](const model::Gpu* gpu) { return HasMigOn(*gpu); });
  };
  return *std::max_element(
      groups.begin(), groups.end(), [&](const ProductGroup& a, const ProductGroup& b) {
        return std::pair(has_whole(a), a.gpus.size()) < std::pair(has_whole(b), b.gpus.size());
      });
}

void SetWholeGpus(const std::vector<ProductGroup>& groups,
                  const config::PluginConfig& config,
                  LabelSet& labels) {
  const ProductGroup& group = Primary(groups);
  const model::Gpu& gpu = Representative(group);
  const std::string several =
      groups.size() < 2 ? "" : fmt::format("; one of {} products", groups.size());
  SetBase({.prefix = std::string(kWholeGpus),
           .product = Sanitised(group.name),
           .count = group.gpus.size(),
           .count_source = "GPUs of this product" + several,
           .product_source = SourceOn(gpu, "name") + several},
          HasMigOn(gpu) ? NotOffered()
                        : SharingOf(config, ResourceOf(config.gpu_names, group.name,
                                                       std::string(kWholeGpus))),
          labels);
  const std::uint64_t mebibytes = gpu.memory ? gpu.memory->total.value() >> 20U : 0;
  if (mebibytes != 0) labels.SetNvidia("gpu.memory", mebibytes, SourceOn(gpu, "memory, in MiB,"));
  SetArchitecture(gpu, labels);
}

void SetAttributes(const std::string& prefix, const MigDevice& device, LabelSet& labels) {
  const auto& profiles = device.gpu->mig->profiles;
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const auto& profile) {
    return profile.id == device.instance->profile;
  });
  if (found == profiles.end()) return;
  const std::string source = SourceOn(*device.gpu, fmt::format("profile {}", found->name));
  const std::pair<std::string_view, std::uint64_t> attributes[] = {
      {".memory", found->memory.value()},     {".multiprocessors", device.compute->multiprocessors},
      {".slices.gi", found->slice_count},     {".slices.ci", device.compute->slice_count},
      {".engines.copy", found->copy_engines}, {".engines.decoder", found->decoders},
      {".engines.encoder", found->encoders},  {".engines.jpeg", found->jpegs},
      {".engines.ofa", found->ofas},
  };
  for (const auto& [name, value] : attributes)
    labels.Set(std::string(prefix).append(name), value, source);
}

// MIG devices of one profile, wherever they are.
void SetMigDevices(const std::string& prefix,
                   const std::vector<MigDevice>& devices,
                   const config::PluginConfig& config,
                   LabelSet& labels) {
  const MigDevice& first = devices.front();
  const std::string profile = ProfileLabel(first);
  SetBase({.prefix = prefix,
           .product = fmt::format("{}-MIG-{}", Sanitised(first.gpu->name), Sanitised(profile)),
           .count = devices.size(),
           .count_source = "MIG devices of this profile",
           .product_source = SourceOn(*first.gpu, "name and MIG profile")},
          SharingOf(config, ResourceOf(config.mig_names, first.compute->name, prefix)), labels);
  SetAttributes(prefix, first, labels);
}

std::map<std::string, std::vector<MigDevice>> MigDevicesByProfile(
    const std::vector<const model::Gpu*>& gpus) {
  std::map<std::string, std::vector<MigDevice>> found;
  for (const model::Gpu* gpu : gpus)
    for (const MigDevice& device : MigDevicesOf(*gpu))
      found[ProfileLabel(device)].push_back(device);
  return found;
}

// Why the strategy "single" cannot describe these GPUs; nothing when it can.
std::optional<std::string> WhyNotSingle(const std::vector<const model::Gpu*>& gpus,
                                        std::size_t profiles) {
  for (const model::Gpu* gpu : gpus)
    if (HasMigOn(*gpu) && MigDevicesOf(*gpu).empty())
      return fmt::format("GPU {} has MIG on and no MIG device", *gpu->index);
  for (const model::Gpu* gpu : gpus)
    if (Answers(*gpu) && !HasMigOn(*gpu))
      return fmt::format("GPU {} has MIG off, others have it on", *gpu->index);
  if (profiles != 1) return fmt::format("there are MIG devices of {} profiles", profiles);
  return std::nullopt;
}

void SetInvalid(const model::Gpu& gpu, const std::string& why, LabelSet& labels) {
  labels.Warn(fmt::format("the MIG strategy single does not fit this node: {}", why));
  const std::string source = "MIG strategy single does not fit: " + why;
  labels.SetNvidia("gpu.product", Sanitised(gpu.name) + "-MIG-INVALID", source);
  labels.SetNvidia("gpu.count", 0, source);
  labels.SetNvidia("gpu.replicas", 0, source);
  labels.SetNvidia("gpu.sharing-strategy", "", source);
  labels.SetNvidia("gpu.memory", 0, source);
}

void SetSingle(const std::vector<const model::Gpu*>& gpus,
               const config::PluginConfig& config,
               LabelSet& labels) {
  const auto divided =
      std::find_if(gpus.begin(), gpus.end(), [](const model::Gpu* gpu) { return HasMigOn(*gpu); });
  if (divided == gpus.end()) return;
  const auto profiles = MigDevicesByProfile(gpus);
  if (const std::optional<std::string> why = WhyNotSingle(gpus, profiles.size()))
    SetInvalid(**divided, *why, labels);
  else
    SetMigDevices(std::string(kWholeGpus), profiles.begin()->second, config, labels);
}

}  // namespace

std::vector<const model::Gpu*> ListedGpus(const model::Inventory& inventory) {
  std::vector<const model::Gpu*> listed;
  if (!inventory.driver) return listed;
  for (const model::Gpu& gpu : inventory.gpus) {
    const bool missing = std::any_of(gpu.faults.begin(), gpu.faults.end(), [](const auto& fault) {
      return fault.kind == model::FaultKind::kMissing;
    });
    if (gpu.index && !missing && !gpu.name.empty() && !IsStationDisplay(gpu))
      listed.push_back(&gpu);
  }
  return listed;
}

std::vector<ProductGroup> GroupByProduct(const std::vector<const model::Gpu*>& gpus) {
  std::vector<ProductGroup> groups;
  for (const model::Gpu* gpu : gpus) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const ProductGroup& group) {
      return group.name == gpu->name;
    });
    if (known == groups.end())
      groups.push_back({gpu->name, {gpu}});
    else
      known->gpus.push_back(gpu);
  }
  return groups;
}

const model::Gpu& Representative(const ProductGroup& group) {
  const auto rank = [](const model::Gpu* gpu) { return std::pair(Answers(*gpu), !HasMigOn(*gpu)); };
  return **std::max_element(
      group.gpus.rbegin(), group.gpus.rend(),
      [&](const model::Gpu* a, const model::Gpu* b) { return rank(a) < rank(b); });
}

void SetResourceLabels(const std::vector<const model::Gpu*>& gpus,
                       const config::PluginConfig& config,
                       LabelSet& labels) {
  for (const model::Gpu* gpu : gpus)
    if (!Answers(*gpu))
      labels.Warn(
          fmt::format("GPU {} does not answer: it is counted, and labels say what the others say",
                      *gpu->index));
  SetWholeGpus(GroupByProduct(gpus), config, labels);
  if (config.mig_strategy == config::MigStrategy::kNone) return;
  labels.SetNvidia("mig.strategy", config::ToString(config.mig_strategy),
                   "flags.migStrategy of the configuration");
  if (config.mig_strategy == config::MigStrategy::kSingle) {
    SetSingle(gpus, config, labels);
    return;
  }
  for (const auto& [profile, devices] : MigDevicesByProfile(gpus))
    SetMigDevices("nvidia.com/mig-" + Sanitised(profile), devices, config, labels);
}

}  // namespace partita::service::labels
