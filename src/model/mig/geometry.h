// The MIG rules of one GPU, from what its driver reports, and what follows from them. Nothing here
// knows a product: another GPU has other profiles and placements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/inventory.h"

namespace partita::model {

// Multiprocessors, copy engines, decoders, encoders, JPEG and OFA engines, so that rules over them
// read as loops.
using EngineCounts = std::array<std::uint64_t, 6>;
EngineCounts EnginesOf(const GpuInstanceProfile& profile);

// What can be made on one GPU. Profiles keep the driver's order; others refer to them by position.
// Two GPUs of a kind have equal geometries, whatever is on them.
struct MigGeometry {
  std::uint32_t memory_slices = 0;
  std::vector<GpuInstanceProfile> profiles;  // placements ascend; `remaining` is absent
  EngineCounts budget{};                     // what all instances together may hold

  // Placements that no mask of 64 slices can hold are left out.
  static MigGeometry Of(std::vector<GpuInstanceProfile> profiles);
  // What the driver lists, and what exists: an instance that the lists do not allow (a profile of
  // another driver, a start or a number of engines beyond the rules) is possible all the same, at
  // its place.
  static MigGeometry From(const Mig& mig);
  bool operator==(const MigGeometry&) const = default;
};

// A GPU instance at its place: a position in MigGeometry::profiles and a first memory slice.
struct PlacedInstance {
  std::size_t profile = 0;
  std::uint32_t start = 0;
  auto operator<=>(const PlacedInstance&) const = default;
};

// GPU instances of one GPU, by start.
using MigLayout = std::vector<PlacedInstance>;

// How many instances of each profile, by position in MigGeometry::profiles.
using ProfileCounts = std::vector<std::uint32_t>;

enum class LayoutRule : std::uint8_t {
  kPlacement,  // the driver lists no such start for the profile
  kOverlap,    // two instances share a memory slice
  kCount,      // more instances of a profile than the driver allows
  kEngines,    // more multiprocessors or engines than the largest profile has
};

struct LayoutViolation {
  LayoutRule rule;
  std::string text;  // names the instances and the rule, for a person
};

// The place of an instance; null when its profile lists no such start.
const Placement* FindPlacement(const MigGeometry& geometry, const PlacedInstance& instance);

// The memory slices of an instance as a bit mask. The profile must list the start.
std::uint64_t SliceMask(const MigGeometry& geometry, const PlacedInstance& instance);

// The first rule that the layout breaks; nothing if it is legal.
std::optional<LayoutViolation> CheckLayout(const MigGeometry& geometry, const MigLayout& layout);

// Every legal layout, the empty one included, in a fixed order. At most a few thousand.
std::vector<MigLayout> AllLayouts(const MigGeometry& geometry);

// Those to which nothing can be added.
std::vector<MigLayout> MaximalLayouts(const MigGeometry& geometry);

ProfileCounts CountProfiles(const MigGeometry& geometry, const MigLayout& layout);

// What layouts hold, each once, wherever they hold it.
std::vector<ProfileCounts> DistinctCounts(const MigGeometry& geometry,
                                          const std::vector<MigLayout>& layouts);

// How many more instances of each profile alone would still fit beside a legal layout.
ProfileCounts RemainingRoom(const MigGeometry& geometry, const MigLayout& layout);

// Positions of profiles from the largest down: compute slices, then memory slices, then memory,
// then the profile with fewer media engines first. The order in which room is compared and lists
// are read.
std::vector<std::size_t> LargestFirst(const MigGeometry& geometry);

// Positions in the placements of a profile, best first: the start that leaves most room on an empty
// GPU, then the lowest. On a GPU with eight slices that is 6 4 5 0 1 2 3 for 1g.
std::vector<std::size_t> PreferredPlacements(const MigGeometry& geometry, std::size_t profile);

// "3g.20gb@4": how a placed instance is written everywhere.
std::string ToString(const MigGeometry& geometry, const PlacedInstance& instance);
// "3g.20gb, 2 x 1g.5gb", largest first; "nothing" when empty.
std::string ToString(const MigGeometry& geometry, const ProfileCounts& counts);

// "encoders", for messages about EngineCounts.
const char* EngineName(std::size_t kind);

}  // namespace partita::model
