#include "service/device_plugin/placement.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace partita::service::device_plugin {
namespace {

// Compared from the first to the last.
struct Rank {
  std::int64_t divided = 0, group = 0;
  std::size_t numa_nodes = 0;  // the fewer the better
  std::int64_t rest = 0;
  std::vector<std::size_t> gpus;

  [[nodiscard]] bool Beats(const Rank& other) const {
    if (divided != other.divided) return divided > other.divided;
    if (group != other.group) return group > other.group;
    if (numa_nodes != other.numa_nodes) return numa_nodes < other.numa_nodes;
    if (rest != other.rest) return rest > other.rest;
    return gpus < other.gpus;
  }
};

// A GPU of which nobody knows where it is counts as a node of its own.
std::size_t NumaNodes(const Closeness& gpus, const std::vector<std::size_t>& group) {
  std::set<int> nodes;
  std::size_t unknown = 0;
  for (const std::size_t gpu : group) {
    if (gpus.Numa(gpu)) {
      nodes.insert(*gpus.Numa(gpu));
    } else {
      ++unknown;
    }
  }
  return nodes.size() + unknown;
}

std::int64_t Sum(const Closeness& gpus, const std::vector<std::size_t>& group) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < group.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) sum += gpus.Score(group[i], group[j]);
  return sum;
}

std::vector<std::size_t> Others(const Closeness& gpus, const std::vector<std::size_t>& group) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < gpus.count(); ++i)
    if (!std::binary_search(group.begin(), group.end(), i)) others.push_back(i);
  return others;
}

Rank RankOf(const Closeness& gpus, std::vector<std::size_t> group, std::int64_t divided) {
  Rank rank;
  rank.divided = divided;
  rank.group = Sum(gpus, group);
  rank.rest = Sum(gpus, Others(gpus, group));
  rank.numa_nodes = NumaNodes(gpus, group);
  rank.gpus = std::move(group);
  return rank;
}

// One GPU: there are no pairs in any group and it is on one node, so that what is left decides.
Placed PlaceOne(const Closeness& gpus) {
  Placed placed;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < gpus.count(); ++i) {
    std::int64_t cost = 0;
    for (std::size_t j = 0; j < gpus.count(); ++j, ++placed.steps)
      if (j != i) cost += gpus.Score(i, j);
    if (placed.gpus.empty() || cost < least) {
      least = cost;
      placed.gpus = {i};
    }
  }
  return placed;
}

// Sets of GPUs as bits. What a set is worth when divided is found once for each set: a division
// into groups has the group of its lowest GPU, and a division of what is left.
class Exact {
 public:
  using Set = std::uint32_t;

  Exact(const Closeness& gpus, std::size_t size)
      : gpus_(gpus),
        size_(size),
        remainder_(gpus.count() % size),
        scores_(std::size_t{1} << gpus.count(), 0),
        divided_(scores_.size(), kUnknown) {
    for (Set set = 1; set < scores_.size(); ++set) {
      const auto lowest = static_cast<std::size_t>(std::countr_zero(set));
      const Set rest = set & (set - 1);
      std::int32_t score = scores_[rest];
      for (Set left = rest; left != 0; left &= left - 1)
        score += gpus.Score(lowest, static_cast<std::size_t>(std::countr_zero(left)));
      scores_[set] = score;
    }
  }

  Placed Best(const std::vector<std::size_t>& required) {
    Set must = 0;
    for (const std::size_t gpu : required) must |= Set{1} << gpu;
    const auto all = static_cast<Set>(scores_.size() - 1);
    bool any = false;
    ForEach(all & ~must, size_ - required.size(), [&](Set chosen) {
      const Set group = chosen | must;
      const std::int64_t divided = scores_[group] + Divided(all & ~group);
      if (any && divided < best_.divided) return;
      Rank rank = RankOf(group, all, divided);
      if (any && !rank.Beats(best_)) return;
      any = true;
      best_ = std::move(rank);
    });
    return {best_.gpus, steps_};
  }

 private:
  static constexpr std::int32_t kUnknown = INT32_MIN;

  [[nodiscard]] Rank RankOf(Set group, Set all, std::int64_t divided) const {
    Rank rank;
    rank.divided = divided;
    rank.group = scores_[group];
    rank.rest = scores_[all & ~group];
    for (Set left = group; left != 0; left &= left - 1)
      rank.gpus.push_back(static_cast<std::size_t>(std::countr_zero(left)));
    rank.numa_nodes = NumaNodes(gpus_, rank.gpus);
    return rank;
  }

  // All sets of `count` out of `from`.
  template <typename Visit>
  void ForEach(Set from, std::size_t count, const Visit& visit, Set chosen = 0) {
    if (count == 0) {
      ++steps_;
      visit(chosen);
      return;
    }
    while (static_cast<std::size_t>(std::popcount(from)) >= count) {
      const Set lowest = from & (~from + 1);
      from &= ~lowest;
      ForEach(from, count - 1, visit, chosen | lowest);
    }
  }

  // The lowest GPU is in a full group, or in the one that is not full where that is still to come.
  std::int32_t Divided(Set set) {
    if (set == 0) return 0;
    if (divided_[set] != kUnknown) return divided_[set];
    std::int32_t best = kUnknown;
    const Set lowest = set & (~set + 1);
    const auto count = static_cast<std::size_t>(std::popcount(set));
    const auto visit = [&](Set others) {
      const Set group = others | lowest;
      best = std::max(best, scores_[group] + Divided(set & ~group));
    };
    if (count >= size_) ForEach(set & ~lowest, size_ - 1, visit);
    if (remainder_ != 0 && count % size_ == remainder_)
      ForEach(set & ~lowest, remainder_ - 1, visit);
    return divided_[set] = best;
  }

  const Closeness& gpus_;
  std::size_t size_;
  std::size_t remainder_;
  std::vector<std::int32_t> scores_;   // of a set's pairs
  std::vector<std::int32_t> divided_;  // the best of its divisions
  Rank best_;
  std::size_t steps_ = 0;
};

// Groups that are grown one after the other, then improved by exchanging two GPUs as long as that
// gains something.
class Improved {
 public:
  Improved(const Closeness& gpus, std::size_t size)
      : gpus_(gpus), size_(size), group_of_(gpus.count(), kNone) {}

  Placed Best(const std::vector<std::size_t>& required) {
    required_ = required;
    Grow();
    Measure();
    while (Exchange()) {
    }
    return {Choose(), steps_};
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  [[nodiscard]] std::size_t Groups() const { return (gpus_.count() + size_ - 1) / size_; }
  // Only the last may not be full.
  [[nodiscard]] std::size_t SizeOf(std::size_t group) const {
    return std::min(size_, gpus_.count() - group * size_);
  }

  void Grow() {
    for (const std::size_t gpu : required_) group_of_[gpu] = 0;
    for (std::size_t group = 0; group < Groups(); ++group) {
      std::vector<std::int64_t> gain(gpus_.count(), 0);
      std::size_t have = 0;
      for (std::size_t i = 0; i < gpus_.count(); ++i) {
        if (group_of_[i] != group) continue;
        ++have;
        AddTo(gain, i);
      }
      for (; have < SizeOf(group); ++have) {
        std::size_t best = kNone;
        for (std::size_t i = 0; i < gpus_.count(); ++i, ++steps_)
          if (group_of_[i] == kNone && (best == kNone || gain[i] > gain[best])) best = i;
        group_of_[best] = group;
        AddTo(gain, best);
      }
    }
  }

  void AddTo(std::vector<std::int64_t>& gain, std::size_t gpu) {
    for (std::size_t i = 0; i < gpus_.count(); ++i) gain[i] += i == gpu ? 0 : gpus_.Score(i, gpu);
  }

  // What each GPU scores with the members of each group.
  void Measure() {
    with_.assign(gpus_.count() * Groups(), 0);
    for (std::size_t i = 0; i < gpus_.count(); ++i)
      for (std::size_t j = 0; j < gpus_.count(); ++j, ++steps_)
        if (i != j) With(i, group_of_[j]) += gpus_.Score(i, j);
  }
  std::int64_t& With(std::size_t gpu, std::size_t group) { return with_[gpu * Groups() + group]; }

  [[nodiscard]] bool Fixed(std::size_t gpu) const {
    return std::find(required_.begin(), required_.end(), gpu) != required_.end();
  }

  // One round; false when nothing was gained or the steps are used up.
  bool Exchange() {
    bool gained = false;
    for (std::size_t a = 0; a < gpus_.count(); ++a) {
      if (Fixed(a)) continue;
      for (std::size_t b = a + 1; b < gpus_.count(); ++b) {
        if (++steps_ > kMostSteps) return false;
        const std::size_t of_a = group_of_[a];
        const std::size_t of_b = group_of_[b];
        if (of_a == of_b || Fixed(b)) continue;
        const std::int64_t gain = With(a, of_b) - With(a, of_a) + With(b, of_a) - With(b, of_b) -
                                  2 * std::int64_t{gpus_.Score(a, b)};
        if (gain <= 0) continue;
        Swap(a, b);
        gained = true;
      }
    }
    return gained;
  }

  void Swap(std::size_t a, std::size_t b) {
    const std::size_t of_a = group_of_[a];
    const std::size_t of_b = group_of_[b];
    for (std::size_t i = 0; i < gpus_.count(); ++i, ++steps_) {
      const std::int64_t less = i == a ? 0 : gpus_.Score(i, a);
      const std::int64_t more = i == b ? 0 : gpus_.Score(i, b);
      With(i, of_a) += more - less;
      With(i, of_b) += less - more;
    }
    std::swap(group_of_[a], group_of_[b]);
  }

  [[nodiscard]] std::vector<std::size_t> Choose() const {
    std::optional<Rank> best;
    for (std::size_t group = 0; group < Groups(); ++group) {
      if (SizeOf(group) < size_ || (group > 0 && !required_.empty())) continue;
      std::vector<std::size_t> members;
      for (std::size_t i = 0; i < gpus_.count(); ++i)
        if (group_of_[i] == group) members.push_back(i);
      Rank rank = RankOf(gpus_, std::move(members), 0);
      if (!best || rank.Beats(*best)) best = std::move(rank);
    }
    return best->gpus;
  }

  const Closeness& gpus_;
  std::size_t size_;
  std::vector<std::size_t> required_;
  std::vector<std::size_t> group_of_;
  std::vector<std::int64_t> with_;
  std::size_t steps_ = 0;
};

}  // namespace

Placed Place(const Closeness& gpus, const std::vector<std::size_t>& required, std::size_t size) {
  if (size == required.size()) {
    Placed placed{required, 0};
    std::sort(placed.gpus.begin(), placed.gpus.end());
    return placed;
  }
  if (size == gpus.count()) return {Others(gpus, {}), 0};
  if (size == 1) return PlaceOne(gpus);
  if (gpus.count() <= kExactUpTo) return Exact(gpus, size).Best(required);
  return Improved(gpus, size).Best(required);
}

}  // namespace partita::service::device_plugin
