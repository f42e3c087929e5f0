#include "service/device_plugin/listing.h"

#include <algorithm>

#include <gtest/gtest.h>

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

class ListingsTest : public ::testing::Test {
 protected:
  ListingsTest() { config_.mig_strategy = config::MigStrategy::kMixed; }

  void Do(const ledger::Decision& decision) {
    for (const ledger::Change& change : decision.changes) ledger::Apply(state_, change);
  }
  void Do(const base::Result<ledger::Decision>& decision) {
    ASSERT_TRUE(decision.ok()) << decision.error().ToString();
    Do(*decision);
  }
  // "nvidia.com/gpu: GPU-0 !GPU-1" a resource.
  Lines Next(std::int64_t seconds) {
    Do(ledger::Observe(state_, node_, {}));
    offered_ = Offer(node_, config_, {}, true, health_, state_);
    Lines lines;
    for (const auto& [resource, devices] : listings_.Next(offered_, state_, At(seconds))) {
      std::string line = resource + ":";
      for (const Listed& device : devices) line += (device.healthy ? " " : " !") + device.id;
      lines.push_back(std::move(line));
    }
    return lines;
  }
  [[nodiscard]] const OfferedDevice& Device(const std::string& id) const {
    for (const OfferedResource& resource : offered_.resources)
      for (const OfferedDevice& device : resource.devices)
        if (device.id == id) return device;
    ADD_FAILURE() << id;
    return offered_.resources.at(0).devices.at(0);
  }
  void Hold(const std::string& id, const std::string& resource) {
    Do(ledger::Bind(state_, Device(id).device, Pod(resource), At(0)));
  }
  static ledger::Owner Pod(const std::string& resource) {
    return ledger::Pod{"default", "train", "main", resource};
  }
  void ShareAll(std::uint32_t replicas) {
    config_.time_slicing.emplace();
    config_.time_slicing->resources = {testing::Shared("nvidia.com/gpu", replicas)};
  }

  model::Inventory node_ = Boards(2);
  model::NodeHealth health_;
  config::PluginConfig config_;
  ledger::State state_;
  Offered offered_;
  Listings listings_;
};

// kubelet takes no list of more than 4 MiB, whatever of it is about to go.
TEST_F(ListingsTest, NeverGrowBeyondWhatKubeletTakes) {
  ShareAll(25000);
  (void)Next(0);
  Hold("GPU-1::24999", "nvidia.com/gpu");
  config_.time_slicing->resources[0].rename = "nvidia.com/gpu";
  node_ = Boards(3);
  ShareAll(16666);
  Do(ledger::Observe(state_, node_, {}));
  offered_ = Offer(node_, config_, {}, true, health_, state_);
  const std::vector<Listed> list = listings_.Next(offered_, state_, At(1)).at("nvidia.com/gpu");
  EXPECT_LE(list.size(), 50001U);
  EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const Listed& device) {
    return device.id == "GPU-1::24999";
  })) << "what a pod holds stays";
}

TEST_F(ListingsTest, ShowWhatIsOfferedWithItsHealthAndNumaNode) {
  health_.parts.push_back(
      {model::GpuUuid("GPU-1"), {}, {}, model::HealthState::kUnhealthy, "XidCritical", "XID 79"});
  EXPECT_EQ(Next(0), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(listings_.next_change(), std::nullopt);
  EXPECT_EQ(listings_.Next(offered_, state_, At(0)).at("nvidia.com/gpu")[0].numa_node, 3);
  EXPECT_EQ(Next(1000), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"}) << "what is unwell does not go";
  health_.parts.clear();
  EXPECT_EQ(Next(1001), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST_F(ListingsTest, KeepWhatIsNotOfferedAnyMoreForAMinute) {
  Next(0);
  node_.gpus.pop_back();
  EXPECT_EQ(Next(100), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(listings_.next_change(), At(160));
  EXPECT_EQ(Next(159), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(Next(160), Lines{"nvidia.com/gpu: GPU-0"});
  EXPECT_EQ(listings_.next_change(), std::nullopt);
}

TEST_F(ListingsTest, ShowWhatComesBackAtOnceAndCountAnew) {
  Next(0);
  const model::Gpu gone = node_.gpus.back();
  node_.gpus.pop_back();
  Next(100);
  node_.gpus.push_back(gone);
  EXPECT_EQ(Next(130), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
  node_.gpus.pop_back();
  EXPECT_EQ(Next(150), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(listings_.next_change(), At(210));
}

TEST_F(ListingsTest, KeepWhatAPodHoldsForAsLong) {
  Next(0);
  Hold("GPU-1", "nvidia.com/gpu");
  config_ = {};
  node_.gpus[1].name = "DGX Display";
  EXPECT_EQ(Next(100), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(Next(500), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  Do(ledger::Release(state_, ledger::WholeGpu{model::GpuUuid("GPU-1")}, Pod("nvidia.com/gpu")));
  EXPECT_EQ(Next(501), Lines{"nvidia.com/gpu: GPU-0"});
}

TEST_F(ListingsTest, ShowWhatAPodHoldsFromAnEarlierLife) {
  LayOut(node_, 1, {"1g.5gb"});
  Next(0);
  Hold("MIG-1-0", "nvidia.com/mig-1g.5gb");
  listings_ = {};
  config_.mig_strategy = config::MigStrategy::kNone;
  EXPECT_EQ(Next(1), (Lines{"nvidia.com/gpu: GPU-0 !GPU-1", "nvidia.com/mig-1g.5gb: !MIG-1-0"}));
}

TEST_F(ListingsTest, DoNotTakeANewSliceForTheOneThatWasHeld) {
  LayOut(node_, 1, {"1g.5gb"});
  Next(0);
  Hold("MIG-1-0", "nvidia.com/mig-1g.5gb");
  // The same place, another device: what the pod had is gone.
  node_.gpus[1].mig->instances[0].compute_instances[0].uuid = model::MigUuid("MIG-new");
  EXPECT_EQ(Next(1), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: MIG-new !MIG-1-0"}));
  EXPECT_EQ(Next(61), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: MIG-new"}));
}

TEST_F(ListingsTest, ShowAnEmptyResourceForAMinuteBeforeItGoes) {
  LayOut(node_, 1, {"1g.5gb"});
  EXPECT_EQ(Next(0), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: MIG-1-0"}));
  LayOut(node_, 1, {});
  EXPECT_EQ(Next(10), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: !MIG-1-0"}));
  EXPECT_EQ(Next(70), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb:"}));
  EXPECT_EQ(listings_.next_change(), At(130));
  EXPECT_EQ(Next(130), Lines{"nvidia.com/gpu: GPU-0"});
}

TEST_F(ListingsTest, FollowTheLedgersWithdrawals) {
  Next(0);
  Do(ledger::Withdraw(state_, "p", {Device("GPU-1").device}, At(100)));
  EXPECT_EQ(Next(100), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(listings_.next_change(), At(160));
  EXPECT_EQ(Next(160), Lines{"nvidia.com/gpu: GPU-0"}) << "one minute, not two";
  Do(ledger::EndPlan(state_, "p"));
  EXPECT_EQ(Next(161), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST_F(ListingsTest, LeaveOutWhatAnotherWayOffers) {
  Next(0);
  Do(ledger::ChangeOffer(state_, ledger::Board("GPU-1"), ledger::Via::kDra, At(100)));
  Do(ledger::PublishOffers(state_));
  EXPECT_EQ(Next(100), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(Next(160), Lines{"nvidia.com/gpu: GPU-0"});
}

TEST_F(ListingsTest, OfferNoSharesOfAGpuThatAPodHasAsAWhole) {
  Next(0);
  Hold("GPU-0", "nvidia.com/gpu");
  ShareAll(2);
  EXPECT_EQ(Next(100),
            Lines{"nvidia.com/gpu: !GPU-0::0 !GPU-0::1 GPU-1::0 GPU-1::1 !GPU-0 !GPU-1"});
  EXPECT_EQ(Next(200), Lines{"nvidia.com/gpu: !GPU-0::0 !GPU-0::1 GPU-1::0 GPU-1::1 !GPU-0"});
  Do(ledger::Release(state_, ledger::WholeGpu{model::GpuUuid("GPU-0")}, Pod("nvidia.com/gpu")));
  EXPECT_EQ(Next(201), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1"});
}

TEST_F(ListingsTest, OfferSharesBesideThoseThatPodsHave) {
  ShareAll(3);
  Next(0);
  Hold("GPU-0::2", "nvidia.com/gpu");
  ShareAll(2);
  EXPECT_EQ(Next(100),
            Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1 !GPU-0::2 !GPU-1::2"});
  EXPECT_EQ(Next(200), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1 !GPU-0::2"});
}

// The same id, and for kubelet another device.
TEST_F(ListingsTest, OfferNothingThatAPodHasUnderAnotherResource) {
  ShareAll(4);
  Next(0);
  Hold("GPU-0::0", "nvidia.com/gpu");
  config_.time_slicing->resources = {testing::Shared("nvidia.com/gpu", 3)};
  config_.time_slicing->resources.front().rename = "nvidia.com/gpu.shared";
  EXPECT_EQ(Next(100).back(),
            "nvidia.com/gpu.shared: !GPU-0::0 !GPU-0::1 !GPU-0::2 GPU-1::0 GPU-1::1 GPU-1::2");
}

TEST_F(ListingsTest, AreHealthyForTheirOwnHolder) {
  Next(0);
  Hold("GPU-0", "nvidia.com/gpu");
  EXPECT_EQ(Next(1), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST_F(ListingsTest, SurviveAClockThatIsSetBack) {
  Next(0);
  node_.gpus.pop_back();
  Next(10000);
  EXPECT_EQ(Next(100), Lines{"nvidia.com/gpu: GPU-0 !GPU-1"});
  EXPECT_EQ(Next(160), Lines{"nvidia.com/gpu: GPU-0"});
}

}  // namespace
}  // namespace partita::service::device_plugin
