// One A100: every layout as what exists, every possible set of instances as what is wanted, every
// subset of what exists in use. The judge below knows MIG by itself: it shares no code with the
// geometry or the planner, only the profiles of data/products, and weighs every final layout.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "model/mig/plan.h"
#include "model/mig/planner.h"
#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

// The profiles of the A100 that this is about, largest first, each with its places in the order of
// preference that the project has decided on.
struct Preferred {
  std::uint32_t constant;  // NVML's
  std::vector<std::uint32_t> starts;
};
const std::vector<Preferred> kProfiles = {
    {4, {0}},                    // 7g
    {3, {0}},                    // 4g
    {2, {4, 0}},                 // 3g
    {1, {4, 0, 2}},              // 2g
    {9, {6, 4, 0, 2}},           // 1g with double memory
    {0, {6, 4, 5, 0, 1, 2, 3}},  // 1g
};

// A set of instances is a set of seats: a seat is one place of one profile.
using Seats = std::uint32_t;
using Counts = std::array<std::uint32_t, 6>;

struct Seat {
  std::size_t profile = 0;  // in kProfiles
  std::size_t rank = 0;     // in its order of preference
  std::uint32_t start = 0;
  std::uint32_t slices = 0;  // mask of memory slices
};

class Judge {
 public:
  explicit Judge(const std::vector<GpuInstanceProfile>& facts) {
    for (std::size_t profile = 0; profile < kProfiles.size(); ++profile) {
      const auto fact = std::find_if(facts.begin(), facts.end(), [&](const auto& f) {
        return f.constant.value() == kProfiles[profile].constant;
      });
      most_[profile] = fact->instance_count;
      const std::vector<std::uint32_t>& starts = kProfiles[profile].starts;
      EXPECT_EQ(starts.size(), fact->placements.size());
      for (std::size_t rank = 0; rank < starts.size(); ++rank) {
        const std::uint32_t size = fact->placements.front().size;
        seats_.push_back({profile, rank, starts[rank], ((1U << size) - 1U) << starts[rank]});
      }
    }
    Collect(0, 0, 0);
    std::sort(layouts_.begin(), layouts_.end(),
              [&](Seats a, Seats b) { return Attraction(a) < Attraction(b); });
    for (std::size_t i = 0; i < layouts_.size(); ++i)
      by_counts_[CountsOf(layouts_[i])].push_back(i);
  }

  // All legal ones, best first.
  [[nodiscard]] const std::vector<Seats>& layouts() const { return layouts_; }
  // What can be wanted, and for each the positions of its layouts.
  [[nodiscard]] const std::map<Counts, std::vector<std::size_t>>& by_counts() const {
    return by_counts_;
  }
  [[nodiscard]] const std::vector<Seat>& seats() const { return seats_; }
  [[nodiscard]] std::size_t SeatAt(std::size_t profile, std::uint32_t start) const {
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if (seats_[i].profile == profile && seats_[i].start == start) return i;
    ADD_FAILURE() << "no seat of profile " << profile << " at " << start;
    return 0;
  }

  [[nodiscard]] Counts CountsOf(Seats layout) const {
    Counts counts{};
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if ((layout >> i & 1U) != 0) ++counts[seats_[i].profile];
    return counts;
  }

  struct Verdict {
    std::uint32_t in_use_lost, idle_lost, made;
    std::size_t position;  // in layouts()
    auto operator<=>(const Verdict&) const = default;
  };
  [[nodiscard]] Verdict Best(Seats current,
                             Seats used,
                             const std::vector<std::size_t>& candidates) const {
    Verdict best{~0U, ~0U, ~0U, ~std::size_t{0}};
    for (std::size_t position : candidates) {
      const Seats result = layouts_[position];
      const Verdict verdict{Size(used & ~result), Size(current & ~used & ~result),
                            Size(result & ~current), position};
      best = std::min(best, verdict);
    }
    return best;
  }

  static std::uint32_t Size(Seats seats) {
    return static_cast<std::uint32_t>(std::popcount(seats));
  }

 private:
  void Collect(std::size_t next, Seats chosen, std::uint32_t slices) {
    if (next == seats_.size()) {
      const Counts counts = CountsOf(chosen);
      for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > most_[i]) return;
      layouts_.push_back(chosen);
      return;
    }
    Collect(next + 1, chosen, slices);
    if ((slices & seats_[next].slices) == 0)
      Collect(next + 1, chosen | 1U << next, slices | seats_[next].slices);
  }

  // The most instances of one profile in the free slices, by trying all.
  [[nodiscard]] std::uint32_t Room(std::size_t profile,
                                   std::uint32_t taken,
                                   std::size_t from) const {
    std::uint32_t most = 0;
    for (std::size_t i = from; i < seats_.size(); ++i) {
      if (seats_[i].profile != profile || (taken & seats_[i].slices) != 0) continue;
      most = std::max(most, 1 + Room(profile, taken | seats_[i].slices, i + 1));
    }
    return most;
  }

  // Less is better: room for the largest profiles, then preferred places of the largest profiles.
  [[nodiscard]] std::vector<std::int64_t> Attraction(Seats layout) const {
    std::uint32_t taken = 0;
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if ((layout >> i & 1U) != 0) taken |= seats_[i].slices;
    const Counts counts = CountsOf(layout);
    std::vector<std::int64_t> key;
    for (std::size_t profile = 0; profile < kProfiles.size(); ++profile)
      key.push_back(
          -std::int64_t{std::min(Room(profile, taken, 0), most_[profile] - counts[profile])});
    // Seats stand in the order of profiles and of preference.
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if ((layout >> i & 1U) != 0) key.push_back(static_cast<std::int64_t>(seats_[i].rank));
    return key;
  }

  Counts most_{};
  std::vector<Seat> seats_;
  std::vector<Seats> layouts_;
  std::map<Counts, std::vector<std::size_t>> by_counts_;
};

// Between the judge's seats and the planner's values.
class Translator {
 public:
  Translator(const Judge& judge, const MigGeometry& geometry) : judge_(judge), geometry_(geometry) {
    for (const Preferred& profile : kProfiles) {
      const auto found =
          std::find_if(geometry.profiles.begin(), geometry.profiles.end(),
                       [&](const auto& p) { return p.constant.value() == profile.constant; });
      positions_.push_back(static_cast<std::size_t>(found - geometry.profiles.begin()));
    }
  }

  [[nodiscard]] std::vector<LiveInstance> Live(Seats current, Seats used) const {
    std::vector<LiveInstance> live;
    for (std::size_t i = 0; i < judge_.seats().size(); ++i) {
      if ((current >> i & 1U) == 0) continue;
      LiveInstance instance;
      instance.id = GpuInstanceId(static_cast<std::uint32_t>(i));
      instance.place = {positions_[judge_.seats()[i].profile], judge_.seats()[i].start};
      instance.compute = {{ComputeInstanceId(0), Width(instance.place), (used >> i & 1U) != 0}};
      live.push_back(std::move(instance));
    }
    return live;
  }

  [[nodiscard]] DeviceCounts Wanted(const Counts& counts) const {
    DeviceCounts wanted;
    for (std::size_t i = 0; i < counts.size(); ++i)
      AddDevices(wanted, {positions_[i], Width({positions_[i], 0})}, counts[i]);
    return wanted;
  }

  [[nodiscard]] std::size_t SeatOf(const PlacedInstance& place) const {
    const auto found = std::find(positions_.begin(), positions_.end(), place.profile);
    return judge_.SeatAt(static_cast<std::size_t>(found - positions_.begin()), place.start);
  }

  [[nodiscard]] std::uint32_t Width(const PlacedInstance& place) const {
    return geometry_.profiles[place.profile].slice_count;
  }

 private:
  const Judge& judge_;
  const MigGeometry& geometry_;
  std::vector<std::size_t> positions_;  // in the geometry, of kProfiles
};

// What the steps of a plan make of what exists. Fails when one destroys what has parts, makes what
// overlaps, or touches what is not there.
class Machine {
 public:
  Machine(const Judge& judge, const Translator& translator, Seats current)
      : judge_(judge), translator_(translator), instances_(current), compute_(current) {}

  [[nodiscard]] bool Do(const PlanStep& step) {
    const std::size_t seat = translator_.SeatOf(step.place);
    const Seats bit = 1U << seat;
    switch (step.kind) {
      case StepKind::kDestroyCompute: return Clear(compute_, bit);
      case StepKind::kDestroyInstance: return (compute_ & bit) == 0 && Clear(instances_, bit);
      case StepKind::kCreateInstance: return Fits(seat) && Set(instances_, bit);
      case StepKind::kCreateCompute:
        return (instances_ & bit) != 0 && step.compute_slices == translator_.Width(step.place) &&
               Set(compute_, bit);
      case StepKind::kSetMode:
      case StepKind::kReset: return false;
    }
    return false;
  }

  [[nodiscard]] bool Holds(Seats wanted) const {
    return instances_ == wanted && compute_ == wanted;
  }

 private:
  static bool Clear(Seats& seats, Seats bit) {
    const bool there = (seats & bit) != 0;
    seats &= ~bit;
    return there;
  }
  static bool Set(Seats& seats, Seats bit) {
    const bool absent = (seats & bit) == 0;
    seats |= bit;
    return absent;
  }
  [[nodiscard]] bool Fits(std::size_t seat) const {
    for (std::size_t i = 0; i < judge_.seats().size(); ++i)
      if ((instances_ >> i & 1U) != 0 &&
          (judge_.seats()[i].slices & judge_.seats()[seat].slices) != 0)
        return false;
    return true;
  }

  const Judge& judge_;
  const Translator& translator_;
  Seats instances_, compute_;
};

struct Case {
  Seats current, used;
  const std::vector<std::size_t>* candidates;
};

// Empty when the plan is valid and the best there is.
std::string Fault(const Judge& judge,
                  const Translator& translator,
                  const Case& c,
                  const std::variant<LayoutPlan, NoLayout>& answer) {
  if (!std::holds_alternative<LayoutPlan>(answer)) return "no layout was found";
  const auto& layout = std::get<LayoutPlan>(answer);
  const Judge::Verdict best = judge.Best(c.current, c.used, *c.candidates);
  const Seats wanted = judge.layouts()[best.position];
  Seats result = 0;
  for (const PlacedInstance& place : layout.result) result |= 1U << translator.SeatOf(place);
  if (result != wanted) return "another layout is better";

  if (layout.cost.in_use_destroyed != best.in_use_lost ||
      layout.cost.idle_destroyed != best.idle_lost || layout.cost.created != best.made ||
      layout.cost.compute_changed != 0)
    return "the cost is wrong";
  Seats obstacles = 0;
  for (const Obstacle& obstacle : layout.obstacles)
    obstacles |= 1U << translator.SeatOf(obstacle.place);
  if ((obstacles & ~c.used) != 0) return "an obstacle is not in use";
  if ((c.used & ~wanted & ~obstacles) != 0) return "an obstacle is missing";
  if (best.in_use_lost == 0 && obstacles != 0) return "an obstacle although nothing in use goes";

  GpuPlan plan;
  plan.layout = layout;
  Machine machine(judge, translator, c.current);
  for (const PlanStep& step : Steps(plan))
    if (!machine.Do(step)) return "a step cannot be done";
  if (!machine.Holds(wanted)) return "the steps do not lead to the result";
  return "";
}

TEST(MigPlanner, PlansTheBestOfAllLayoutsInEveryCase) {
  const std::vector<std::uint32_t> constants = {0, 1, 2, 3, 4, 9};
  const MigPlanner planner(testing::ProductGeometry("A100-SXM4-40GB", constants));
  const Judge judge(planner.geometry().profiles);
  const Translator translator(judge, planner.geometry());
  ASSERT_EQ(judge.layouts().size(), 723U);
  ASSERT_EQ(judge.by_counts().size(), 78U);

  std::size_t cases = 0;
  for (const Seats current : judge.layouts()) {
    // Every subset, the whole first and none last.
    for (Seats used = current;; used = (used - 1) & current) {
      const std::vector<LiveInstance> live = translator.Live(current, used);
      for (const auto& [counts, candidates] : judge.by_counts()) {
        const auto answer = planner.Plan(live, translator.Wanted(counts));
        const std::string fault = Fault(judge, translator, {current, used, &candidates}, answer);
        ASSERT_EQ(fault, "") << "seats " << current << ", in use " << used << ", wanted counts "
                             << ::testing::PrintToString(counts);
        ++cases;
      }
      if (used == 0) break;
    }
  }
  EXPECT_EQ(cases, 904'254U);
}

}  // namespace
}  // namespace partita::model
