#include "model/mig/division.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "model/mig/compute_profile.h"

namespace partita::model {
namespace {

constexpr std::uint32_t kMostSlices = 64;
constexpr std::size_t kMostCompute = 16;  // no driver allows more than 8

// Compute slices as a bit mask; nothing when they are beyond one.
std::uint64_t SlicesAt(std::uint32_t start, std::uint32_t size) {
  if (start >= kMostSlices || size > kMostSlices - start) return 0;
  const std::uint64_t ones =
      size == kMostSlices ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  return ones << start;
}

const ComputeInstanceProfile* Chosen(const std::vector<ComputeInstanceProfile>& offered,
                                     std::uint32_t slices) {
  const std::optional<std::uint32_t> id = ChooseComputeProfile(offered, slices);
  for (const ComputeInstanceProfile& profile : offered)
    if (id && profile.id == *id) return &profile;
  return nullptr;
}

// Finds starts for the sizes from `starts.size()` on.
bool Place(const std::vector<ComputeInstanceProfile>& offered,
           const ComputeSizes& sizes,
           std::uint64_t taken,
           std::vector<std::uint32_t>& starts) {
  if (starts.size() == sizes.size()) return true;
  const ComputeInstanceProfile* profile = Chosen(offered, sizes[starts.size()]);
  if (profile == nullptr) return false;
  for (const Placement& place : profile->placements) {
    const std::uint64_t slices = SlicesAt(place.start, place.size);
    if (slices == 0 || (taken & slices) != 0) continue;
    starts.push_back(place.start);
    if (Place(offered, sizes, taken | slices, starts)) return true;
    starts.pop_back();
  }
  return false;
}

bool PlacesAreKnown(const LiveInstance& live) {
  return std::any_of(
      live.offered.begin(), live.offered.end(),
      [](const ComputeInstanceProfile& profile) { return !profile.placements.empty(); });
}

// Those in use stay before idle ones of their size.
KeptInstance KeepBySize(const LiveInstance& live, const ComputeSizes& wanted) {
  KeptInstance kept{live, {}, wanted, {}};
  for (const bool in_use : {true, false}) {
    for (const LiveComputeInstance& compute : live.compute) {
      if (compute.in_use != in_use) continue;
      const auto match = std::find(kept.create.begin(), kept.create.end(), compute.slices);
      if (match == kept.create.end())
        kept.destroy.push_back(compute);
      else
        kept.create.erase(match);
    }
  }
  return kept;
}

// Which of live.compute go, as a mask, and what that costs.
struct Choice {
  std::uint32_t in_use = 0;
  int count = 0;
  std::uint32_t going = 0;
};

// Every choice, the cheapest first; of equals the one that keeps the first.
std::vector<Choice> Choices(const LiveInstance& live) {
  std::vector<Choice> choices;
  for (std::uint32_t going = 0; going < 1U << live.compute.size(); ++going) {
    Choice choice{0, std::popcount(going), going};
    for (std::size_t i = 0; i < live.compute.size(); ++i)
      if ((going >> i & 1U) != 0 && live.compute[i].in_use) ++choice.in_use;
    choices.push_back(choice);
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(a.in_use, a.count, b.going) < std::tuple(b.in_use, b.count, a.going);
  });
  return choices;
}

// What the choice makes of the instance; nothing when something stays that is not wanted, or what
// is missing does not fit beside what stays.
std::optional<KeptInstance> Try(const LiveInstance& live,
                                const ComputeSizes& wanted,
                                std::uint32_t going) {
  ComputeSizes missing = wanted;
  std::vector<LiveComputeInstance> staying, destroyed;
  for (std::size_t i = 0; i < live.compute.size(); ++i) {
    const LiveComputeInstance& compute = live.compute[i];
    if ((going >> i & 1U) != 0) {
      destroyed.push_back(compute);
      continue;
    }
    const auto match = std::find(missing.begin(), missing.end(), compute.slices);
    if (match == missing.end()) return std::nullopt;
    missing.erase(match);
    staying.push_back(compute);
  }
  auto starts = PlaceCompute(live.offered, staying, missing);
  if (!starts) return std::nullopt;
  return KeptInstance{live, std::move(destroyed), std::move(missing), *std::move(starts)};
}

}  // namespace

std::optional<std::vector<std::uint32_t>> PlaceCompute(
    const std::vector<ComputeInstanceProfile>& offered,
    const std::vector<LiveComputeInstance>& staying,
    const ComputeSizes& sizes) {
  std::uint64_t taken = 0;
  for (const LiveComputeInstance& compute : staying)
    taken |= SlicesAt(compute.start, compute.slices);
  std::vector<std::uint32_t> starts;
  if (!Place(offered, sizes, taken, starts)) return std::nullopt;
  return starts;
}

std::optional<KeptInstance> KeepCompute(const LiveInstance& live, const ComputeSizes& wanted) {
  if (!PlacesAreKnown(live) || live.compute.size() > kMostCompute) return KeepBySize(live, wanted);
  for (const Choice& choice : Choices(live))
    if (std::optional<KeptInstance> kept = Try(live, wanted, choice.going)) return kept;
  return std::nullopt;
}

}  // namespace partita::model
