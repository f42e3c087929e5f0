#include "model/mig/geometry.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "model/profile_name.h"

namespace partita::model {
namespace {

constexpr std::uint32_t kMaxSlices = 64;  // bits of a mask; the largest GPU seen has 12

std::uint64_t Mask(const Placement& place) {
  const std::uint64_t ones =
      place.size >= kMaxSlices ? ~std::uint64_t{0} : (std::uint64_t{1} << place.size) - 1;
  return ones << place.start;
}

bool FitsAMask(const Placement& place) {
  return place.size > 0 && place.start < kMaxSlices && place.size <= kMaxSlices - place.start;
}

void AddEngines(EngineCounts& sum, const EngineCounts& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

const Placement* FindStart(const GpuInstanceProfile& profile, std::uint32_t start) {
  for (const Placement& placement : profile.placements)
    if (placement.start == start) return &placement;
  return nullptr;
}

// What a layout has taken; rules are checked against it one instance at a time.
struct Taken {
  std::uint64_t slices = 0;
  EngineCounts engines{};
  ProfileCounts counts;

  explicit Taken(const MigGeometry& geometry) : counts(geometry.profiles.size(), 0) {}

  bool Fits(const MigGeometry& geometry, std::size_t profile, const Placement& place) const {
    const GpuInstanceProfile& kind = geometry.profiles[profile];
    if ((slices & Mask(place)) != 0) return false;
    if (counts[profile] >= kind.instance_count) return false;
    const EngineCounts wanted = EnginesOf(kind);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (engines[i] + wanted[i] > geometry.budget[i]) return false;
    return true;
  }

  void Add(const MigGeometry& geometry, std::size_t profile, const Placement& place) {
    slices |= Mask(place);
    AddEngines(engines, EnginesOf(geometry.profiles[profile]));
    ++counts[profile];
  }
};

Taken TakenBy(const MigGeometry& geometry, const MigLayout& layout) {
  Taken taken(geometry);
  for (const PlacedInstance& instance : layout) {
    const Placement* place = FindPlacement(geometry, instance);
    PARTITA_CHECK(place != nullptr);
    taken.Add(geometry, instance.profile, *place);
  }
  return taken;
}

// Extends `layout` by instances that start at or after `from`, so that each set is visited once.
void Extend(const MigGeometry& geometry,
            const Taken& taken,
            std::uint32_t from,
            MigLayout& layout,
            std::vector<MigLayout>& found) {
  found.push_back(layout);
  for (std::uint32_t start = from; start < geometry.memory_slices; ++start) {
    for (std::size_t profile = 0; profile < geometry.profiles.size(); ++profile) {
      const Placement* place = FindStart(geometry.profiles[profile], start);
      if (place == nullptr || !taken.Fits(geometry, profile, *place)) continue;
      Taken with = taken;
      with.Add(geometry, profile, *place);
      layout.push_back({profile, start});
      Extend(geometry, with, start + place->size, layout, found);
      layout.pop_back();
    }
  }
}

bool CanGrow(const MigGeometry& geometry, const MigLayout& layout) {
  const ProfileCounts room = RemainingRoom(geometry, layout);
  return std::any_of(room.begin(), room.end(), [](std::uint32_t more) { return more > 0; });
}

// The listed profile of an instance; a new one of its own when the driver lists none.
GpuInstanceProfile& ProfileOf(std::vector<GpuInstanceProfile>& profiles,
                              const GpuInstance& instance) {
  for (GpuInstanceProfile& profile : profiles)
    if (profile.id == instance.profile) return profile;
  GpuInstanceProfile own;
  own.id = instance.profile;
  own.name = instance.profile_name;
  std::uint32_t slices = 0;
  for (const ComputeInstance& compute : instance.compute_instances) slices += compute.slice_count;
  const base::Result<ProfileName> name = ProfileName::Parse(own.name);
  own.slice_count = std::max({slices, name.ok() ? name->gpu_slices : 0, 1U});
  return profiles.emplace_back(std::move(own));
}

std::string StartsOf(const GpuInstanceProfile& profile) {
  std::vector<std::string> starts;
  for (const Placement& place : profile.placements) starts.push_back(std::to_string(place.start));
  return base::JoinWithOr(starts);
}

// The second of two instances that share slices, or the engines that `last` asks too much of.
std::optional<LayoutViolation> CheckBeside(const MigGeometry& geometry,
                                           const MigLayout& layout,
                                           std::size_t last,
                                           const Taken& taken) {
  const PlacedInstance& instance = layout[last];
  const GpuInstanceProfile& profile = geometry.profiles[instance.profile];
  for (std::size_t i = 0; i < last; ++i) {
    if ((SliceMask(geometry, layout[i]) & SliceMask(geometry, instance)) == 0) continue;
    return LayoutViolation{LayoutRule::kOverlap, fmt::format("{} and {} share memory slices",
                                                             ToString(geometry, layout[i]),
                                                             ToString(geometry, instance))};
  }
  if (taken.counts[instance.profile] == profile.instance_count) {
    return LayoutViolation{LayoutRule::kCount, fmt::format("at most {} of {} can exist on this GPU",
                                                           profile.instance_count, profile.name)};
  }
  const EngineCounts engines = EnginesOf(profile);
  for (std::size_t kind = 0; kind < engines.size(); ++kind) {
    const std::uint64_t sum = taken.engines[kind] + engines[kind];
    if (sum <= geometry.budget[kind]) continue;
    return LayoutViolation{
        LayoutRule::kEngines,
        fmt::format("{} brings the {} to {}, and the GPU has {}", ToString(geometry, instance),
                    EngineName(kind), sum, geometry.budget[kind])};
  }
  return std::nullopt;
}

}  // namespace

EngineCounts EnginesOf(const GpuInstanceProfile& profile) {
  return {profile.multiprocessors, profile.copy_engines, profile.decoders,
          profile.encoders,        profile.jpegs,        profile.ofas};
}

const char* EngineName(std::size_t kind) {
  constexpr std::array<const char*, std::tuple_size_v<EngineCounts>> kNames = {
      "multiprocessors", "copy engines", "decoders", "encoders", "JPEG engines", "OFA engines"};
  return kNames.at(kind);
}

MigGeometry MigGeometry::Of(std::vector<GpuInstanceProfile> profiles) {
  MigGeometry geometry;
  for (GpuInstanceProfile& profile : profiles) {
    profile.remaining.reset();
    std::erase_if(profile.placements, [](const Placement& place) { return !FitsAMask(place); });
    std::sort(profile.placements.begin(), profile.placements.end());
    for (const Placement& place : profile.placements)
      geometry.memory_slices = std::max(geometry.memory_slices, place.start + place.size);
    const EngineCounts engines = EnginesOf(profile);
    for (std::size_t i = 0; i < engines.size(); ++i)
      geometry.budget[i] = std::max(geometry.budget[i], engines[i]);
  }
  geometry.profiles = std::move(profiles);
  return geometry;
}

MigGeometry MigGeometry::From(const Mig& mig) {
  std::vector<GpuInstanceProfile> profiles = mig.profiles;
  EngineCounts held{};
  for (const GpuInstance& instance : mig.instances) {
    GpuInstanceProfile& profile = ProfileOf(profiles, instance);
    AddEngines(held, EnginesOf(profile));
    if (FindStart(profile, instance.placement.start) == nullptr)
      profile.placements.push_back(instance.placement);
    const auto alike = std::count_if(mig.instances.begin(), mig.instances.end(),
                                     [&](const GpuInstance& i) { return i.profile == profile.id; });
    profile.instance_count = std::max(profile.instance_count, static_cast<std::uint32_t>(alike));
  }
  MigGeometry geometry = Of(std::move(profiles));
  for (std::size_t i = 0; i < held.size(); ++i)
    geometry.budget[i] = std::max(geometry.budget[i], held[i]);
  return geometry;
}

const Placement* FindPlacement(const MigGeometry& geometry, const PlacedInstance& instance) {
  return FindStart(geometry.profiles[instance.profile], instance.start);
}

std::uint64_t SliceMask(const MigGeometry& geometry, const PlacedInstance& instance) {
  const Placement* place = FindPlacement(geometry, instance);
  PARTITA_CHECK(place != nullptr);
  return Mask(*place);
}

std::optional<LayoutViolation> CheckLayout(const MigGeometry& geometry, const MigLayout& layout) {
  Taken taken(geometry);
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const GpuInstanceProfile& profile = geometry.profiles[layout[i].profile];
    const Placement* place = FindPlacement(geometry, layout[i]);
    if (place == nullptr) {
      return LayoutViolation{LayoutRule::kPlacement,
                             fmt::format("{} cannot start at memory slice {}, only at {}",
                                         profile.name, layout[i].start, StartsOf(profile))};
    }
    if (auto violation = CheckBeside(geometry, layout, i, taken)) return violation;
    taken.Add(geometry, layout[i].profile, *place);
  }
  return std::nullopt;
}

std::vector<MigLayout> AllLayouts(const MigGeometry& geometry) {
  std::vector<MigLayout> found;
  MigLayout layout;
  Extend(geometry, Taken(geometry), 0, layout, found);
  return found;
}

std::vector<MigLayout> MaximalLayouts(const MigGeometry& geometry) {
  std::vector<MigLayout> layouts = AllLayouts(geometry);
  std::erase_if(layouts, [&](const MigLayout& layout) { return CanGrow(geometry, layout); });
  return layouts;
}

ProfileCounts CountProfiles(const MigGeometry& geometry, const MigLayout& layout) {
  ProfileCounts counts(geometry.profiles.size(), 0);
  for (const PlacedInstance& instance : layout) ++counts[instance.profile];
  return counts;
}

std::vector<ProfileCounts> DistinctCounts(const MigGeometry& geometry,
                                          const std::vector<MigLayout>& layouts) {
  std::set<ProfileCounts> distinct;
  for (const MigLayout& layout : layouts) distinct.insert(CountProfiles(geometry, layout));
  return {distinct.begin(), distinct.end()};
}

ProfileCounts RemainingRoom(const MigGeometry& geometry, const MigLayout& layout) {
  const Taken taken = TakenBy(geometry, layout);
  ProfileCounts room(geometry.profiles.size(), 0);
  for (std::size_t profile = 0; profile < geometry.profiles.size(); ++profile) {
    // The placements of one profile have one size, so taking the lowest free start again and again
    // fits the most.
    Taken with = taken;
    for (const Placement& place : geometry.profiles[profile].placements) {
      if (!with.Fits(geometry, profile, place)) continue;
      with.Add(geometry, profile, place);
      ++room[profile];
    }
  }
  return room;
}

std::vector<std::size_t> LargestFirst(const MigGeometry& geometry) {
  std::vector<std::size_t> order(geometry.profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto width = [](const GpuInstanceProfile& p) {
    return p.placements.empty() ? 0U : p.placements.front().size;
  };
  const auto media = [](const GpuInstanceProfile& p) {
    return p.decoders + p.encoders + p.jpegs + p.ofas;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const GpuInstanceProfile& x = geometry.profiles[a];
    const GpuInstanceProfile& y = geometry.profiles[b];
    if (x.slice_count != y.slice_count) return x.slice_count > y.slice_count;
    if (width(x) != width(y)) return width(x) > width(y);
    if (x.memory != y.memory) return x.memory > y.memory;
    if (media(x) != media(y)) return media(x) < media(y);
    return x.id < y.id;
  });
  return order;
}

std::vector<std::size_t> PreferredPlacements(const MigGeometry& geometry, std::size_t profile) {
  const std::vector<Placement>& places = geometry.profiles[profile].placements;
  const std::vector<std::size_t> largest = LargestFirst(geometry);
  std::vector<ProfileCounts> left(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ProfileCounts room = RemainingRoom(geometry, {{profile, places[i].start}});
    for (std::size_t p : largest) left[i].push_back(room[p]);
  }
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Placements ascend, so equal ones stay in the order of their starts.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] > left[b]; });
  return order;
}

std::string ToString(const MigGeometry& geometry, const PlacedInstance& instance) {
  return fmt::format("{}@{}", geometry.profiles[instance.profile].name, instance.start);
}

std::string ToString(const MigGeometry& geometry, const ProfileCounts& counts) {
  std::string text;
  for (std::size_t profile : LargestFirst(geometry)) {
    if (counts[profile] == 0) continue;
    if (!text.empty()) text += ", ";
    if (counts[profile] > 1) text += fmt::format("{} x ", counts[profile]);
    text += geometry.profiles[profile].name;
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace partita::model
