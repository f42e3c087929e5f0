#include "service/device_plugin/placement.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace partita::service::device_plugin {
namespace {

using Gpus = std::vector<std::size_t>;

std::int64_t Sum(const Closeness& gpus, const Gpus& group) {
  std::int64_t sum = 0;
  for (const std::size_t a : group)
    for (const std::size_t b : group) sum += a < b ? gpus.Score(a, b) : 0;
  return sum;
}

Gpus Without(const Gpus& all, const Gpus& some) {
  Gpus rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

void EachGroup(const Gpus& from, std::size_t size, const std::function<void(const Gpus&)>& visit) {
  for (std::uint32_t bits = 0; bits < 1U << from.size(); ++bits) {
    Gpus group;
    for (std::size_t i = 0; i < from.size(); ++i)
      if ((bits >> i & 1U) != 0) group.push_back(from[i]);
    if (group.size() == size) visit(group);
  }
}

// Every division there is, by plain trial.
std::int64_t Divided(const Closeness& gpus, const Gpus& left, std::size_t size) {
  if (left.size() <= size) return Sum(gpus, left);
  std::int64_t best = INT64_MIN;
  // What does not fill a group may be any GPUs: it is taken first.
  const std::size_t first = left.size() % size != 0 ? left.size() % size : size;
  EachGroup(left, first, [&](const Gpus& group) {
    best = std::max(best, Sum(gpus, group) + Divided(gpus, Without(left, group), size));
  });
  return best;
}

Gpus Plain(const Closeness& gpus, const Gpus& required, std::size_t size) {
  Gpus all(gpus.count());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  using Rank = std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t, Gpus>;
  std::optional<Rank> best;
  EachGroup(all, size, [&](const Gpus& group) {
    if (!std::includes(group.begin(), group.end(), required.begin(), required.end())) return;
    const Gpus rest = Without(all, group);
    std::set<int> nodes;
    std::size_t unknown = 0;
    for (const std::size_t gpu : group) {
      if (gpus.Numa(gpu))
        nodes.insert(*gpus.Numa(gpu));
      else
        ++unknown;
    }
    const std::int64_t score = Sum(gpus, group);
    const Rank rank(-score - Divided(gpus, rest, size), -score, nodes.size() + unknown,
                    -Sum(gpus, rest), group);
    if (!best || rank < *best) best = rank;
  });
  return std::get<Gpus>(*best);
}

Closeness Random(std::size_t count, std::mt19937& random) {
  Closeness gpus(count);
  const bool few = random() % 2 == 0;  // many ties
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 5 != 0) gpus.SetNuma(i, static_cast<int>(random() % 3));
    for (std::size_t j = 0; j < i; ++j)
      gpus.SetScore(i, j, static_cast<std::int32_t>(few ? random() % 3 * 50 : random() % 1900));
  }
  return gpus;
}

TEST(Placement, IsTheBestOfAllForSmallNodes) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    const std::size_t count = 2 + random() % 6;
    const Closeness gpus = Random(count, random);
    for (std::size_t size = 1; size <= count; ++size) {
      for (std::uint32_t bits = 0; bits < 1U << count;
           bits += static_cast<std::uint32_t>(1 + random() % 5)) {
        Gpus required;
        for (std::size_t i = 0; i < count; ++i)
          if ((bits >> i & 1U) != 0) required.push_back(i);
        if (required.size() > size) continue;
        ASSERT_EQ(Place(gpus, required, size).gpus, Plain(gpus, required, size))
            << "round " << round << ", " << size << " of " << count << ", required " << bits;
      }
    }
  }
}

TEST(Placement, IsTheBestOfAllForEightGpus) {
  std::mt19937 random(8);
  for (int round = 0; round < 4; ++round) {
    const Closeness gpus = Random(8, random);
    for (std::size_t size = 1; size <= 8; ++size)
      for (const Gpus& required : {Gpus{}, Gpus{5}})
        ASSERT_EQ(Place(gpus, required, size).gpus, Plain(gpus, required, size)) << size;
  }
}

// The same for nodes on which plain trial takes too long: each set of GPUs is divided once. Sets
// are numbers with a bit for each GPU.
class Trial {
 public:
  Trial(const Closeness& gpus, std::size_t size)
      : gpus_(gpus),
        size_(size),
        scores_(std::size_t{1} << gpus.count()),
        divided_(scores_.size()) {
    for (std::uint32_t set = 1; set < scores_.size(); ++set) {
      const auto first = static_cast<std::size_t>(std::countr_zero(set));
      const std::uint32_t others = set & (set - 1);
      scores_[set] = scores_[others];
      for (std::size_t gpu = first + 1; gpu < gpus.count(); ++gpu)
        if ((others >> gpu & 1U) != 0) scores_[set] += gpus.Score(first, gpu);
    }
  }

  [[nodiscard]] Gpus Best(const Gpus& required) {
    std::uint32_t must = 0;
    for (const std::size_t gpu : required) must |= 1U << gpu;
    const auto all = static_cast<std::uint32_t>(scores_.size() - 1);
    std::optional<Rank> best;
    for (std::uint32_t group = must; group <= all; group = (group + 1) | must) {
      if (Count(group) != size_) continue;
      const std::uint32_t rest = all & ~group;
      Rank rank(-scores_[group] - Divided(rest), -scores_[group], Nodes(group), -scores_[rest],
                Members(group));
      if (!best || rank < *best) best = std::move(rank);
    }
    return std::get<Gpus>(*best);
  }

 private:
  using Rank = std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t, Gpus>;

  [[nodiscard]] Gpus Members(std::uint32_t set) const {
    Gpus members;
    for (std::size_t gpu = 0; gpu < gpus_.count(); ++gpu)
      if ((set >> gpu & 1U) != 0) members.push_back(gpu);
    return members;
  }

  [[nodiscard]] std::size_t Nodes(std::uint32_t group) const {
    std::set<int> nodes;
    std::size_t unknown = 0;
    for (const std::size_t gpu : Members(group)) {
      if (gpus_.Numa(gpu))
        nodes.insert(*gpus_.Numa(gpu));
      else
        ++unknown;
    }
    return nodes.size() + unknown;
  }

  // What does not fill a group may be any of them; then each whole group begins with the first GPU
  // that is in none yet.
  std::int64_t Divided(std::uint32_t left) {
    const std::size_t over = Count(left) % size_;
    if (over == 0) return InWhole(left);
    std::int64_t best = INT64_MIN;
    EachOf(left, over, 0, [&](std::uint32_t group) {
      best = std::max(best, scores_[group] + InWhole(left & ~group));
    });
    return best;
  }

  std::int64_t InWhole(std::uint32_t left) {
    if (left == 0 || divided_[left] != 0) return divided_[left];
    std::int64_t best = INT64_MIN;
    const std::uint32_t first = left & (~left + 1);
    EachOf(left & ~first, size_ - 1, first, [&](std::uint32_t group) {
      best = std::max(best, scores_[group] + InWhole(left & ~group));
    });
    return divided_[left] = best;
  }

  // `group` with `more` of `from`, every way.
  template <typename Visit>
  static void EachOf(std::uint32_t from,
                     std::size_t more,
                     std::uint32_t group,
                     const Visit& visit) {
    if (more == 0) return visit(group);
    for (; Count(from) >= more; from &= from - 1)
      EachOf(from & (from - 1), more - 1, group | (from & (~from + 1)), visit);
  }

  static std::size_t Count(std::uint32_t set) {
    return static_cast<std::size_t>(std::popcount(set));
  }

  const Closeness& gpus_;
  std::size_t size_;
  std::vector<std::int64_t> scores_, divided_;  // of each set; 0: not divided yet, or worth nothing
};

TEST(Placement, IsTheBestOfAllForSixteenGpus) {
  std::mt19937 random(9);
  for (std::size_t count = 9; count <= kExactUpTo; ++count) {
    const Closeness gpus = Random(count, random);
    for (std::size_t size = 1; size <= count; ++size) {
      Trial trial(gpus, size);
      const std::size_t one = random() % count;
      for (const Gpus& required : {Gpus{}, Gpus{one}})
        ASSERT_EQ(Place(gpus, required, size).gpus, trial.Best(required))
            << size << " of " << count << ", " << required.size() << " required";
    }
  }
}

// Groups of `clique` GPUs that reach each other well.
Closeness Cliques(std::size_t count, std::size_t clique) {
  Closeness gpus(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) gpus.SetScore(i, j, i / clique == j / clique ? 210 : 10);
  return gpus;
}

// Two pairs with two NVLinks each; GPU 2 has one to GPU 1. Taking the pair of two nodes would leave
// the three that are linked.
TEST(Placement, StaysOnOneNumaNodeBeforeItSparesTheRest) {
  Closeness gpus(5);
  for (std::size_t i = 0; i < 5; ++i) {
    gpus.SetNuma(i, i == 4 ? 0 : 1);
    for (std::size_t j = 0; j < i; ++j) gpus.SetScore(i, j, 10);
  }
  gpus.SetScore(0, 1, 210);
  gpus.SetScore(1, 2, 110);
  gpus.SetScore(3, 4, 210);
  EXPECT_EQ(Place(gpus, {}, 2).gpus, (Gpus{0, 1}));
  // On one node it spares the rest.
  gpus.SetNuma(4, 1);
  EXPECT_EQ(Place(gpus, {}, 2).gpus, (Gpus{3, 4}));
}

TEST(Placement, OfSixteenTakesAFewMillionStepsAtMost) {
  std::mt19937 random(16);
  const Closeness gpus = Random(16, random);
  for (std::size_t size = 1; size <= 16; ++size) {
    const Placed placed = Place(gpus, {}, size);
    EXPECT_EQ(placed.gpus.size(), size);
    EXPECT_LT(placed.steps, kMostSteps) << size;
  }
  for (const std::size_t size : {1U, 2U, 4U, 8U})
    EXPECT_LT(Place(Random(8, random), {}, size).steps, 700U) << size;
}

TEST(Placement, OfManyEndsAndFindsWhatBelongsTogether) {
  for (const std::size_t count : {17U, 64U, 128U}) {
    const Closeness gpus = Cliques(count, 8);
    for (std::size_t size = 1; size <= count; size += 1 + size / 3) {
      const Placed placed = Place(gpus, {9}, size);
      EXPECT_LE(placed.steps, kMostSteps) << size << " of " << count;
      ASSERT_EQ(placed.gpus.size(), size);
      EXPECT_TRUE(std::binary_search(placed.gpus.begin(), placed.gpus.end(), 9U));
    }
  }
  EXPECT_EQ(Place(Cliques(64, 8), {9}, 8).gpus, (Gpus{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(Place(Cliques(64, 8), {}, 4).gpus, (Gpus{0, 1, 2, 3}));
}

TEST(Placement, OfManyKeepsWhatIsRequired) {
  std::mt19937 random(20);
  for (int round = 0; round < 50; ++round) {
    const Closeness gpus = Random(20, random);
    const std::size_t first = random() % 19;
    const Gpus required = {first, first + 1 + random() % (19 - first)};
    const Gpus placed = Place(gpus, required, 3 + random() % 5).gpus;
    EXPECT_TRUE(std::includes(placed.begin(), placed.end(), required.begin(), required.end()));
  }
}

TEST(Placement, OfManyKeepsPairsTogetherWhereverTheyAre) {
  std::mt19937 random(64);
  Closeness gpus(64);
  Gpus order(64);
  for (std::size_t i = 0; i < 64; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < i; ++j)
      gpus.SetScore(order[i], order[j], i / 2 == j / 2 ? 400 : 10);
  for (std::size_t i = 0; i < 64; ++i) {
    const Gpus placed = Place(gpus, {order[i]}, 2).gpus;
    Gpus expected = {order[i], order[i ^ 1U]};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(placed, expected);
  }
}

TEST(Placement, OfManyWorstCaseIsBounded) {
  std::mt19937 random(5);
  const Closeness gpus = Random(200, random);
  for (const std::size_t size : {2U, 3U, 7U, 64U})
    EXPECT_LE(Place(gpus, {}, size).steps, kMostSteps + std::size_t{200} * 201) << size;
}

}  // namespace
}  // namespace partita::service::device_plugin
