#include "model/mig/shortfall.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::model {
namespace {

constexpr std::size_t kNearest = 3;

std::optional<LayoutViolation> TooMany(const MigGeometry& geometry, const ProfileCounts& wanted) {
  for (std::size_t profile : LargestFirst(geometry)) {
    const GpuInstanceProfile& kind = geometry.profiles[profile];
    if (wanted[profile] <= kind.instance_count) continue;
    return LayoutViolation{LayoutRule::kCount,
                           fmt::format("{} of {} are wanted, and a GPU holds at most {}",
                                       wanted[profile], kind.name, kind.instance_count)};
  }
  return std::nullopt;
}

std::optional<LayoutViolation> TooWide(const MigGeometry& geometry, const ProfileCounts& wanted) {
  std::uint64_t slices = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::vector<Placement>& places = geometry.profiles[i].placements;
    if (!places.empty()) slices += std::uint64_t{wanted[i]} * places.front().size;
  }
  if (slices <= geometry.memory_slices) return std::nullopt;
  return LayoutViolation{LayoutRule::kOverlap,
                         fmt::format("{} take {} memory slices, and the GPU has {}",
                                     ToString(geometry, wanted), slices, geometry.memory_slices)};
}

LayoutViolation TooHungry(const MigGeometry& geometry, const ProfileCounts& wanted) {
  std::vector<std::string> shortages;
  for (std::size_t kind = 0; kind < geometry.budget.size(); ++kind) {
    std::uint64_t need = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      need += wanted[i] * EnginesOf(geometry.profiles[i])[kind];
    if (need > geometry.budget[kind])
      shortages.push_back(
          fmt::format("{} {} of {}", need, EngineName(kind), geometry.budget[kind]));
  }
  if (shortages.empty())
    return {LayoutRule::kCount, "the compute instances do not fit into so few GPU instances"};
  return {LayoutRule::kEngines,
          fmt::format("{} take {}", ToString(geometry, wanted), base::Join(shortages, ", "))};
}

// "4g.20gb starts at 0; 2g.10gb at 0, 2 or 4".
std::string PlacesOf(const MigGeometry& geometry, const ProfileCounts& wanted) {
  std::string text;
  for (std::size_t profile : LargestFirst(geometry)) {
    if (wanted[profile] == 0) continue;
    std::vector<std::string> starts;
    for (const Placement& place : geometry.profiles[profile].placements)
      starts.push_back(std::to_string(place.start));
    text += fmt::format("{}{}{} at {}", text.empty() ? "" : "; ", geometry.profiles[profile].name,
                        text.empty() ? " starts" : "",
                        starts.empty() ? "no slice" : base::JoinWithOr(starts));
  }
  return text;
}

// Whether the instances from `profile` on find places beside `taken`, engines aside.
bool CanPlace(const MigGeometry& geometry,
              ProfileCounts& wanted,
              std::size_t profile,
              std::uint64_t taken) {
  while (profile < wanted.size() && wanted[profile] == 0) ++profile;
  if (profile == wanted.size()) return true;
  --wanted[profile];
  const std::vector<Placement>& places = geometry.profiles[profile].placements;
  const bool placed = std::any_of(places.begin(), places.end(), [&](const Placement& place) {
    const std::uint64_t slices = SliceMask(geometry, {profile, place.start});
    return (taken & slices) == 0 && CanPlace(geometry, wanted, profile, taken | slices);
  });
  ++wanted[profile];
  return placed;
}

std::optional<LayoutViolation> TooSpread(const MigGeometry& geometry, ProfileCounts wanted) {
  if (CanPlace(geometry, wanted, 0, 0)) return std::nullopt;
  return LayoutViolation{LayoutRule::kPlacement,
                         fmt::format("{} cannot be placed side by side: {}",
                                     ToString(geometry, wanted), PlacesOf(geometry, wanted))};
}

}  // namespace

LayoutViolation ExplainShortfall(const MigGeometry& geometry, const ProfileCounts& wanted) {
  if (auto violation = TooMany(geometry, wanted)) return *std::move(violation);
  if (auto violation = TooWide(geometry, wanted)) return *std::move(violation);
  if (auto violation = TooSpread(geometry, wanted)) return *std::move(violation);
  return TooHungry(geometry, wanted);
}

std::vector<ProfileCounts> NearestCounts(const MigGeometry& geometry,
                                         const ProfileCounts& wanted,
                                         std::vector<ProfileCounts> possible) {
  const auto distance = [&](const ProfileCounts& counts) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::uint64_t apart = std::max(counts[i], wanted[i]) - std::min(counts[i], wanted[i]);
      sum += apart * std::max<std::uint32_t>(geometry.profiles[i].slice_count, 1);
    }
    return sum;
  };
  const std::vector<std::size_t> largest = LargestFirst(geometry);
  std::stable_sort(possible.begin(), possible.end(),
                   [&](const ProfileCounts& a, const ProfileCounts& b) {
                     if (distance(a) != distance(b)) return distance(a) < distance(b);
                     for (std::size_t profile : largest)
                       if (a[profile] != b[profile]) return a[profile] > b[profile];
                     return false;
                   });
  possible.resize(std::min(possible.size(), kNearest));
  return possible;
}

}  // namespace partita::model
