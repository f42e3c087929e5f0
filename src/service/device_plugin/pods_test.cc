#include "service/device_plugin/pods.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "service/device_plugin/device_id.h"
#include "service/device_plugin/testing/node.h"
#include "service/ledger/holds.h"
#include "service/ledger/offers.h"
#include "service/ledger/plans.h"

namespace partita::service::device_plugin {
namespace {

using testing::At;
using testing::Boards;
using testing::LayOut;
using testing::Lines;

constexpr const char* kGpu = "nvidia.com/gpu";

class PodsTest : public ::testing::Test {
 protected:
  PodsTest() {
    node_.driver.emplace();
    LayOut(node_, 3, {"1g.5gb", "1g.5gb"});
    Look();
  }

  void Look() {
    Do(ledger::Observe(state_, node_, {}));
    offered_ = Offer(node_, testing::With(config::MigStrategy::kMixed), {}, true, {}, state_);
  }
  void Do(const ledger::Change& change) { ledger::Apply(state_, change); }
  void Do(const ledger::Decision& decision) {
    for (const ledger::Change& change : decision.changes) ledger::Apply(state_, change);
  }
  void Do(const base::Result<ledger::Decision>& decision) {
    ASSERT_TRUE(decision.ok()) << decision.error().ToString();
    Do(*decision);
  }
  [[nodiscard]] const ledger::Device& Device(const std::string& id) const {
    for (const OfferedResource& resource : offered_.resources)
      for (const OfferedDevice& device : resource.devices)
        if (device.id == id) return device.device;
    ADD_FAILURE() << id;
    return offered_.resources.at(0).devices.at(0).device;
  }
  void Allocate(const std::string& id, std::int64_t seconds) {
    Do(ledger::Reserve(state_, {ledger::Pod{"", "", "", kGpu}, {Device(id)}}, At(seconds)));
  }
  static PodDevices Pod(const std::string& name, const Lines& ids, const std::string& of = kGpu) {
    return {"default", name, "main", of, ids};
  }
  // What one list brings, carried out: "+GPU-0 default/train", "-GPU-0 default/train".
  Lines Read(std::int64_t seconds,
             const std::vector<PodDevices>& pods,
             const Lines& others = {"agent-x7k2q"}) {
    PodList list{pods, others};
    for (const PodDevices& pod : pods) list.names.push_back(pod.pod);
    last_ = Reconcile(state_, memory_, list, {offered_, node_, "worker-3"}, At(seconds));
    memory_ = last_.memory;
    Lines lines;
    const auto line = [&](char sign, const PodAction& action) {
      const auto& pod = std::get<ledger::Pod>(action.owner);
      lines.push_back(sign + IdOf(action.device) + " " + pod.pod_namespace + "/" + pod.name);
    };
    for (const PodAction& action : last_.bind) {
      line('+', action);
      Do(ledger::Bind(state_, action.device, action.owner, At(seconds)));
    }
    for (const PodAction& action : last_.release) {
      line('-', action);
      Do(ledger::Release(state_, action.device, action.owner));
    }
    return lines;
  }

  model::Inventory node_ = Boards(4);
  ledger::State state_;
  Offered offered_;
  PodMemory memory_;
  Reconciled last_;
};

TEST_F(PodsTest, AreBoundToWhatTheyWereGiven) {
  Allocate("GPU-0", 0);
  EXPECT_EQ(Read(1, {Pod("train", {"GPU-0"})}), Lines{"+GPU-0 default/train"});
  EXPECT_EQ(state_.holds.at("GPU-0").owner,
            ledger::Owner(ledger::Pod{"default", "train", "main", kGpu}));
  EXPECT_TRUE(state_.holds.at("GPU-0").seen);
  EXPECT_EQ(state_.holds.at("GPU-0").since, At(0));
  EXPECT_EQ(Read(2, {Pod("train", {"GPU-0"})}), Lines{});
}

// As kubelet does that starts while the API server is away: it lists what it has files of, and goes
// on running the rest.
TEST_F(PodsTest, AreNotGoneBecauseAKubeletHasJustStarted) {
  Allocate("GPU-0", 0);
  EXPECT_EQ(Read(1, {Pod("train", {"GPU-0"})}), Lines{"+GPU-0 default/train"});
  Forget(memory_);
  for (const std::int64_t now : {100, 120, 4000}) EXPECT_EQ(Read(now, {}, {}), Lines{}) << now;
  for (const std::int64_t now : {5000, 5020})
    EXPECT_EQ(Read(now, {}, {"etcd-worker-3"}), Lines{}) << now;
  EXPECT_EQ(last_.read_again_in, kReadSoon);
  // Heard of its pods, it is believed, and from then on.
  EXPECT_EQ(Read(5040, {}, {"web-worker-33"}), Lines{});
  EXPECT_EQ(Read(5049, {}, {}), Lines{});
  EXPECT_EQ(Read(5050, {}, {}), Lines{"-GPU-0 default/train"});
}

TEST_F(PodsTest, ComeBackAfterAnAgentForgotThem) {
  EXPECT_EQ(Read(1, {Pod("train", {"GPU-0", "GPU-2"}), Pod("cpu", {"x"}, "example.com/fpga"),
                     Pod("slice", {"MIG-3-1"}, "nvidia.com/mig-1g.5gb")}),
            (Lines{"+GPU-0 default/train", "+GPU-2 default/train", "+MIG-3-1 default/slice"}));
  EXPECT_TRUE(last_.unknown.empty());
}

// Before anything is offered after a start, by a configuration of before, or from NVIDIA's plugin:
// what a pod has on this node is its own, whatever is offered now.
TEST_F(PodsTest, HoldWhatIsHereAlsoWhereItIsNotOffered) {
  offered_ = {};
  EXPECT_EQ(
      Read(1, {Pod("train", {"GPU-0"}), Pod("share", {"GPU-1::4"}, "nvidia.com/gpu.shared"),
               Pod("slice", {"MIG-3-1"}, "nvidia.com/mig-1g.5gb"),
               Pod("part", {"MIG-3-0::1"}, "nvidia.com/mig-1g.5gb.shared"),
               Pod("size", {"GPU-2::small-3"}, "nvidia.com/gpu.small")}),
      (Lines{"+GPU-0 default/train", "+GPU-1::4 default/share", "+GPU-2::small-3 default/size",
             "+MIG-3-0::1 default/part", "+MIG-3-1 default/slice"}));
  EXPECT_TRUE(last_.unknown.empty());
  // Beside shares of every size of that GPU, and nothing else of it.
  EXPECT_EQ(std::get<ledger::Share>(state_.holds.at("GPU-2::small-3").device).sharing,
            MpsSharesOf("nvidia.com/gpu"));
  Look();
  for (const OfferedDevice& device : offered_.resources.at(0).devices) {
    if (device.id != "GPU-1") continue;
    EXPECT_FALSE(
        ledger::Reserve(state_, {ledger::Pod{"", "", "", kGpu}, {device.device}}, At(2)).ok());
  }
}

TEST_F(PodsTest, UnderNamesOfOthersAreNotOurs) {
  EXPECT_EQ(Read(1, {Pod("other", {"GPU-0"}, "example.com/gpu")}), Lines{});
  EXPECT_TRUE(last_.unknown.empty());
}

// As after another plugin that served meanwhile under its own names.
TEST_F(PodsTest, WithADeviceUnderAnotherNameGetItOnceTheFirstIsGone) {
  Allocate("GPU-0", 0);
  EXPECT_EQ(Read(1, {Pod("train", {"GPU-0"})}), Lines{"+GPU-0 default/train"});
  const PodDevices other = Pod("other", {"GPU-0"}, "nvidia.com/gpu.old");
  EXPECT_EQ(Read(90, {Pod("train", {"GPU-0"}), other}), Lines{});
  EXPECT_EQ(Read(100, {other}), Lines{});
  EXPECT_EQ(Read(111, {other}), Lines{"-GPU-0 default/train"});
  EXPECT_EQ(Read(112, {other}), Lines{"+GPU-0 default/other"});
}

TEST_F(PodsTest, WithWordsThatOnlyLookLikeSharesAreReported) {
  for (const char* id : {"GPU-0::", "GPU-0::x", "GPU-0::4294967296", "GPU-0::01", "GPU-0::1::2",
                         "::0", "GPU-00", "GPU-0::-1", "GPU-0::small-1", "GPU-0::gpu-1"})
    EXPECT_EQ(Read(1, {Pod("train", {id})}), Lines{}) << id;
}

TEST_F(PodsTest, WithDevicesThatNobodyKnowsAreReported) {
  EXPECT_EQ(Read(1, {Pod("train", {"GPU-9"})}), Lines{});
  EXPECT_EQ(last_.unknown, Lines{"GPU-9"});
}

TEST_F(PodsTest, WithAnyNumberOfUnknownDevicesAreReportedInFewWords) {
  Lines ids;
  for (int i = 100; i < 1100; ++i) ids.push_back("GPU-" + std::to_string(i));
  Read(1, {Pod("train", ids)});
  EXPECT_EQ(last_.unknown.size(), 10U);
}

TEST_F(PodsTest, HoldWhatIsNotOfferedAnyMore) {
  Read(1, {Pod("train", {"GPU-0"})});
  offered_ = {};
  EXPECT_EQ(Read(500, {Pod("train", {"GPU-0"})}), Lines{});
  EXPECT_TRUE(last_.unknown.empty());
  EXPECT_EQ(Read(501, {}), Lines{});
  EXPECT_EQ(Read(511, {}), Lines{"-GPU-0 default/train"});
}

TEST_F(PodsTest, EndWhenTwoListsTenSecondsApartDoNotHaveThem) {
  Read(1, {Pod("train", {"GPU-0"})});
  EXPECT_EQ(Read(100, {}), Lines{});
  EXPECT_EQ(Read(105, {}), Lines{}) << "a second list, too soon";
  EXPECT_EQ(Read(110, {}), Lines{"-GPU-0 default/train"});
  EXPECT_EQ(Read(111, {}), Lines{});
  EXPECT_TRUE(memory_.absent.empty());
}

TEST_F(PodsTest, DoNotEndWhereTheyWereListedInBetween) {
  Read(1, {Pod("train", {"GPU-0"})});
  Read(100, {});
  Read(105, {Pod("train", {"GPU-0"})});
  EXPECT_EQ(Read(110, {}), Lines{});
  EXPECT_EQ(Read(120, {}), Lines{"-GPU-0 default/train"});
}

TEST_F(PodsTest, DoNotEndYoung) {
  Allocate("GPU-0", 0);
  Read(1, {Pod("train", {"GPU-0"})});
  Read(2, {});
  EXPECT_EQ(Read(60, {}), Lines{});
  EXPECT_EQ(Read(61, {}), Lines{"-GPU-0 default/train"});
}

TEST_F(PodsTest, ThatWereNeverListedKeepTheirDevicesForAQuarterOfAnHour) {
  Allocate("GPU-0", 0);
  EXPECT_EQ(Read(1, {}), Lines{});
  EXPECT_EQ(last_.read_again_in, kReadSoon);
  EXPECT_EQ(Read(900, {}), Lines{});
  EXPECT_EQ(Read(901, {}), Lines{"-GPU-0 /"});
}

TEST_F(PodsTest, ThatWereNeverListedKeepWhatAProcessUses) {
  Allocate("GPU-0", 0);
  node_.gpus[0].processes.emplace_back();
  Read(1, {});
  EXPECT_EQ(Read(5000, {}), Lines{});
  node_.gpus[0].processes.clear();
  EXPECT_EQ(Read(5001, {}), Lines{"-GPU-0 /"});
}

TEST_F(PodsTest, ThatRunAreHeldWhateverTheListSays) {
  Read(1, {Pod("train", {"GPU-0"})});
  model::Process process;
  process.container.emplace();
  process.container->pod_uid = "uid";
  process.container->pod_namespace = "default";
  process.container->pod_name = "train";
  node_.gpus[0].processes = {process};
  Read(100, {});
  EXPECT_EQ(Read(200, {}), Lines{}) << "a kubelet that has just started lists nobody";
  node_.gpus[0].processes[0].container->pod_name = "next";
  EXPECT_EQ(Read(201, {}), Lines{"-GPU-0 default/train"});
}

TEST_F(PodsTest, AnotherAllocationBeginsAnotherAbsence) {
  Read(1, {Pod("train", {"GPU-0"})});
  Read(100, {});
  Allocate("GPU-0", 105);
  EXPECT_EQ(Read(110, {}), Lines{});
  EXPECT_EQ(Read(120, {Pod("next", {"GPU-0"})}), Lines{"+GPU-0 default/next"});
  Allocate("GPU-1", 200);
  Read(201, {Pod("next", {"GPU-0"})});
  Allocate("GPU-1", 300);
  EXPECT_EQ(Read(1300, {Pod("next", {"GPU-0"})}), Lines{}) << "the first list since";
  EXPECT_EQ(Read(1310, {Pod("next", {"GPU-0"})}), Lines{"-GPU-1 /"});
}

TEST_F(PodsTest, ThatFinishedDoNotGetWhatWasGivenToAnother) {
  Read(1, {Pod("train", {"GPU-0"})});
  Allocate("GPU-0", 100);
  EXPECT_EQ(Read(101, {Pod("train", {"GPU-0"})}), Lines{}) << "kubelet lists it on";
  EXPECT_FALSE(state_.holds.at("GPU-0").seen);
  EXPECT_EQ(Read(102, {Pod("train", {"GPU-0"}), Pod("next", {"GPU-0"})}),
            Lines{"+GPU-0 default/next"});
  EXPECT_EQ(Read(103, {Pod("train", {"GPU-0"}), Pod("next", {"GPU-0"})}), Lines{});
  EXPECT_EQ(Read(104, {Pod("next", {"GPU-0"}), Pod("train", {"GPU-0"})}), Lines{});
}

TEST_F(PodsTest, MadeAgainUnderTheirNameGetTheirDeviceAfterAWhile) {
  Read(1, {Pod("db-0", {"GPU-0"})});
  Allocate("GPU-0", 100);
  EXPECT_EQ(Read(160, {Pod("db-0", {"GPU-0"})}), Lines{});
  EXPECT_EQ(Read(161, {Pod("db-0", {"GPU-0"})}), Lines{"+GPU-0 default/db-0"});
  // It may have been a finished one after all, and the device an init container's.
  EXPECT_EQ(Read(200, {}), Lines{});
  EXPECT_EQ(Read(1000, {}), Lines{});
  EXPECT_EQ(Read(1001, {}), Lines{"-GPU-0 default/db-0"});
}

TEST_F(PodsTest, OfWhichTwoHaveOneDeviceKeepTheOneThatHasIt) {
  Read(1, {Pod("b", {"GPU-0"})});
  memory_ = {};
  EXPECT_EQ(Read(2, {Pod("a", {"GPU-0"}), Pod("b", {"GPU-0"})}), Lines{});
  EXPECT_EQ(Read(3, {Pod("c", {"GPU-0"}), Pod("a", {"GPU-0"}), Pod("b", {"GPU-0"})}),
            Lines{"+GPU-0 default/c"})
      << "the newest, unless it is no newer than the one that has it";
}

TEST_F(PodsTest, KeepThePlaceOfASliceWhoseUuidIsAnothersNow) {
  Read(1, {Pod("slice", {"MIG-3-0"}, "nvidia.com/mig-1g.5gb")});
  const std::string before = state_.holds.begin()->first;
  LayOut(node_, 3, {"3g.20gb"});
  Look();
  EXPECT_TRUE(state_.holds.at(before).gone);
  EXPECT_EQ(Read(2, {Pod("slice", {"MIG-3-0"}, "nvidia.com/mig-1g.5gb")}), Lines{});
  EXPECT_EQ(state_.holds.size(), 1U);
}

TEST_F(PodsTest, AreReadOftenWhileSomethingWaitsForThem) {
  Read(0, {});
  EXPECT_EQ(last_.read_again_in, kReadIdle);
  Read(1, {Pod("train", {"GPU-0"})});
  Read(2, {Pod("train", {"GPU-0"})});
  EXPECT_EQ(last_.read_again_in, kReadIdle);
  Read(3, {});
  EXPECT_EQ(last_.read_again_in, kReadSoon) << "a second list without it ends it";
  Read(4, {Pod("train", {"GPU-0"})});
  Do(ledger::ChangeOffer(state_, ledger::Board("GPU-0"), ledger::Via::kDra, At(4)));
  Read(5, {Pod("train", {"GPU-0"})});
  EXPECT_EQ(last_.read_again_in, kReadSoon) << "its GPU is to be offered otherwise";
  Do(ledger::ChangeOffer(state_, ledger::Board("GPU-0"), ledger::Via::kDevicePlugin, At(5)));
  Do(ledger::Withdraw(state_, "p", {Device("GPU-1")}, At(6)));
  Read(6, {Pod("train", {"GPU-0"})});
  EXPECT_EQ(last_.read_again_in, kReadSoon);
}

TEST_F(PodsTest, AreNotEndedByAClockThatIsSetBack) {
  Read(10000, {Pod("train", {"GPU-0"})});
  Read(10100, {});
  EXPECT_EQ(Read(100, {}), Lines{});
  EXPECT_EQ(Read(10101, {Pod("train", {"GPU-0"})}), Lines{});
}

TEST_F(PodsTest, OfOtherWaysAreLeftAlone) {
  Do(ledger::Change{
      ledger::Put{ledger::Hold{Device("GPU-1"), ledger::Vm{"db", "r"}, true, At(0)}}});
  Read(100, {});
  EXPECT_EQ(Read(5000, {}), Lines{});
}

// Random pods come and go, are listed late, and the agent forgets: whoever was listed within ten
// seconds, or was given a device within a minute, has it.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): a story of random steps
TEST_F(PodsTest, NeverLoseADeviceThatTheyHave) {
  std::mt19937 random(7);
  struct Life {
    std::string pod;
    std::int64_t given = 0, listed = -1;
    bool alive = false;
  };
  std::vector<Life> lives(3);
  int names = 0;
  for (std::int64_t now = 1000; now < 20000; now += 1 + static_cast<std::int64_t>(random() % 9)) {
    for (std::size_t i = 0; i < lives.size(); ++i) {
      Life& life = lives[i];
      if (random() % 6 != 0) continue;
      life.alive = !life.alive;
      if (!life.alive) continue;
      life = {"pod-" + std::to_string(names++), now, -1, true};
      Allocate("GPU-" + std::to_string(i), now);
    }
    if (random() % 40 == 0) memory_ = {};
    std::vector<PodDevices> pods;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      if (!lives[i].alive || (lives[i].listed < 0 && random() % 3 != 0)) continue;
      pods.push_back(Pod(lives[i].pod, {"GPU-" + std::to_string(i)}));
      lives[i].listed = now;
    }
    Read(now, pods);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      if (!lives[i].alive) continue;
      const auto hold = state_.holds.find("GPU-" + std::to_string(i));
      ASSERT_NE(hold, state_.holds.end()) << "at " << now;
      if (lives[i].listed == now) {
        EXPECT_EQ(std::get<ledger::Pod>(hold->second.owner).name, lives[i].pod);
      }
    }
  }
}

}  // namespace
}  // namespace partita::service::device_plugin
