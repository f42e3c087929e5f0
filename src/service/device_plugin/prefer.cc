#include "service/device_plugin/prefer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "service/device_plugin/placement.h"
#include "service/device_plugin/spread.h"

namespace partita::service::device_plugin {
namespace {

constexpr std::int32_t kPerNvlink = 100;
constexpr std::uint32_t kMostNvlinks = 18;

// NVIDIA's allocator's figures. Links that end in a switch reach every GPU alike and tell none
// apart.
std::int32_t PathScore(model::PathLevel path) {
  switch (path) {
    case model::PathLevel::kSameBoard: return 60;
    case model::PathLevel::kOneSwitch: return 50;
    case model::PathLevel::kSwitches: return 40;
    case model::PathLevel::kHostBridge: return 30;
    case model::PathLevel::kNumaNode: return 20;
    case model::PathLevel::kSystem: return 10;
  }
  return 0;
}

std::int32_t LinkScore(const model::GpuLink& link) {
  return (link.path ? PathScore(*link.path) : 0) +
         kPerNvlink * static_cast<std::int32_t>(std::min(link.nvlinks, kMostNvlinks));
}

// A pair of which nothing is known scores 0.
void SetScores(const model::Inventory& inventory,
               const std::vector<const OfferedDevice*>& all,
               Closeness& gpus) {
  std::vector<std::pair<model::PciAddress, std::size_t>> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.emplace_back(all[i]->gpu, i);
  std::sort(places.begin(), places.end());
  const auto find = [&](const model::PciAddress& gpu) {
    const auto place =
        std::lower_bound(places.begin(), places.end(), std::pair(gpu, std::size_t{}));
    const bool there = place != places.end() && place->first == gpu;
    return there ? std::optional(place->second) : std::nullopt;
  };
  for (const model::GpuLink& link : inventory.links) {
    const auto a = find(link.a);
    const auto b = find(link.b);
    if (a && b && a != b) gpus.SetScore(*a, *b, LinkScore(link));
  }
}

// What is asked, with everything that is offered in its place.
struct Question {
  std::vector<Spot> spots;                     // of all that is offered
  std::vector<const OfferedDevice*> required;  // in the order of the offer
  std::vector<const OfferedDevice*> known;     // these and what may be chosen, likewise
  // Available and not offered, by name: the order in which kubelet asks must not matter.
  std::set<std::string_view> unknown, unknown_required;

  [[nodiscard]] std::size_t CountRequired() const {
    return required.size() + unknown_required.size();
  }
};

// Nothing where something is required that is not available.
std::optional<Question> Sort(const Stock& stock,
                             const std::vector<std::string_view>& available,
                             const std::vector<std::string_view>& required) {
  Question question;
  std::vector<Spot>& spots = question.spots = stock.spots();
  for (const std::string_view id : available) {
    if (const std::optional<std::size_t> place = stock.Find(id)) {
      spots[*place].free = true;
    } else {
      question.unknown.insert(id);
    }
  }
  for (const std::string_view id : required) {
    if (const std::optional<std::size_t> place = stock.Find(id)) {
      Spot& spot = spots[*place];
      if (!spot.free && !spot.required) return {};
      spot.free = false;
      spot.required = true;
    } else if (question.unknown.erase(id) > 0) {
      question.unknown_required.insert(id);
    } else if (!question.unknown_required.contains(id)) {
      return {};
    }
  }
  return question;
}

// Groups of which there is enough for `size` devices of one container, what is required among them.
std::set<std::size_t> GroupsFor(const std::vector<Spot>& spots, std::size_t size) {
  std::map<std::size_t, std::size_t> counts;
  std::set<std::size_t> required;
  for (const Spot& spot : spots) {
    if (spot.required) required.insert(spot.group);
    if ((spot.free || spot.required) && spot.group != kAlone) ++counts[spot.group];
  }
  std::set<std::size_t> groups;
  for (const auto& [group, count] : counts)
    if (count >= size && (required.empty() || required == std::set{group})) groups.insert(group);
  return groups;
}

void Bar(std::vector<Spot>& spots, const std::set<std::size_t>& all_but) {
  for (Spot& spot : spots) spot.barred = spot.free && !all_but.contains(spot.group);
}

// Allocate refuses what is not of one group, and the pod has failed: where one is enough, no other
// is chosen from. What has no daemon comes first; of daemons, the one that the policy begins with.
// Where none is enough, any answer is as wrong, and Allocate says why.
void KeepToOneGroup(std::vector<Spot>& spots, config::SharePolicy policy, std::size_t size) {
  const std::set<std::size_t> groups = GroupsFor(spots, size);
  if (groups.empty()) return;
  Bar(spots, groups.contains(0) ? std::set<std::size_t>{0} : groups);
  const std::vector<std::size_t> first = ChooseSpots(spots, policy, 1).spots;
  if (!first.empty()) Bar(spots, {spots[first.front()].group});
}

void NameKnown(const OfferedResource& resource, Question& question) {
  for (std::size_t i = 0; i < question.spots.size(); ++i) {
    const Spot& spot = question.spots[i];
    const OfferedDevice* device = &resource.devices[i];
    if ((spot.free && !spot.barred) || spot.required) question.known.push_back(device);
    if (spot.required) question.required.push_back(device);
  }
}

std::vector<std::string> Aligned(const Question& question,
                                 const model::Inventory& inventory,
                                 std::size_t size) {
  const std::vector<const OfferedDevice*>& all = question.known;
  Closeness gpus(all.size());
  std::vector<std::size_t> required;
  for (std::size_t i = 0; i < all.size(); ++i) {
    gpus.SetNuma(i, all[i]->numa_node);
    if (required.size() < question.required.size() && question.required[required.size()] == all[i])
      required.push_back(i);
  }
  SetScores(inventory, all, gpus);
  std::vector<std::string> chosen;
  for (const std::size_t i : Place(gpus, required, size).gpus) chosen.push_back(all[i]->id);
  return chosen;
}

std::vector<std::string> ByPolicy(const OfferedResource& resource,
                                  const Question& question,
                                  config::SharePolicy policy,
                                  std::size_t size) {
  std::vector<std::string> chosen;
  for (const OfferedDevice* device : question.required) chosen.push_back(device->id);
  const std::size_t missing = size - chosen.size();
  for (const std::size_t i : ChooseSpots(question.spots, policy, missing).spots)
    chosen.push_back(resource.devices[i].id);
  return chosen;
}

}  // namespace

std::vector<std::string> Prefer(const Stock& stock,
                                const model::Inventory& inventory,
                                config::SharePolicy policy,
                                const std::vector<std::string_view>& available,
                                const std::vector<std::string_view>& required,
                                std::size_t size) {
  std::optional<Question> question = Sort(stock, available, required);
  if (!question) return {};
  if (stock.has_groups() && size > 1 && question->unknown_required.empty())
    KeepToOneGroup(question->spots, policy, size);
  NameKnown(stock.resource(), *question);
  if (question->CountRequired() > size) return {};
  std::vector<std::string> answer(question->unknown_required.begin(),
                                  question->unknown_required.end());
  const std::size_t take = std::min(size - answer.size(), question->known.size());
  // A mixture cannot be compared by links alone.
  const bool whole = !stock.has_mig() &&
                     std::all_of(question->known.begin(), question->known.end(),
                                 [](const auto* device) { return device->id == device->whole_id; });
  if (take > 0) {
    std::vector<std::string> chosen = whole ? Aligned(*question, inventory, take)
                                            : ByPolicy(stock.resource(), *question, policy, take);
    answer.insert(answer.end(), chosen.begin(), chosen.end());
  }
  for (const std::string_view id : question->unknown)
    if (answer.size() < size) answer.emplace_back(id);
  return answer;
}

}  // namespace partita::service::device_plugin
