#include "service/ledger/offers.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;
using OffersTest = testing::VerbsTest;

TEST_F(OffersTest, AreTheDevicePluginsUnlessSaidOtherwise) {
  EXPECT_EQ(ViaOf(state_, Mig(0)), Via::kDevicePlugin);
  OfferAs(1, Via::kDra);
  EXPECT_EQ(ViaOf(state_, Mig(0)), Via::kDra) << "all parts go with their GPU";
  EXPECT_EQ(ViaOf(state_, Gpu(0)), Via::kDevicePlugin);
}

TEST_F(OffersTest, WaitForHoldersAndEvictNobody) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  Do(ChangeOffer(state_, BoardOf(Gpu(1)), Via::kDra, At(2)));
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kClosing);
  EXPECT_TRUE(Do(PublishOffers(state_)).published.empty());
  EXPECT_EQ(Why(Claiming("u", {{Mig(1)}})),
            "MIG-1-2-0 (profile 19 at slice 4 of GPU-1) is offered "
            "by device-plugin, not by dra");
  Do(Release(state_, Mig(0), train_));
  EXPECT_EQ(Do(PublishOffers(state_)).published, std::vector<Board>{BoardOf(Gpu(1))});
  Do(Claiming("u", {{Mig(1)}}));
}

TEST_F(OffersTest, WaitLongerForWhoeverIsGivenSomethingMeanwhile) {
  Do(ChangeOffer(state_, BoardOf(Gpu(0)), Via::kNone, At(2)));
  Do(Reserve(state_, {pod_, {Gpu(0)}}, At(3)));
  EXPECT_TRUE(Do(PublishOffers(state_)).published.empty());
}

TEST_F(OffersTest, CalledOffAreAsBefore) {
  Do(ChangeOffer(state_, BoardOf(Gpu(0)), Via::kDra, At(2)));
  Do(ChangeOffer(state_, BoardOf(Gpu(0)), Via::kDevicePlugin, At(3)));
  EXPECT_TRUE(Do(PublishOffers(state_)).published.empty());
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kFree);
}

TEST_F(OffersTest, OfAGpuUnderVfioWaitForItsMachine) {
  machine_.vfio = {{machine_.gpus[0].pci, 0, {}, 4}};
  machine_.gpus.erase(machine_.gpus.begin());
  Do(Observe(state_, machine_, {}));
  const VfioDevice device = state_.vfio.begin()->second.device;
  EXPECT_EQ(device.remembered, model::GpuUuid("GPU-0"));
  Do(ChangeOffer(state_, BoardOf(device), Via::kVm, At(1)));
  Do(PublishOffers(state_));
  Do(Reserve(state_, {Vm{"db", "r"}, {VfioDevice{device.pci}}}, At(1)));
  Do(ChangeOffer(state_, BoardOf(device), Via::kDra, At(1)));
  EXPECT_TRUE(Do(PublishOffers(state_)).published.empty());
}

TEST_F(OffersTest, ListWithdrawnDevicesAsUnhealthyForAMinute) {
  EXPECT_EQ(ListingOf(state_, Mig(0), At(99)), Listing::kHealthy);
  Do(Withdraw(state_, "p", {Gpu(1)}, At(100)));
  EXPECT_EQ(ListingOf(state_, Mig(0), At(100)), Listing::kUnhealthy);
  Do(Lock(state_, "p"));
  const MigDevice old = Mig(0);
  testing::LayOut(machine_, 1, {{14, {0, 2}, {{0, 2}}}});
  Do(EndPlan(state_, "p"));
  Do(Observe(state_, machine_, {}));
  EXPECT_EQ(ListingOf(state_, Mig(0), At(101)), Listing::kHealthy) << "new ones come at once";
  EXPECT_EQ(ListingOf(state_, old, At(159)), Listing::kUnhealthy);
  EXPECT_EQ(ListingOf(state_, old, At(160)), Listing::kGone);
}

TEST_F(OffersTest, ListWhatIsHeldAsLongAsItIs) {
  Do(Bind(state_, Gpu(0), train_, At(1)));
  EXPECT_EQ(ListingOf(state_, Gpu(0), At(1)), Listing::kHealthy);
  Do(ChangeOffer(state_, BoardOf(Gpu(0)), Via::kDra, At(2)));
  EXPECT_EQ(ListingOf(state_, Gpu(0), At(1000)), Listing::kUnhealthy);
  Do(Release(state_, Gpu(0), train_));
  Do(PublishOffers(state_));
  EXPECT_EQ(ListingOf(state_, Gpu(0), At(61)), Listing::kUnhealthy);
  EXPECT_EQ(ListingOf(state_, Gpu(0), At(62)), Listing::kGone);
}

TEST_F(OffersTest, DoNotListForeignInstances) {
  testing::LayOut(machine_, 0, {{19, {0, 1}, {{0, 1}}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  EXPECT_EQ(ListingOf(state_, testing::MigAt(machine_, 0, 0), At(1)), Listing::kGone);
}

}  // namespace
}  // namespace partita::service::ledger
