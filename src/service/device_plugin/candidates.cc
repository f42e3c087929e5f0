#include "service/device_plugin/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/gpu_select.h"
#include "model/profile_name.h"
#include "model/unread.h"
#include "service/device_plugin/device_id.h"
#include "service/device_plugin/gpu_order.h"

namespace partita::service::device_plugin {
namespace {

constexpr std::string_view kWholeGpus = "nvidia.com/gpu";

// The board that drives a DGX Station's screens. NVIDIA's plugin leaves it out by these names.
bool IsDisplay(const model::Gpu& gpu) {
  return gpu.name == "DGX Display" || gpu.name == "NVIDIA DGX Display";
}

// Why no work can be sent to a GPU at all. What else is wrong with it is for the health policy.
const model::Fault* WhyUnusable(const model::Gpu& gpu) {
  for (const model::Fault& fault : gpu.faults) {
    switch (fault.kind) {
      case model::FaultKind::kLost:
      case model::FaultKind::kResetRequired:
      case model::FaultKind::kHung:
      case model::FaultKind::kMissing:
      case model::FaultKind::kUnreadable: return &fault;
      case model::FaultKind::kRecoveryAction:
      case model::FaultKind::kMemoryErrors:
      case model::FaultKind::kRemapPending:
      case model::FaultKind::kRemapFailed: break;
    }
  }
  return nullptr;
}

const std::string* PatternName(const std::vector<config::ResourcePattern>& patterns,
                               std::string_view text) {
  for (const config::ResourcePattern& pattern : patterns)
    if (pattern.Matches(text)) return &pattern.name;
  return nullptr;
}

void MakeUnhealthy(OfferedDevice& device, std::string why) {
  if (!device.healthy) return;
  device.healthy = false;
  device.why = std::move(why);
}

std::string CapabilityNode(model::CapabilityMinor minor) {
  return fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor);
}

// Collects the candidates of one node, GPU by GPU.
class Search {
 public:
  Search(const model::Inventory& inventory,
         const config::PluginConfig& config,
         const model::NodeHealth& health,
         const ledger::State& ledger)
      : config_(config), health_(health), ledger_(ledger) {
    for (const model::VfioGpu& gpu : inventory.vfio) vfio_.insert(gpu.pci);
  }

  void Add(const OrderedGpu& ordered) {
    const model::Gpu& gpu = *ordered.gpu;
    name_ = ordered.index ? fmt::format("GPU {}", *ordered.index) : gpu.pci.ToString();
    if (vfio_.contains(gpu.pci) || IsDisplay(gpu)) return;
    if (!gpu.uuid) {
      Report("its UUID is not known, so it cannot be offered; see `partita status`");
      return;
    }
    const bool sliced = gpu.mig && gpu.mig->enabled;
    if (sliced && config_.mig_strategy != config::MigStrategy::kNone) {
      AddSlices(ordered);
    } else {
      AddWhole(ordered, sliced);
    }
  }

  Candidates Done() && { return std::move(found_); }

 private:
  void Report(std::string_view what) {
    found_.problems.push_back(fmt::format("{}: {}", name_, what));
  }

  [[nodiscard]] OfferedDevice DeviceOn(const OrderedGpu& ordered) const {
    const model::Gpu& gpu = *ordered.gpu;
    OfferedDevice device;
    device.gpu = gpu.pci;
    device.numa_node = gpu.numa_node;
    if (ordered.index) device.index = fmt::format("{}", *ordered.index);
    if (gpu.minor) device.nodes.push_back(fmt::format("/dev/nvidia{}", *gpu.minor));
    if (const model::Fault* fault = WhyUnusable(gpu)) MakeUnhealthy(device, fault->text);
    if (!gpu.minor) MakeUnhealthy(device, "the number of its device node is not known");
    return device;
  }

  void AskHealth(Candidate& candidate, const model::GpuUuid& gpu) const {
    if (health_.Usable(gpu, candidate.gpu_instance, candidate.compute_instance)) return;
    MakeUnhealthy(candidate.device,
                  health_.Worst(gpu, candidate.gpu_instance, candidate.compute_instance)->text);
  }

  void AddWhole(const OrderedGpu& ordered, bool sliced) {
    const model::Gpu& gpu = *ordered.gpu;
    Candidate candidate;
    const std::string* named = PatternName(config_.gpu_names, gpu.name);
    candidate.resource = named != nullptr ? *named : std::string(kWholeGpus);
    candidate.device = DeviceOn(ordered);
    candidate.device.id = candidate.device.whole_id = gpu.uuid->value();
    candidate.device.device = WholeOf(gpu);
    AskHealth(candidate, *gpu.uuid);
    if (sliced && !config_.offer_mig_parents) {
      const std::string_view why =
          "MIG is enabled on it, and programs cannot use such a GPU as a whole: set migStrategy to "
          "single or mixed, or disable MIG";
      Report(fmt::format("{}; it is listed as unhealthy", why));
      MakeUnhealthy(candidate.device, std::string(why));
    }
    // Not knowing whether it is sliced is no reason to hand it out whole.
    const std::optional<base::Error> unknown = model::WhyMigUnknown(gpu);
    candidate.known = gpu.mig || !unknown;
    if (!candidate.known) MakeUnhealthy(candidate.device, unknown->ToString());
    found_.devices.push_back(std::move(candidate));
  }

  void AddSlices(const OrderedGpu& ordered) {
    using Slice = std::pair<const model::GpuInstance*, const model::ComputeInstance*>;
    std::vector<Slice> slices;
    for (const model::GpuInstance& instance : ordered.gpu->mig->instances) {
      if (IsForeign(*ordered.gpu, instance)) continue;
      for (const model::ComputeInstance& compute : instance.compute_instances)
        slices.emplace_back(&instance, &compute);
    }
    // A slot that is not known comes last; ids keep the order whole.
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.second->slot.value_or(UINT32_MAX) < b.second->slot.value_or(UINT32_MAX);
    });
    if (slices.empty())
      Report(
          "MIG is enabled and it has no MIG devices to offer; make some with `partita mig "
          "apply`, or disable MIG");
    for (const auto& [instance, compute] : slices) AddSlice(ordered, *instance, *compute);
  }

  bool IsForeign(const model::Gpu& gpu, const model::GpuInstance& instance) {
    const auto seen = ledger_.instances.find(
        ledger::KeyOf(model::InstanceKey{*gpu.uuid, instance.profile, instance.placement.start}));
    if (seen == ledger_.instances.end() || !seen->second.foreign) return false;
    Report(fmt::format(
        "GPU instance {} ({}) is not part of the node's layout and is not offered; remove it, or "
        "make it part of the layout",
        instance.id, instance.profile_name));
    return true;
  }

  void AddSlice(const OrderedGpu& ordered,
                const model::GpuInstance& instance,
                const model::ComputeInstance& compute) {
    const model::Gpu& gpu = *ordered.gpu;
    Candidate candidate;
    candidate.gpu_instance = instance.id;
    candidate.compute_instance = compute.id;
    if (compute.uuid.value().empty()) {
      Report(fmt::format("MIG device {} ({}) has no UUID and cannot be offered", compute.id,
                         compute.name));
      return;
    }
    std::optional<std::string> resource = SliceResource(compute);
    if (!resource) return;
    candidate.resource = *std::move(resource);
    // The same profile of another product has other multiprocessors under the same name.
    candidate.kind = fmt::format("{} with {} SMs", compute.name, compute.multiprocessors);
    OfferedDevice& device = candidate.device = DeviceOn(ordered);
    device.mig = true;
    device.id = device.whole_id = compute.uuid.value();
    device.index = compute.slot && !device.index.empty()
                       ? fmt::format("{}:{}", device.index, *compute.slot)
                       : std::string();
    device.device = SliceOf(gpu, instance, compute);
    if (instance.access) device.nodes.push_back(CapabilityNode(*instance.access));
    if (compute.access) device.nodes.push_back(CapabilityNode(*compute.access));
    // Without both, a container would get the bare GPU, which is more than it was given.
    if (!instance.access || !compute.access)
      MakeUnhealthy(device, "the numbers of its capability nodes are not known");
    AskHealth(candidate, *gpu.uuid);
    found_.devices.push_back(std::move(candidate));
  }

  std::optional<std::string> SliceResource(const model::ComputeInstance& compute) {
    if (const std::string* named = PatternName(config_.mig_names, compute.name)) return *named;
    if (config_.mig_strategy == config::MigStrategy::kSingle) return std::string(kWholeGpus);
    const base::Result<model::ProfileName> name = model::ProfileName::Parse(compute.name);
    if (!name.ok()) {
      Report(
          fmt::format("MIG device {} is not offered: {}", compute.uuid, name.error().ToString()));
      return std::nullopt;
    }
    if (name->compute_slices != name->gpu_slices) {
      Report(fmt::format(
          "MIG device {} is a {}, a part of a GPU instance, for which there is no resource; it is "
          "not offered",
          compute.uuid, compute.name));
      return std::nullopt;
    }
    return fmt::format("nvidia.com/mig-{}", name->ToLabel());
  }

  const config::PluginConfig& config_;
  const model::NodeHealth& health_;
  const ledger::State& ledger_;
  std::set<model::PciAddress> vfio_;
  std::string name_;  // of the GPU at hand, for reports
  Candidates found_;
};

bool IsOffered(const model::Gpu& gpu,
               const std::vector<config::OfferRule>& rules,
               bool offered_by_default) {
  for (const config::OfferRule& rule : rules)
    if (model::Matches(rule.select, gpu)) return rule.offered;
  return offered_by_default;
}

bool IsOffered(const OrderedGpu& ordered,
               const std::vector<config::OfferRule>& rules,
               bool offered_by_default) {
  if (ordered.index == ordered.gpu->index)
    return IsOffered(*ordered.gpu, rules, offered_by_default);
  model::Gpu gpu = *ordered.gpu;
  gpu.index = ordered.index;
  return IsOffered(gpu, rules, offered_by_default);
}

// Of one resource: how many GPUs are whole and how many are sliced, and how many slices there are
// of each kind. Whoever came first is at the front of `kinds`.
struct Vote {
  std::set<ledger::Board> whole, sliced;
  bool whole_first = true;
  std::vector<std::pair<std::string, std::size_t>> kinds;

  void Count(const Candidate& candidate) {
    const OfferedDevice& device = candidate.device;
    if (whole.empty() && sliced.empty()) whole_first = !device.mig;
    (device.mig ? sliced : whole).insert(ledger::BoardOf(device.device));
    if (!device.mig) return;
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.first == candidate.kind; });
    if (found != kinds.end()) {
      ++found->second;
    } else {
      kinds.emplace_back(candidate.kind, 1);
    }
  }

  // Empty: whole GPUs.
  [[nodiscard]] std::string Winner() const {
    const bool whole_wins =
        whole.size() == sliced.size() ? whole_first : whole.size() > sliced.size();
    if (whole_wins) return "";
    const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(kinds.begin(), kinds.end(), more)->first;
  }
};

}  // namespace

Candidates FindCandidates(const model::Inventory& inventory,
                          const config::PluginConfig& config,
                          const std::vector<config::OfferRule>& rules,
                          bool offered_by_default,
                          const model::NodeHealth& health,
                          const ledger::State& ledger) {
  Search search(inventory, config, health, ledger);
  for (const OrderedGpu& gpu : InOrder(inventory))
    if (IsOffered(gpu, rules, offered_by_default)) search.Add(gpu);
  return std::move(search).Done();
}

void KeepOneKind(Candidates& candidates) {
  std::map<std::string, Vote> votes;
  for (const Candidate& each : candidates.devices)
    if (each.known) votes[each.resource].Count(each);
  std::map<std::string, std::string> winners;
  for (const auto& [resource, vote] : votes) winners[resource] = vote.Winner();
  std::vector<Candidate> kept;
  for (Candidate& each : candidates.devices) {
    const auto winner = winners.find(each.resource);
    if (winner == winners.end() || winner->second == each.kind || !each.known) {
      kept.push_back(std::move(each));
      continue;
    }
    candidates.problems.push_back(fmt::format(
        "{} ({}) is not offered: with migStrategy single all devices of {} are alike, and the "
        "others are {}; use migStrategy mixed",
        each.device.whole_id, each.device.mig ? each.kind : "a whole GPU", each.resource,
        winner->second.empty() ? "whole GPUs" : winner->second));
  }
  candidates.devices = std::move(kept);
}

}  // namespace partita::service::device_plugin
