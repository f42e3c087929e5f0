#include "service/device_plugin/listing.h"

#include <algorithm>
#include <set>
#include <utility>

#include "service/device_plugin/device_id.h"
#include "service/device_plugin/sharing.h"
#include "service/ledger/offers.h"

namespace partita::service::device_plugin {
namespace {

// Who has what, by GPU: asked for every device of a node, with hundreds of holders.
class Holders {
 public:
  explicit Holders(const ledger::State& state) {
    for (ledger::Holder& holder : ledger::HoldersOf(state)) {
      const ledger::Board board = ledger::BoardOf(holder.use.device);
      by_board_[board].push_back(std::move(holder));
    }
  }

  // Somebody has atoms of this device under another name, or under another resource's: kubelet
  // counts each resource's devices by themselves. Operations are the ledger's listing's.
  [[nodiscard]] bool Meet(const ledger::Device& device, const std::string& resource) const {
    const auto board = by_board_.find(ledger::BoardOf(device));
    if (board == by_board_.end()) return false;
    const std::string key = ledger::KeyOf(device);
    return std::any_of(board->second.begin(), board->second.end(), [&](const auto& holder) {
      const auto* pod = std::get_if<ledger::Pod>(&holder.owner);
      const bool own =
          pod != nullptr && pod->resource == resource && ledger::KeyOf(holder.use.device) == key;
      return !own && !holder.use.admin &&
             !std::holds_alternative<ledger::Operation>(holder.owner) &&
             ledger::Overlap({device}, holder.use) != ledger::Clash::kNone;
    });
  }

 private:
  std::map<ledger::Board, std::vector<ledger::Holder>> by_board_;
};

// What pods hold, by resource and id.
std::map<std::string, std::set<std::string>> HeldByPods(const ledger::State& state) {
  std::map<std::string, std::set<std::string>> held;
  for (const auto& [key, hold] : state.holds) {
    const auto* pod = std::get_if<ledger::Pod>(&hold.owner);
    if (pod != nullptr && !hold.gone) held[pod->resource].insert(IdOf(hold.device));
  }
  return held;
}

void Earlier(std::optional<ledger::Time>& time, ledger::Time candidate, ledger::Time now) {
  if (candidate > now && (!time || candidate < *time)) time = candidate;
}

// When the ledger's word on a withdrawn device may change by itself.
std::optional<ledger::Time> NextWithdrawal(const ledger::State& state, ledger::Time now) {
  std::optional<ledger::Time> next;
  for (const auto& [board, offer] : state.offers)
    if (offer.withdrawn) Earlier(next, *offer.withdrawn + ledger::kListedAfterWithdrawal, now);
  for (const auto& [id, plan] : state.plans)
    Earlier(next, plan.withdrawn + ledger::kListedAfterWithdrawal, now);
  return next;
}

}  // namespace

std::map<std::string, std::vector<Listed>> Listings::Next(const Offered& offered,
                                                          const ledger::State& state,
                                                          ledger::Time now) {
  const Holders holders(state);
  const std::map<std::string, std::set<std::string>> held = HeldByPods(state);
  std::map<std::string, std::vector<Listed>> lists;
  std::map<std::string, std::set<std::string>> listed;
  for (const OfferedResource& resource : offered.resources) {
    for (const OfferedDevice& device : resource.devices) {
      const ledger::Listing word = ledger::ListingOf(state, device.device, now);
      if (word == ledger::Listing::kGone) continue;
      Shown& shown = shown_[resource.name].devices[device.id];
      shown.numa_node = device.numa_node;
      if (word == ledger::Listing::kHealthy) {
        shown.leaving.reset();
      } else if (!shown.leaving) {
        shown.leaving = now;
      }
      const bool healthy =
          device.healthy && !shown.leaving && !holders.Meet(device.device, resource.name);
      lists[resource.name].push_back({device.id, healthy, device.numa_node});
      listed[resource.name].insert(device.id);
    }
  }
  for (const auto& [resource, ids] : held)
    for (const std::string& id : ids) shown_[resource].devices.try_emplace(id);
  next_change_ = NextWithdrawal(state, now);
  for (auto each = shown_.begin(); each != shown_.end();) {
    const auto holds = held.find(each->first);
    const auto there = listed.find(each->first);
    Leave(each->second, there == listed.end() ? Ids() : there->second,
          holds == held.end() ? Ids() : holds->second, now, lists[each->first]);
    if (Forget(each->second, now)) {
      lists.erase(each->first);
      each = shown_.erase(each);
    } else {
      ++each;
    }
  }
  return lists;
}

void Listings::Leave(Resource& resource,
                     const Ids& listed,
                     const Ids& held,
                     ledger::Time now,
                     std::vector<Listed>& list) {
  for (auto each = resource.devices.begin(); each != resource.devices.end();) {
    auto& [id, shown] = *each;
    if (listed.contains(id)) {
      ++each;
      continue;
    }
    // A clock that was set back must not keep it for longer.
    if (!shown.leaving || *shown.leaving > now) shown.leaving = now;
    const ledger::Time end = *shown.leaving + kListedAfterIsGone;
    // kubelet would end the stream of a list that it cannot take, with all that is well in it.
    const bool full = list.size() >= kMostDevices;
    if ((now >= end || full) && !held.contains(id)) {
      each = resource.devices.erase(each);
      continue;
    }
    Earlier(next_change_, end, now);
    list.push_back({id, false, shown.numa_node});
    ++each;
  }
}

bool Listings::Forget(Resource& resource, ledger::Time now) {
  if (!resource.devices.empty()) {
    resource.empty.reset();
    return false;
  }
  if (!resource.empty || *resource.empty > now) resource.empty = now;
  const ledger::Time end = *resource.empty + kListedAfterIsGone;
  if (now >= end) return true;
  Earlier(next_change_, end, now);
  return false;
}

}  // namespace partita::service::device_plugin
