#include "service/device_plugin/pods.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "service/device_plugin/device_id.h"
#include "service/device_plugin/processes.h"

namespace partita::service::device_plugin {
namespace {

using Key = std::pair<std::string, std::string>;

// All our names begin so. Who else uses them for GPUs by their UUIDs gives away the same ones;
// under any other name somebody else registers, and nothing of ours may be listed there.
constexpr std::string_view kOurNames = "nvidia.com/";

// Of ids that nobody knows, which may come back as somebody's: no node has as many devices.
constexpr std::size_t kMostRemembered = 50'000;

struct Claimant {
  ledger::Pod pod;
  std::string id;
  ledger::Time first;  // when it was first listed with it
};

std::string NameOf(const ledger::Pod& pod) {
  return fmt::format("{}/{}/{}/{}", pod.pod_namespace, pod.name, pod.container, pod.resource);
}

// kubelet gives the names of static pods its node's as their end; all others are the API server's.
bool IsStatic(std::string_view pod, std::string_view node) {
  return !node.empty() && pod.size() > node.size() && pod.ends_with(node) &&
         pod[pod.size() - node.size() - 1] == '-';
}

class Reading {
 public:
  Reading(const ledger::State& state,
          const PodMemory& memory,
          const PodNode& node,
          ledger::Time now)
      : state_(state), memory_(memory), node_(node), now_(now), named_(node.inventory) {
    result_.memory.complete = memory.complete;
    for (const OfferedResource& resource : node.offered.resources) {
      ours_.insert(resource.name);
      for (const OfferedDevice& device : resource.devices)
        offered_.try_emplace(device.id, &device.device);
    }
    for (const auto& [key, hold] : state.holds) {
      const auto* pod = std::get_if<ledger::Pod>(&hold.owner);
      if (pod == nullptr) continue;
      ours_.insert(pod->resource);
      holds_[IdOf(hold.device)].push_back(&hold);
    }
  }

  void Read(const PodList& pods) {
    if (std::any_of(pods.names.begin(), pods.names.end(),
                    [&](const std::string& pod) { return !IsStatic(pod, node_.name); }))
      result_.memory.complete = true;
    std::map<std::string, std::vector<Claimant>> claimants;
    for (const PodDevices& pod : pods.devices) {
      for (const std::string& id : pod.ids)
        if (IsOurs(pod.resource, id)) claimants[id].push_back(Listed(pod, id));
    }
    for (auto& [id, all] : claimants) {
      Bind(id, all);
      if (result_.unknown_count <= kMostRemembered || DeviceOf(all.front())) continue;
      for (const Claimant& each : all) result_.memory.listed.erase(Key(id, NameOf(each.pod)));
    }
  }

  void EndAbsent() {
    for (const auto& [key, hold] : state_.holds) {
      if (hold.seen && IsDoubtful(key, hold)) result_.memory.doubtful.emplace(key, hold.since);
      if (!std::holds_alternative<ledger::Pod>(hold.owner) || present_.contains(key)) continue;
      if (MayEnd(key, hold)) result_.release.push_back({hold.device, hold.owner});
    }
  }

  Reconciled Done() && {
    const bool waits = std::any_of(state_.offers.begin(), state_.offers.end(),
                                   [](const auto& row) { return row.second.next.has_value(); }) ||
                       std::any_of(state_.plans.begin(), state_.plans.end(),
                                   [](const auto& row) { return !row.second.ended; }) ||
                       std::any_of(state_.holds.begin(), state_.holds.end(),
                                   [](const auto& row) { return !row.second.seen; });
    result_.read_again_in =
        waits || !result_.memory.absent.empty() || !result_.bind.empty() ? kReadSoon : kReadIdle;
    return std::move(result_);
  }

 private:
  // Also where nothing is offered under that name: not yet, not any more, or by another plugin.
  [[nodiscard]] bool IsOurs(const std::string& resource, const std::string& id) const {
    return ours_.contains(resource) ||
           (resource.starts_with(kOurNames) && named_.Find(id, resource));
  }

  Claimant Listed(const PodDevices& pod, const std::string& id) {
    Claimant claimant{{pod.pod_namespace, pod.pod, pod.container, pod.resource}, id, now_};
    const Key key(id, NameOf(claimant.pod));
    const auto before = memory_.listed.find(key);
    // A clock that was set back: then nobody was listed before anything.
    if (before != memory_.listed.end() && before->second <= now_) claimant.first = before->second;
    result_.memory.listed.emplace(key, claimant.first);
    return claimant;
  }

  // What this container was given. The place of a MIG device that it holds already counts before
  // that of whatever has the same UUID now.
  std::optional<ledger::Device> DeviceOf(const Claimant& claimant) const {
    const auto held = holds_.find(claimant.id);
    if (held != holds_.end()) {
      for (const ledger::Hold* hold : held->second)
        if (hold->owner == ledger::Owner(claimant.pod)) return hold->device;
    }
    const auto offered = offered_.find(claimant.id);
    if (offered != offered_.end()) return *offered->second;
    if (held != holds_.end()) return held->second.front()->device;
    return named_.Find(claimant.id, claimant.pod.resource);
  }

  // Of several containers with one device the newest has it; those that finished are listed on.
  void Bind(const std::string& id, std::vector<Claimant>& all) {
    std::sort(all.begin(), all.end(), [](const Claimant& a, const Claimant& b) {
      return std::tuple(b.first, NameOf(a.pod)) < std::tuple(a.first, NameOf(b.pod));
    });
    for (const Claimant& claimant : all) {
      const std::optional<ledger::Device> device = DeviceOf(claimant);
      if (!device) {
        if (result_.unknown_count++ < kMostUnknown) result_.unknown.push_back(id);
        return;
      }
      const std::string key = ledger::KeyOf(*device);
      const auto hold = state_.holds.find(key);
      const bool held = hold != state_.holds.end();
      // To kubelet it is another device: whoever has it does not replace the holder, nor keep it.
      if (held && HasAnotherName(hold->second, claimant)) continue;
      // It is listed, so its end is not near, whoever of them it is.
      present_.insert(key);
      if (held && hold->second.owner == ledger::Owner(claimant.pod) && hold->second.seen) return;
      // Given out anew after this container was first listed with it.
      const bool old = held && !hold->second.seen && claimant.first < hold->second.since;
      if (old && now_ <= hold->second.since + kYoung) continue;
      if (old) result_.memory.doubtful.emplace(key, hold->second.since);
      // The one that has it is listed as long as the newcomer: nothing says that it lost it.
      if (held && hold->second.seen && SeenAsLong(hold->second, all, claimant)) return;
      result_.bind.push_back({*device, claimant.pod});
      return;
    }
  }

  static bool HasAnotherName(const ledger::Hold& hold, const Claimant& claimant) {
    const auto* pod = std::get_if<ledger::Pod>(&hold.owner);
    return pod != nullptr && pod->resource != claimant.pod.resource;
  }

  static bool SeenAsLong(const ledger::Hold& hold,
                         const std::vector<Claimant>& all,
                         const Claimant& newest) {
    return std::any_of(all.begin(), all.end(), [&](const Claimant& one) {
      return hold.owner == ledger::Owner(one.pod) && one.first >= newest.first;
    });
  }

  [[nodiscard]] bool IsDoubtful(const std::string& key, const ledger::Hold& hold) const {
    const auto given = memory_.doubtful.find(key);
    return given != memory_.doubtful.end() && given->second == hold.since;
  }

  bool MayEnd(const std::string& key, const ledger::Hold& hold) {
    PodMemory::Absence absence{hold.since, now_};
    const auto before = memory_.absent.find(key);
    // A list that might have lacked any pod said nothing of absence.
    if (memory_.complete && before != memory_.absent.end() && before->second.given == hold.since &&
        before->second.since <= now_)
      absence = before->second;
    result_.memory.absent.emplace(key, absence);
    if (now_ < absence.since + kAbsentFor) return false;
    if (hold.seen && !IsDoubtful(key, hold))
      return now_ > hold.since + kYoung && !MayBeUsedBy(hold, node_.inventory);
    return now_ > hold.since + kUnseenKept && !MayBeInUse(hold.device, node_.inventory);
  }

  const ledger::State& state_;
  const PodMemory& memory_;
  const PodNode& node_;
  ledger::Time now_;
  NamedDevices named_;
  std::set<std::string> ours_;  // names of resources
  std::map<std::string, const ledger::Device*> offered_;
  std::map<std::string, std::vector<const ledger::Hold*>> holds_;  // by id
  std::set<std::string> present_;                                  // keys of holds
  Reconciled result_;
};

}  // namespace

void Forget(PodMemory& memory) {
  memory.complete = false;
  memory.absent.clear();
}

Reconciled Reconcile(const ledger::State& state,
                     const PodMemory& memory,
                     const PodList& pods,
                     const PodNode& node,
                     ledger::Time now) {
  Reading reading(state, memory, node, now);
  reading.Read(pods);
  reading.EndAbsent();
  return std::move(reading).Done();
}

}  // namespace partita::service::device_plugin
