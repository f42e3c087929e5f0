#include "service/device_plugin/sharing.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "service/device_plugin/device_id.h"
#include "service/device_plugin/mps_sharing.h"

namespace partita::service::device_plugin {
namespace {

// "config.yaml:7:5: ", or nothing where nobody knows.
std::string At(const config::Place& place) {
  if (place.file.empty()) return "";
  return fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

// "MIG-GPU-<uuid>/<gi>/<ci>", as drivers before 470 named MIG devices.
std::string OldName(const Candidate& candidate) {
  const ledger::MigDevice* mig = ledger::MigPart(candidate.device.device);
  if (mig == nullptr) return "";
  return fmt::format("MIG-{}/{}/{}", mig->gpu.uuid, *candidate.gpu_instance,
                     *candidate.compute_instance);
}

bool IsCalled(const Candidate& candidate, const std::string& reference) {
  const OfferedDevice& device = candidate.device;
  return reference == device.whole_id || reference == OldName(candidate) ||
         (!device.index.empty() && reference == device.index);
}

// What is made of each device of an entry: of equal shares one kind without a size.
struct ShareKind {
  std::string resource;
  std::string size;
  std::uint32_t replicas = 0;
};

std::vector<ShareKind> KindsOf(const config::SharedResource& entry) {
  if (entry.shares.empty()) return {{entry.SharesName(), "", entry.replicas}};
  std::vector<ShareKind> kinds;
  for (const config::ShareSize& size : entry.shares)
    kinds.push_back({entry.NameOf(size), size.name, size.replicas});
  return kinds;
}

class Claims {
 public:
  Claims(const std::vector<Candidate>& candidates, std::vector<std::string>& problems)
      : candidates_(candidates), problems_(problems), entries_(candidates.size(), nullptr) {
    for (const Candidate& each : candidates) ++counts_[each.resource];
  }

  void Claim(const config::SharedResource& entry) {
    entry_ = &entry;
    if (!counts_.contains(entry.name)) return TellNothing();
    switch (entry.devices.kind) {
      case config::SharedDevices::Kind::kAll: return ClaimAll();
      case config::SharedDevices::Kind::kCount: return ClaimLowest();
      case config::SharedDevices::Kind::kList: return ClaimList();
    }
  }

  // Shares that are called as other devices are, which no entry has taken.
  void TellMixed(const config::SharedResource& entry) {
    if (std::find(entries_.begin(), entries_.end(), &entry) == entries_.end()) return;
    entry_ = &entry;
    for (const ShareKind& kind : KindsOf(entry)) {
      if (kind.resource == entry.name || !IsOfWhole(kind.resource)) continue;
      Report(
          fmt::format("its shares are called {}, as are other devices of this node: a pod gets "
                      "either; choose another {}",
                      kind.resource, kind.size.empty() ? "\"rename\"" : "name of the size"));
    }
  }

  // Null: it is not shared.
  [[nodiscard]] const config::SharedResource* EntryOf(std::size_t candidate) const {
    return entries_[candidate];
  }

 private:
  // Devices that are not shared have this name.
  [[nodiscard]] bool IsOfWhole(const std::string& resource) const {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].resource == resource && entries_[i] == nullptr) return true;
    return false;
  }

  // Where nothing is there at all it may come; what is wrong then others tell.
  void TellNothing() {
    if (counts_.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, count] : counts_) names.push_back(name);
    Report(
        fmt::format("this node offers nothing under that name, so nothing is shared by it; there "
                    "is {}",
                    base::Join(names, ", ")));
  }

  void Report(std::string_view what) {
    problems_.push_back(fmt::format("{}sharing of {}: {}", At(entry_->place), entry_->name, what));
  }

  void ClaimAll() {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].resource == entry_->name) Take(i);
  }

  void ClaimLowest() {
    std::uint32_t left = entry_->devices.count;
    for (std::size_t i = 0; i < candidates_.size() && left > 0; ++i) {
      if (candidates_[i].resource != entry_->name || entries_[i] != nullptr) continue;
      Take(i);
      --left;
    }
    if (left == 0) return;
    Report(fmt::format("{} devices are to be shared and there are {}; those are shared",
                       entry_->devices.count, entry_->devices.count - left));
  }

  void ClaimList() {
    for (const std::string& reference : entry_->devices.list) {
      bool found = false;
      for (std::size_t i = 0; i < candidates_.size() && !found; ++i) {
        if (candidates_[i].resource != entry_->name || !IsCalled(candidates_[i], reference))
          continue;
        found = true;
        Take(i);
      }
      if (!found)
        Report(
            fmt::format("there is no device {} among those that this node offers under that "
                        "name; the others of the entry are shared",
                        base::Quoted(reference)));
    }
  }

  void Take(std::size_t candidate) {
    const config::SharedResource*& owner = entries_[candidate];
    if (owner == entry_) return;
    const std::string& id = candidates_[candidate].device.whole_id;
    if (owner != nullptr) {
      Report(
          fmt::format("device {} is shared by an earlier entry ({} replicas) already; it stays "
                      "with that one",
                      id, owner->replicas));
      return;
    }
    const std::vector<ShareKind> kinds = KindsOf(*entry_);
    for (const ShareKind& kind : kinds) {
      if (made_[kind.resource] + kind.replicas <= kMostDevices) continue;
      Report(
          fmt::format("device {} is not shared: {} replicas would make more than {} devices of "
                      "{}, which kubelet cannot take; set fewer replicas",
                      id, kind.replicas, kMostDevices, kind.resource));
      return;
    }
    for (const ShareKind& kind : kinds) made_[kind.resource] += kind.replicas;
    owner = entry_;
  }

  const std::vector<Candidate>& candidates_;
  std::vector<std::string>& problems_;
  std::vector<const config::SharedResource*> entries_;  // whose a candidate is
  std::map<std::string, std::size_t> counts_;           // candidates of a resource
  std::map<std::string, std::size_t> made_;             // shares of a resource
  const config::SharedResource* entry_ = nullptr;       // at hand
};

// `name`: of all shares of the device, whatever their size.
Candidate ShareOf(const Candidate& whole,
                  std::uint32_t n,
                  const ShareKind& kind,
                  const std::string& name,
                  std::optional<MpsShare> mps) {
  Candidate share = whole;
  share.resource = kind.resource;
  ledger::Share part{{}, n, mps ? MpsSharesOf(name) : TimeSlicesOf(name), kind.size};
  share.device.mps = std::move(mps);
  if (const auto* mig = std::get_if<ledger::MigDevice>(&whole.device.device)) {
    part.of = *mig;
  } else {
    part.of = std::get<ledger::WholeGpu>(whole.device.device);
  }
  share.device.id = fmt::format("{}::{}", whole.device.whole_id, ledger::NumberOf(part));
  share.device.device = std::move(part);
  return share;
}

bool IsOf(const std::optional<config::SharingSection>& section,
          const config::SharedResource* entry) {
  return section && !section->resources.empty() && entry >= &section->resources.front() &&
         entry <= &section->resources.back();
}

void ClaimAllOf(const std::optional<config::SharingSection>& section, Claims& claims) {
  if (!section) return;
  for (const config::SharedResource& entry : section->resources) claims.Claim(entry);
}

void TellMixedOf(const std::optional<config::SharingSection>& section, Claims& claims) {
  if (!section) return;
  for (const config::SharedResource& entry : section->resources) claims.TellMixed(entry);
}

}  // namespace

Sharing ShareDevices(const std::vector<Candidate>& candidates,
                     const config::PluginConfig& config,
                     const model::Inventory& inventory) {
  Sharing result;
  Claims claims(candidates, result.problems);
  ClaimAllOf(config.mps, claims);
  ClaimAllOf(config.time_slicing, claims);
  TellMixedOf(config.mps, claims);
  TellMixedOf(config.time_slicing, claims);
  MpsSharing mps(inventory, config);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const config::SharedResource* entry = claims.EntryOf(i);
    if (entry != nullptr && IsOf(config.mps, entry)) mps.Add(candidates[i].device.whole_id, *entry);
  }
  mps.Decide(result.problems);
  result.domains = mps.domains();
  result.domains_complete = mps.complete();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const config::SharedResource* entry = claims.EntryOf(i);
    if (entry == nullptr) {
      result.devices.push_back(candidates[i]);
      continue;
    }
    for (const ShareKind& kind : KindsOf(*entry)) {
      std::optional<MpsShare> share;
      if (IsOf(config.mps, entry)) {
        share = mps.ShareOf(candidates[i].device.whole_id, kind.size);
        if (!share) continue;
      }
      for (std::uint32_t n = 0; n < kind.replicas; ++n)
        result.devices.push_back(ShareOf(candidates[i], n, kind, entry->SharesName(), share));
    }
  }
  return result;
}

}  // namespace partita::service::device_plugin
