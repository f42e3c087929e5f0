#include "model/mig/planner.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "model/mig/division.h"
#include "model/mig/shortfall.h"

namespace partita::model {
namespace {

bool IsDividedInto(const LiveInstance& live, const ComputeSizes& wanted) {
  return std::equal(live.compute.begin(), live.compute.end(), wanted.begin(), wanted.end(),
                    [](const LiveComputeInstance& compute, std::uint32_t slices) {
                      return compute.slices == slices;
                    });
}

std::vector<ComputeInstanceId> InUse(const std::vector<LiveComputeInstance>& compute) {
  std::vector<ComputeInstanceId> ids;
  for (const LiveComputeInstance& instance : compute)
    if (instance.in_use) ids.push_back(instance.id);
  return ids;
}

const LiveInstance* FindLive(const std::vector<LiveInstance>& live, const PlacedInstance& place) {
  for (const LiveInstance& instance : live)
    if (instance.place == place) return &instance;
  return nullptr;
}

// A final layout with a division for each of its places.
struct Candidate {
  std::size_t position = 0;  // in MigPlanner::layouts(): lower is better
  const MigLayout* layout = nullptr;
  std::vector<const ComputeSizes*> compute;
};

// The division of a place; null when the candidate has nothing there.
const ComputeSizes* DivisionAt(const Candidate& candidate, const PlacedInstance& place) {
  for (std::size_t i = 0; i < candidate.layout->size(); ++i)
    if ((*candidate.layout)[i] == place) return candidate.compute[i];
  return nullptr;
}

// What of an instance in use, or pinned, goes with the candidate.
std::optional<Obstacle> Harm(const LiveInstance& live, const Candidate& candidate) {
  if (!live.MustStay()) return std::nullopt;
  const ComputeSizes* division = DivisionAt(candidate, live.place);
  if (division == nullptr) return Obstacle{live.place, live.id, InUse(live.compute)};
  const std::optional<KeptInstance> kept = KeepCompute(live, *division);
  if (!kept) return Obstacle{live.place, live.id, InUse(live.compute)};
  std::vector<ComputeInstanceId> lost = InUse(kept->destroy);
  if (lost.empty()) return std::nullopt;
  return Obstacle{live.place, live.id, std::move(lost)};
}

// What a candidate does to what exists: the cost without room. Nothing when an instance that stays
// cannot be divided so.
std::optional<PlanCost> Disruption(const std::vector<LiveInstance>& live,
                                   const Candidate& candidate) {
  PlanCost cost;
  std::size_t kept = 0;
  for (const LiveInstance& instance : live) {
    const ComputeSizes* division = DivisionAt(candidate, instance.place);
    if (division != nullptr) {
      ++kept;
      if (IsDividedInto(instance, *division)) continue;
      const std::optional<KeptInstance> change = KeepCompute(instance, *division);
      if (!change) return std::nullopt;
      cost.compute_changed +=
          static_cast<std::uint32_t>(change->destroy.size() + change->create.size());
    } else if (!instance.MustStay()) {
      ++cost.idle_destroyed;
    }
    // A pinned instance counts once, however idle it is.
    if (const std::optional<Obstacle> harm = Harm(instance, candidate))
      cost.in_use_destroyed +=
          std::max<std::uint32_t>(static_cast<std::uint32_t>(harm->compute.size()), 1);
  }
  cost.created = static_cast<std::uint32_t>(candidate.layout->size() - kept);
  return cost;
}

// Keeps the best of the candidates it is shown, and who is hurt in the least harmful ones.
class Contest {
 public:
  explicit Contest(const std::vector<LiveInstance>& live) : live_(live) {}

  void Weigh(const Candidate& candidate) {
    std::optional<PlanCost> cost = Disruption(live_, candidate);
    if (!cost) return;
    if (cost->in_use_destroyed > 0) RememberHarm(candidate, cost->in_use_destroyed);
    if (layout_ != nullptr && Order(*cost, candidate.position) >= Order(cost_, position_)) return;
    cost_ = *std::move(cost);
    position_ = candidate.position;
    layout_ = candidate.layout;
    // Copies: the candidate's divisions change as the search goes on.
    divisions_.clear();
    for (const ComputeSizes* division : candidate.compute) divisions_.push_back(*division);
  }

  [[nodiscard]] bool won() const { return layout_ != nullptr; }
  [[nodiscard]] std::size_t position() const { return position_; }

  [[nodiscard]] LayoutPlan Describe(ProfileCounts room) const {
    LayoutPlan plan;
    plan.result = *layout_;
    plan.cost = cost_;
    plan.cost.room = std::move(room);
    for (std::size_t i = 0; i < plan.result.size(); ++i) {
      if (const LiveInstance* instance = FindLive(live_, plan.result[i]))
        plan.kept.push_back(*KeepCompute(*instance, divisions_[i]));
      else
        plan.created.push_back({plan.result[i], divisions_[i]});
    }
    for (const LiveInstance& instance : live_)
      if (std::find(layout_->begin(), layout_->end(), instance.place) == layout_->end())
        plan.destroyed.push_back(instance);
    if (cost_.in_use_destroyed > 0) plan.obstacles = Obstacles();
    return plan;
  }

 private:
  static std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::size_t> Order(
      const PlanCost& cost, std::size_t position) {
    return {cost.in_use_destroyed, cost.idle_destroyed, cost.created, cost.compute_changed,
            position};
  }

  void RememberHarm(const Candidate& candidate, std::uint32_t harm) {
    if (harm > least_harm_) return;
    if (harm < least_harm_) hurt_.clear();
    least_harm_ = harm;
    for (const LiveInstance& instance : live_)
      if (const std::optional<Obstacle> obstacle = Harm(instance, candidate))
        hurt_[instance.id].insert(obstacle->compute.begin(), obstacle->compute.end());
  }

  [[nodiscard]] std::vector<Obstacle> Obstacles() const {
    std::vector<Obstacle> obstacles;
    for (const LiveInstance& instance : live_) {
      const auto hurt = hurt_.find(instance.id);
      if (hurt == hurt_.end()) continue;
      obstacles.push_back(
          {instance.place, instance.id, {hurt->second.begin(), hurt->second.end()}});
    }
    return obstacles;
  }

  const std::vector<LiveInstance>& live_;
  PlanCost cost_;
  std::size_t position_ = 0;
  const MigLayout* layout_ = nullptr;
  std::vector<ComputeSizes> divisions_;
  std::uint32_t least_harm_ = std::numeric_limits<std::uint32_t>::max();
  std::map<GpuInstanceId, std::set<ComputeInstanceId>> hurt_;
};

// Hands the divisions of a packing to the places of its profiles, in order.
void Assign(const Packing& packing, Candidate& candidate) {
  candidate.compute.clear();
  std::vector<std::size_t> used(packing.size(), 0);
  for (const PlacedInstance& place : *candidate.layout)
    candidate.compute.push_back(&packing[place.profile][used[place.profile]++]);
}

// The next order of the divisions of each profile; false after the last, when all are as at first.
bool NextAssignment(Packing& packing) {
  return std::any_of(packing.begin(), packing.end(), [](std::vector<ComputeSizes>& divisions) {
    return std::prev_permutation(divisions.begin(), divisions.end());
  });
}

ProfileCounts CountInstances(const Packing& packing) {
  ProfileCounts counts;
  for (const std::vector<ComputeSizes>& divisions : packing)
    counts.push_back(static_cast<std::uint32_t>(divisions.size()));
  return counts;
}

std::vector<LiveInstance> ByStart(std::vector<LiveInstance> live) {
  std::sort(live.begin(), live.end(), [](const LiveInstance& a, const LiveInstance& b) {
    return a.place.start < b.place.start;
  });
  return live;
}

// Everything by which layouts are preferred, least first.
struct Preference {
  std::vector<std::int64_t> key;
  MigLayout layout;
  ProfileCounts room;  // largest profile first
};

class Preferences {
 public:
  explicit Preferences(const MigGeometry& geometry)
      : geometry_(geometry), largest_(LargestFirst(geometry)) {
    for (std::size_t profile = 0; profile < geometry.profiles.size(); ++profile) {
      std::map<std::uint32_t, std::int64_t>& ranks = ranks_.emplace_back();
      for (std::size_t place : PreferredPlacements(geometry, profile))
        ranks.emplace(geometry.profiles[profile].placements[place].start,
                      static_cast<std::int64_t>(ranks.size()));
    }
  }

  [[nodiscard]] Preference Of(MigLayout layout) const {
    Preference preference;
    const ProfileCounts room = RemainingRoom(geometry_, layout);
    for (std::size_t profile : largest_) {
      preference.room.push_back(room[profile]);
      preference.key.push_back(-std::int64_t{room[profile]});
    }
    for (std::size_t profile : largest_) {
      const auto first = static_cast<std::ptrdiff_t>(preference.key.size());
      for (const PlacedInstance& instance : layout)
        if (instance.profile == profile)
          preference.key.push_back(ranks_[profile].at(instance.start));
      std::sort(preference.key.begin() + first, preference.key.end());
    }
    preference.layout = std::move(layout);
    return preference;
  }

 private:
  const MigGeometry& geometry_;
  std::vector<std::size_t> largest_;
  std::vector<std::map<std::uint32_t, std::int64_t>> ranks_;  // [profile][start]
};

}  // namespace

bool LiveInstance::MustStay() const {
  return pinned || std::any_of(compute.begin(), compute.end(),
                               [](const LiveComputeInstance& c) { return c.in_use; });
}

bool LayoutPlan::ChangesNothing() const {
  return destroyed.empty() && created.empty() &&
         std::all_of(kept.begin(), kept.end(),
                     [](const KeptInstance& k) { return k.destroy.empty() && k.create.empty(); });
}

MigPlanner::MigPlanner(MigGeometry geometry) : geometry_(std::move(geometry)) {
  const Preferences preferences(geometry_);
  std::vector<Preference> sorted;
  for (MigLayout& layout : AllLayouts(geometry_))
    sorted.push_back(preferences.Of(std::move(layout)));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Preference& a, const Preference& b) { return a.key < b.key; });
  for (Preference& preference : sorted) {
    by_counts_[CountProfiles(geometry_, preference.layout)].push_back(layouts_.size());
    layouts_.push_back(std::move(preference.layout));
    room_.push_back(std::move(preference.room));
  }
}

std::variant<LayoutPlan, NoLayout> MigPlanner::Plan(const std::vector<LiveInstance>& live,
                                                    const DeviceCounts& wanted) const {
  const std::vector<LiveInstance> present = ByStart(live);
  Contest contest(present);
  Candidate candidate;
  for (Packing& packing : AllPackings(geometry_, wanted)) {
    const auto positions = by_counts_.find(CountInstances(packing));
    if (positions == by_counts_.end()) continue;
    do {
      for (std::size_t position : positions->second) {
        candidate.position = position;
        candidate.layout = &layouts_[position];
        Assign(packing, candidate);
        contest.Weigh(candidate);
      }
    } while (NextAssignment(packing));
  }
  if (contest.won()) return contest.Describe(room_[contest.position()]);

  const ProfileCounts fewest = FewestInstances(geometry_, wanted);
  LayoutViolation violation = ExplainShortfall(geometry_, fewest);
  return NoLayout{violation.rule, std::move(violation.text), NearestAround({}, wanted)};
}

std::vector<ProfileCounts> MigPlanner::NearestAround(const std::vector<LiveInstance>& live,
                                                     const DeviceCounts& wanted) const {
  std::vector<MigLayout> around = layouts_;
  std::erase_if(around, [&](const MigLayout& layout) {
    return std::any_of(live.begin(), live.end(), [&](const LiveInstance& instance) {
      return instance.MustStay() &&
             std::find(layout.begin(), layout.end(), instance.place) == layout.end();
    });
  });
  return NearestCounts(geometry_, FewestInstances(geometry_, wanted),
                       DistinctCounts(geometry_, around));
}

}  // namespace partita::model
