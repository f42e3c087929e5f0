#include "service/device_plugin/prefer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "service/device_plugin/allocate.h"
#include "service/device_plugin/placement.h"
#include "service/device_plugin/spread.h"
#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using config::SharePolicy;
using model::PathLevel;
using testing::Lines;

std::vector<std::string_view> Views(const Lines& lines) { return {lines.begin(), lines.end()}; }

struct Pair {
  std::size_t a, b;
};

// A node whose GPUs are numbered as in the tables of published topologies.
class Topology {
 public:
  explicit Topology(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      model::Gpu& gpu = node_.gpus.emplace_back(model::testing::A100(0));
      gpu.index = model::GpuIndex(i);
      gpu.uuid = model::GpuUuid("GPU-" + std::to_string(i));
      gpu.pci = {0, static_cast<std::uint8_t>(i + 1), 0, 0};
      gpu.numa_node.reset();
      for (std::uint32_t j = 0; j < i; ++j)
        node_.links.push_back({node_.gpus[j].pci, gpu.pci, PathLevel::kSystem, 0});
    }
  }
  Topology& Path(PathLevel path, const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) Find(pair).path = path;
    return *this;
  }
  Topology& Nvlinks(std::uint32_t count, const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) Find(pair).nvlinks = count;
    return *this;
  }
  model::Inventory& node() { return node_; }

  [[nodiscard]] Lines Ask(const Lines& available, const Lines& required, std::size_t size) const {
    const Offered offered = testing::OfferAll(node_, {});
    Lines answer = Prefer(offered.resources[0], node_, SharePolicy::kDistributed, Views(available),
                          Views(required), size);
    std::sort(answer.begin(), answer.end());
    return answer;
  }
  // Numbers in, numbers out; the order in which kubelet asks must not matter.
  [[nodiscard]] std::string Ask(const std::string& available,
                                const std::string& required,
                                std::size_t size) const {
    const auto ids = [](const std::string& digits) {
      Lines lines;
      for (const char digit : digits) lines.push_back(std::string("GPU-") + digit);
      return lines;
    };
    Lines asked = ids(available);
    const Lines answer = Ask(asked, ids(required), size);
    std::mt19937 random(1);
    for (int i = 0; i < 3; ++i) {
      std::shuffle(asked.begin(), asked.end(), random);
      EXPECT_EQ(Ask(asked, ids(required), size), answer);
    }
    std::string digits;
    for (const std::string& id : answer) digits += id.back();
    return digits;
  }

 private:
  model::GpuLink& Find(const Pair& pair) {
    const model::PciAddress& a = node_.gpus[pair.a].pci;
    const model::PciAddress& b = node_.gpus[pair.b].pci;
    return *std::find_if(node_.links.begin(), node_.links.end(),
                         [&](const model::GpuLink& link) { return link.a == a && link.b == b; });
  }
  model::Inventory node_;
};

Topology Dgx1Volta() {
  Topology node(8);
  node.Path(PathLevel::kOneSwitch, {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  node.Path(PathLevel::kHostBridge,
            {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {4, 6}, {4, 7}, {5, 6}, {5, 7}});
  node.Nvlinks(2, {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}});
  node.Nvlinks(1, {{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}});
  return node;
}

TEST(Prefer, PlacesLikeTheReferenceOnADgx1Volta) {
  const Topology node = Dgx1Volta();
  EXPECT_EQ(node.Ask("0245", "", 2), "45");
  EXPECT_EQ(node.Ask("0456", "", 2), "56");
  EXPECT_EQ(node.Ask("031", "", 2), "03");
  EXPECT_EQ(node.Ask("014", "", 2), "04");
  EXPECT_EQ(node.Ask("01234567", "4", 1), "4");
  EXPECT_EQ(node.Ask("01234567", "4", 2), "47");
  EXPECT_EQ(node.Ask("01234567", "4", 4), "4567");
  EXPECT_EQ(node.Ask("01234567", "0246", 4), "0246");
  EXPECT_EQ(node.Ask("1234567", "0123", 4), "") << "what is required is not free";
  EXPECT_EQ(node.Ask("01234567", "123456", 4), "") << "more is required than asked for";
}

TEST(Prefer, PlacesLikeTheReferenceOnADgx1Pascal) {
  Topology node(8);
  node.Path(PathLevel::kOneSwitch, {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  node.Path(PathLevel::kHostBridge,
            {{0, 1}, {0, 3}, {1, 2}, {2, 3}, {4, 5}, {4, 7}, {5, 6}, {6, 7}});
  node.Nvlinks(1, {{0, 1},
                   {0, 2},
                   {0, 3},
                   {0, 4},
                   {1, 2},
                   {1, 3},
                   {1, 5},
                   {2, 3},
                   {2, 6},
                   {3, 7},
                   {4, 5},
                   {4, 6},
                   {4, 7},
                   {5, 6},
                   {5, 7},
                   {6, 7}});
  EXPECT_EQ(node.Ask("01234567", "", 2), "02");
  EXPECT_EQ(node.Ask("134567", "", 2), "13");
  EXPECT_EQ(node.Ask("4567", "", 2), "46");
  EXPECT_EQ(node.Ask("57", "", 2), "57");
  EXPECT_EQ(node.Ask("01234567", "", 4), "0123");
  EXPECT_EQ(node.Ask("4567", "", 4), "4567");
}

TEST(Prefer, PlacesLikeTheReferenceOnFourBoardsWithBridges) {
  Topology node(4);
  node.Path(PathLevel::kNumaNode, {{0, 1}, {2, 3}});
  node.Nvlinks(2, {{0, 3}, {1, 2}});
  EXPECT_EQ(node.Ask("0123", "", 2), "03");
  EXPECT_EQ(node.Ask("12", "", 2), "12");
}

TEST(Prefer, NeverAnswersWithTheGroupThatIsNotFull) {
  Topology node(5);
  node.Path(PathLevel::kOneSwitch, {{0, 1}, {2, 3}, {2, 4}, {3, 4}});
  node.Nvlinks(12, {{0, 1}});
  EXPECT_EQ(node.Ask("01234", "", 3), "234");
}

TEST(Prefer, TakesTheOneGpuThatIsMissedLeast) {
  Topology node(4);
  node.Nvlinks(4, {{0, 1}, {2, 3}});
  EXPECT_EQ(node.Ask("012", "", 1), "2") << "0 and 1 stay together";
  EXPECT_EQ(node.Ask("123", "", 1), "1");
}

TEST(Prefer, CapsNvlinksAtEighteen) {
  Topology node(4);
  node.Nvlinks(40, {{0, 2}});
  node.Nvlinks(18, {{0, 1}});
  EXPECT_EQ(node.Ask("012", "", 2), "01") << "as many as count, so the lower index";
}

TEST(Prefer, GoesByNumaNodeWhereNothingIsKnownOfLinks) {
  Topology node(4);
  node.node().links.clear();
  for (std::size_t i = 0; i < 4; ++i) node.node().gpus[i].numa_node = i == 0 ? 0 : 1;
  EXPECT_EQ(node.Ask("0123", "", 2), "12");
  for (model::Gpu& gpu : node.node().gpus) gpu.numa_node.reset();
  EXPECT_EQ(node.Ask("3210", "", 2), "01");
}

TEST(Prefer, AnswersWhenAGpuOfTheLinksIsGone) {
  Topology node = Dgx1Volta();
  node.node().gpus.erase(node.node().gpus.begin());
  EXPECT_EQ(node.Ask("1234567", "", 4), "4567");
}

TEST(Prefer, GivesWhatThereIs) {
  const Topology node = Dgx1Volta();
  EXPECT_EQ(node.Ask("02", "", 4), "02");
  EXPECT_EQ(node.Ask("", "", 1), "");
  EXPECT_EQ(node.Ask("02", "", 0), "");
  EXPECT_EQ(node.Ask("0289", "", 2), "02") << "ids that are not offered any more come last";
  EXPECT_EQ(node.Ask("0289", "9", 2), "09");
  EXPECT_EQ(node.Ask("89", "", 1), "8");
}

// Shares: a node of boards with `replicas` each.
class Shares {
 public:
  Shares(std::uint32_t boards,
         std::uint32_t replicas,
         const std::vector<std::uint32_t>& sliced = {}) {
    node_ = testing::Boards(boards);
    config::PluginConfig config = testing::With(config::MigStrategy::kSingle);
    for (const std::uint32_t gpu : sliced)
      testing::LayOut(node_, gpu, {"1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"});
    if (replicas > 1) {
      config.time_slicing.emplace();
      config.time_slicing->resources = {testing::Shared("nvidia.com/gpu", replicas)};
    }
    resource_ = testing::OfferAll(node_, config).resources[0];
  }
  [[nodiscard]] Lines All() const {
    Lines ids;
    for (const OfferedDevice& device : resource_.devices) ids.push_back(device.id);
    return ids;
  }
  [[nodiscard]] Lines Ask(SharePolicy policy,
                          Lines available,
                          std::size_t size,
                          const Lines& required = {}) const {
    std::mt19937 random(2);
    std::shuffle(available.begin(), available.end(), random);
    return Prefer(resource_, node_, policy, Views(available), Views(required), size);
  }

 private:
  model::Inventory node_;
  OfferedResource resource_;
};

TEST(Prefer, DistributesAndPacksShares) {
  const Shares two(2, 4);
  EXPECT_EQ(two.Ask(SharePolicy::kDistributed, two.All(), 2), (Lines{"GPU-0::0", "GPU-1::0"}));
  EXPECT_EQ(two.Ask(SharePolicy::kPacked, two.All(), 2), (Lines{"GPU-0::0", "GPU-0::1"}));
  EXPECT_EQ(two.Ask(SharePolicy::kDistributed, two.All(), 4),
            (Lines{"GPU-0::0", "GPU-1::0", "GPU-0::1", "GPU-1::1"}));
  EXPECT_EQ(two.Ask(SharePolicy::kPacked, two.All(), 5),
            (Lines{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::0"}));
  const Shares three(3, 2);
  EXPECT_EQ(three.Ask(SharePolicy::kDistributed, three.All(), 3),
            (Lines{"GPU-0::0", "GPU-1::0", "GPU-2::0"}));
  EXPECT_EQ(three.Ask(SharePolicy::kPacked, three.All(), 3),
            (Lines{"GPU-0::0", "GPU-0::1", "GPU-1::0"}));
}

TEST(Prefer, CountsWhatIsTaken) {
  const Shares node(2, 2);
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, {"GPU-0::0", "GPU-0::1", "GPU-1::1"}, 2),
            (Lines{"GPU-0::0", "GPU-1::1"}));
  EXPECT_EQ(node.Ask(SharePolicy::kPacked, {"GPU-0::0", "GPU-0::1", "GPU-1::1"}, 1),
            Lines{"GPU-1::1"});
}

TEST(Prefer, SpreadsOverDistinctGpusFirst) {
  const Shares node(2, 4);
  // GPU-1 is busier by two: distributed gives two shares of one GPU, which is one GPU to a program.
  const Lines free = {"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::3"};
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, free, 2), (Lines{"GPU-0::0", "GPU-0::1"}));
  EXPECT_EQ(node.Ask(SharePolicy::kSpread, free, 2), (Lines{"GPU-0::0", "GPU-1::3"}));
  EXPECT_EQ(node.Ask(SharePolicy::kSpread, node.All(), 2, {"GPU-0::2"}),
            (Lines{"GPU-0::2", "GPU-1::0"}));
}

TEST(Prefer, GivesWhatIsRequiredFirstAndFewerThanAskedWhereThereAreFewer) {
  const Shares node(1, 3);
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, node.All(), 5, {"GPU-0::2"}),
            (Lines{"GPU-0::2", "GPU-0::0", "GPU-0::1"}));
}

TEST(Prefer, CountsMigDevicesByTheirGpu) {
  const Shares node(2, 1, {0, 1});
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, node.All(), 3),
            (Lines{"MIG-0-0", "MIG-1-0", "MIG-0-1"}));
  EXPECT_EQ(node.Ask(SharePolicy::kPacked, node.All(), 3),
            (Lines{"MIG-0-0", "MIG-0-1", "MIG-0-2"}));
  EXPECT_EQ(node.Ask(SharePolicy::kPacked, {"MIG-0-0", "MIG-0-1", "MIG-1-3"}, 1), Lines{"MIG-1-3"});
}

TEST(Prefer, SpreadsSharesOfMigDevicesOverTheDevicesOfAGpuToo) {
  const Shares node(1, 2, {0});
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, node.All(), 4),
            (Lines{"MIG-0-0::0", "MIG-0-1::0", "MIG-0-2::0", "MIG-0-3::0"}));
  EXPECT_EQ(node.Ask(SharePolicy::kPacked, node.All(), 3),
            (Lines{"MIG-0-0::0", "MIG-0-0::1", "MIG-0-1::0"}));
}

TEST(Prefer, LooksAtFourHundredAndFortyEightSlicesSoOften) {
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < 448; ++i) spots.push_back({i / 7, i, true, false});
  for (const SharePolicy policy :
       {SharePolicy::kDistributed, SharePolicy::kPacked, SharePolicy::kSpread}) {
    EXPECT_LE(ChooseSpots(spots, policy, 1).steps, 448U);
    const Spread all = ChooseSpots(spots, policy, 448);
    EXPECT_EQ(all.spots.size(), 448U);
    EXPECT_LE(all.steps, 448U * 449U / 2);
  }
}

// Whatever is asked: a subset of what is free, all that is required, as many as asked or all.
TEST(Prefer, IsAlwaysARightAnswer) {
  std::mt19937 random(3);
  const std::vector<Shares> nodes = {Shares(8, 1), Shares(4, 4), Shares(3, 1, {0, 1, 2}),
                                     Shares(2, 3, {0, 1})};
  for (int round = 0; round < 2000; ++round) {
    const Shares& node = nodes[random() % nodes.size()];
    Lines available, required;
    for (const std::string& id : node.All()) {
      if (random() % 3 == 0) continue;
      available.push_back(id);
      if (random() % 6 == 0) required.push_back(id);
    }
    if (random() % 4 == 0) available.push_back("GPU-gone");
    const std::size_t size = required.size() + random() % 5;
    const auto policy = static_cast<SharePolicy>(random() % 3);
    const Lines answer = node.Ask(policy, available, size, required);
    const std::set<std::string> distinct(answer.begin(), answer.end());
    EXPECT_EQ(distinct.size(), answer.size());
    EXPECT_EQ(answer.size(), std::min(size, available.size()));
    for (const std::string& id : answer)
      EXPECT_NE(std::find(available.begin(), available.end(), id), available.end()) << id;
    for (const std::string& id : required) EXPECT_TRUE(distinct.contains(id)) << id;
    EXPECT_EQ(node.Ask(policy, available, size, required), answer) << "the same again";
  }
}

// Boards of which some are shared under the name of the whole ones: Allocate refuses much.
class Mixture {
 public:
  explicit Mixture(std::uint32_t boards) : node_(testing::Boards(boards)) {
    config_.mig_strategy = config::MigStrategy::kMixed;
    config_.list_strategies = {config::ListStrategy::kCdiCri};
  }
  Mixture& Slices(Lines gpus, std::uint32_t replicas, bool one_each) {
    Share(config_.time_slicing, std::move(gpus), replicas, one_each);
    return *this;
  }
  Mixture& Mps(Lines gpus, std::uint32_t replicas, bool one_each) {
    Share(config_.mps, std::move(gpus), replicas, one_each);
    return *this;
  }
  [[nodiscard]] Lines All() const {
    Lines ids;
    for (const OfferedDevice& device : Resource().devices) ids.push_back(device.id);
    return ids;
  }
  [[nodiscard]] Lines Ask(SharePolicy policy,
                          const Lines& available,
                          std::size_t size,
                          const Lines& required = {}) const {
    return Prefer(Resource(), node_, policy, Views(available), Views(required), size);
  }
  [[nodiscard]] bool Gives(const Lines& ids) const {
    return Allocate(Resource(), ids, config_, {}).ok();
  }
  // Some set of so many would be given; found by trying them all.
  [[nodiscard]] bool CouldGive(const Lines& available,
                               std::size_t size,
                               const Lines& required) const {
    for (std::uint32_t set = 0; set < 1U << available.size(); ++set) {
      Lines ids;
      for (std::size_t i = 0; i < available.size(); ++i)
        if ((set >> i & 1U) != 0) ids.push_back(available[i]);
      const auto has = [&](const std::string& id) {
        return std::find(ids.begin(), ids.end(), id) != ids.end();
      };
      if (ids.size() == size && std::all_of(required.begin(), required.end(), has) && Gives(ids))
        return true;
    }
    return false;
  }

 private:
  static void Share(std::optional<config::SharingSection>& section,
                    Lines gpus,
                    std::uint32_t replicas,
                    bool one_each) {
    section.emplace();
    section->fail_requests_greater_than_one = one_each;
    section->resources = {testing::Shared("nvidia.com/gpu", replicas)};
    section->resources[0].devices = {config::SharedDevices::Kind::kList, 0, std::move(gpus)};
  }
  [[nodiscard]] const OfferedResource& Resource() const {
    if (offered_.resources.empty()) offered_ = testing::OfferAll(node_, config_);
    return offered_.resources[0];
  }

  model::Inventory node_;
  config::PluginConfig config_;
  mutable Offered offered_;
};

constexpr std::array kPolicies = {SharePolicy::kDistributed, SharePolicy::kPacked,
                                  SharePolicy::kSpread};

TEST(Prefer, TakesWholeGpusWhereOneShareIsTheMost) {
  const Mixture node = std::move(Mixture(8).Slices({"0"}, 4, true));
  for (const SharePolicy policy : kPolicies) {
    const Lines two = node.Ask(policy, node.All(), 2);
    EXPECT_EQ(two, (Lines{"GPU-2", "GPU-3"})) << "as of a node of seven";
    EXPECT_TRUE(node.Gives(two));
    EXPECT_EQ(node.Ask(policy, node.All(), 2, {"GPU-5"}), (Lines{"GPU-4", "GPU-5"}));
    EXPECT_TRUE(node.Gives(node.Ask(policy, node.All(), 7, {"GPU-5"})));
    // No right answer is left: kubelet hears from Allocate why.
    EXPECT_EQ(node.Ask(policy, node.All(), 8).size(), 8U);
    EXPECT_EQ(node.Ask(policy, node.All(), 2, {"GPU-0::1"}).size(), 2U);
  }
  EXPECT_EQ(node.Ask(SharePolicy::kDistributed, node.All(), 1), Lines{"GPU-0::0"})
      << "of one, any is right";
}

TEST(Prefer, TakesWholeGpusWhereOneShareByMpsIsTheMost) {
  const Mixture node = std::move(Mixture(4).Mps({"0", "1"}, 4, true));
  for (const SharePolicy policy : kPolicies)
    EXPECT_EQ(node.Ask(policy, node.All(), 2), (Lines{"GPU-2", "GPU-3"}));
}

TEST(Prefer, KeepsToOneMpsDaemonOrToNone) {
  const Mixture node = std::move(Mixture(3).Mps({"0"}, 4, false).Slices({"1"}, 2, false));
  for (const SharePolicy policy : kPolicies) {
    EXPECT_TRUE(node.Gives(node.Ask(policy, node.All(), 2)));
    EXPECT_TRUE(node.Gives(node.Ask(policy, node.All(), 3)));
    EXPECT_EQ(node.Ask(policy, node.All(), 4),
              (Lines{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3"}))
        << "of the others there are three";
    EXPECT_EQ(node.Ask(policy, node.All(), 2, {"GPU-0::2"}), (Lines{"GPU-0::2", "GPU-0::0"}));
  }
}

// A slice's daemon is its own: which one is the policy's to say.
TEST(Prefer, ChoosesAmongDaemonsByPolicy) {
  model::Inventory node = testing::Boards(2);
  testing::LayOut(node, 0, {"1g.5gb", "1g.5gb"});
  testing::LayOut(node, 1, {"1g.5gb", "1g.5gb"});
  config::PluginConfig config = testing::With(config::MigStrategy::kMixed);
  config.mps.emplace();
  config.mps->fail_requests_greater_than_one = false;
  config.mps->resources = {testing::Shared("nvidia.com/mig-1g.5gb", 3)};
  const Offered offered = testing::OfferAll(node, config);
  Lines free;
  for (const OfferedDevice& device : offered.resources[0].devices) free.push_back(device.id);
  ASSERT_EQ(free.size(), 12U);
  const auto ask = [&](SharePolicy policy) {
    return Prefer(offered.resources[0], node, policy, Views(free), {}, 2);
  };
  EXPECT_EQ(ask(SharePolicy::kPacked), (Lines{"MIG-0-0::0", "MIG-0-0::1"}));
  std::erase(free, "MIG-0-0::0");
  EXPECT_EQ(ask(SharePolicy::kDistributed), (Lines{"MIG-1-0::0", "MIG-1-0::1"}));
  EXPECT_EQ(ask(SharePolicy::kPacked), (Lines{"MIG-0-0::1", "MIG-0-0::2"}));
  std::erase(free, "MIG-0-0::1");
  EXPECT_EQ(ask(SharePolicy::kPacked), (Lines{"MIG-0-1::0", "MIG-0-1::1"}))
      << "two of the fullest there are not";
}

// Whatever is offered under one name, free and required: where Allocate would give any of the sets
// that are possible, it gives the one that was preferred.
TEST(Prefer, IsGivenWhereAnythingWouldBe) {
  std::mt19937 random(4);
  int given = 0;
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    Mixture node(3);
    if (random() % 3 != 0)
      node.Mps(random() % 2 == 0 ? Lines{"0"} : Lines{"0", "1"}, 2 + random() % 2,
               random() % 2 == 0);
    if (random() % 3 != 0)
      node.Slices(random() % 2 == 0 ? Lines{"1"} : Lines{"1", "2"}, 2 + random() % 2,
                  random() % 2 == 0);
    Lines available, required;
    for (const std::string& id : node.All()) {
      if (random() % 4 == 0) continue;
      available.push_back(id);
      if (random() % 8 == 0) required.push_back(id);
    }
    const std::size_t size = std::max<std::size_t>(required.size(), 1) + random() % 3;
    const bool possible = node.CouldGive(available, size, required);
    const Lines answer =
        node.Ask(kPolicies[random() % kPolicies.size()], available, size, required);
    EXPECT_EQ(answer.size(), std::min(size, available.size()));
    if (possible) EXPECT_TRUE(node.Gives(answer)) << ::testing::PrintToString(answer);
    ++(possible ? given : refused);
  }
  EXPECT_GT(given, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace partita::service::device_plugin
