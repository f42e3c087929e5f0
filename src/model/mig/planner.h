// From what exists on one GPU to what is wanted, with the least harm. Exact: every final layout of
// the wanted instances is weighed, and there are few (2,319 layouts in all on an H100).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/ids.h"
#include "model/mig/geometry.h"
#include "model/mig/packing.h"

namespace partita::model {

// A compute instance as it is. `slices` counts compute slices.
struct LiveComputeInstance {
  ComputeInstanceId id;
  std::uint32_t slices = 0;
  bool in_use = false;
  std::uint32_t start = 0;  // compute slices of its GPU instance
  bool operator==(const LiveComputeInstance&) const = default;
};

// A GPU instance as it is. One without compute instances runs nothing but takes its slices.
struct LiveInstance {
  GpuInstanceId id;
  PlacedInstance place;
  bool pinned = false;  // must stay, whoever uses it
  std::vector<LiveComputeInstance> compute;
  std::vector<ComputeInstanceProfile> offered = {};  // with places; empty where they are not known
  [[nodiscard]] bool MustStay() const;
  bool operator==(const LiveInstance&) const = default;
};

// A GPU instance of the final layout and its compute instances.
struct InstanceGoal {
  PlacedInstance place;
  ComputeSizes compute;
  bool operator==(const InstanceGoal&) const = default;
};

// What a plan costs, compared field by field: the first difference decides. Equal plans are decided
// by the places of PreferredPlacements, the largest profiles' first.
struct PlanCost {
  std::uint32_t in_use_destroyed = 0;  // compute instances in use, and pinned GPU instances
  std::uint32_t idle_destroyed = 0;    // GPU instances
  std::uint32_t created = 0;           // GPU instances
  std::uint32_t compute_changed = 0;   // made or removed in GPU instances that stay
  ProfileCounts room;                  // what still fits, largest profile first; more is better
  bool operator==(const PlanCost&) const = default;
};

// A GPU instance that stays; what is not named here is not touched.
struct KeptInstance {
  LiveInstance live;
  std::vector<LiveComputeInstance> destroy;
  ComputeSizes create;
  std::vector<std::uint32_t> starts = {};  // of each in `create`; empty: the driver chooses
  bool operator==(const KeptInstance&) const = default;
};

// A GPU instance that must stay and stands in the way; `compute` are those in use that would go.
struct Obstacle {
  PlacedInstance place;
  GpuInstanceId instance;
  std::vector<ComputeInstanceId> compute;
  bool operator==(const Obstacle&) const = default;
};

struct LayoutPlan {
  std::vector<KeptInstance> kept;  // by start, as the others
  std::vector<LiveInstance> destroyed;
  std::vector<InstanceGoal> created;
  MigLayout result;
  PlanCost cost;
  // Empty when nothing in use goes. Else no plan spares all that is in use, and these are what goes
  // in one or another of the least harmful plans: with some of them gone, one becomes possible.
  std::vector<Obstacle> obstacles;
  [[nodiscard]] bool ChangesNothing() const;
  bool operator==(const LayoutPlan&) const = default;
};

// Why no layout of the wanted instances exists on such a GPU, even an empty one.
struct NoLayout {
  LayoutRule rule;
  std::string text;
  std::vector<ProfileCounts> nearest;  // requests that would work
  bool operator==(const NoLayout&) const = default;
};

// Plans for every GPU of one geometry. Immutable: threads may share it.
class MigPlanner {
 public:
  explicit MigPlanner(MigGeometry geometry);

  // The cheapest plan. If its cost says that something in use would go, no plan spares it: the
  // caller must not carry it out, and `obstacles` names what blocks.
  [[nodiscard]] std::variant<LayoutPlan, NoLayout> Plan(const std::vector<LiveInstance>& live,
                                                        const DeviceCounts& wanted) const;

  // Up to three sets of GPU instances that are possible while every instance that must stay keeps
  // its place, the most similar to `wanted` first.
  [[nodiscard]] std::vector<ProfileCounts> NearestAround(const std::vector<LiveInstance>& live,
                                                         const DeviceCounts& wanted) const;

  [[nodiscard]] const MigGeometry& geometry() const { return geometry_; }
  // All legal layouts, best first: most room for large profiles, then preferred places.
  [[nodiscard]] const std::vector<MigLayout>& layouts() const { return layouts_; }

 private:
  MigGeometry geometry_;
  std::vector<MigLayout> layouts_;
  std::vector<ProfileCounts> room_;  // of each layout, largest profile first
  std::map<ProfileCounts, std::vector<std::size_t>> by_counts_;  // positions in layouts_, ascending
};

}  // namespace partita::model
