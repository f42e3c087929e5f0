#include "service/ledger/holds.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;
using HoldsTest = testing::VerbsTest;

TEST_F(HoldsTest, AreReservedThenHeldThenFree) {
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kFree);
  Do(Reserve(state_, {pod_, {Gpu(0)}}, At(1)));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kReserved);
  Do(Bind(state_, Gpu(0), train_, At(2)));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kHeld);
  EXPECT_EQ(state_.holds.at("GPU-0").since, At(1)) << "that of the allocation";
  EXPECT_TRUE(Release(state_, Gpu(0), pod_).changes.empty()) << "another's by now";
  Do(Release(state_, Gpu(0), train_));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kFree);
}

TEST_F(HoldsTest, OfTheSameDeviceReplaceTheOldHolder) {
  Do(Bind(state_, Gpu(0), train_, At(1)));
  const Receipt receipt = Do(Reserve(state_, {pod_, {Gpu(0)}}, At(2)));
  ASSERT_EQ(receipt.replaced.size(), 1U);
  EXPECT_EQ(receipt.replaced[0].owner, train_);
  EXPECT_EQ(state_.holds.at("GPU-0").owner, pod_);
  EXPECT_TRUE(Release(state_, Gpu(0), train_).changes.empty());
}

// What kubelet offers under one name it may have given away under another.
TEST_F(HoldsTest, OfTheSameDeviceUnderAnotherNameAreRefused) {
  Do(Bind(state_, Gpu(0), train_, At(1)));
  EXPECT_EQ(Why(Reserve(state_, {Pod{"", "", "", "nvidia.com/gpu.old"}, {Gpu(0)}}, At(2))),
            "GPU-0 cannot be given to a pod not yet seen (nvidia.com/gpu.old): pod default/train "
            "(main) holds GPU-0 (one of them needs the whole GPU)");
}

TEST_F(HoldsTest, AreRefusedForAnotherDeviceWithTheSameAtoms) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  EXPECT_EQ(
      Why(Reserve(state_, {pod_, {Gpu(1)}}, At(2))),
      "GPU-1 cannot be given to a pod not yet seen (nvidia.com/gpu): pod default/train (main) "
      "holds MIG-1-1-0 (profile 9 at slice 0 of GPU-1) (one of them needs the whole GPU)");
  Do(Reserve(state_, {pod_, {Mig(0, 1), Mig(1)}}, At(2)));
  EXPECT_EQ(StateOf(state_, Gpu(1)), DeviceState::kHeld);
}

TEST_F(HoldsTest, AreRefusedForAnotherPathWithTheHoldersName) {
  OfferAs(0, Via::kDra);
  Do(Claiming("u", {{Gpu(0)}}));
  EXPECT_EQ(Why(Reserve(state_, {pod_, {Gpu(0)}}, At(2))),
            "GPU-0 is offered by dra, not by device-plugin");
  EXPECT_EQ(Why(Bind(state_, Gpu(0), train_, At(2))),
            "GPU-0 cannot be given to pod default/train (main): claim default/cu (u) holds GPU-0 "
            "(one of them needs the whole GPU)");
}

TEST_F(HoldsTest, TakeAllDevicesOrNone) {
  Do(Bind(state_, Mig(0), train_, At(1)));
  const State before = state_;
  EXPECT_NE(Why(Reserve(state_, {pod_, {Gpu(0), Gpu(1)}}, At(2))), "");
  EXPECT_NE(Why(Reserve(state_, {pod_, {Gpu(0), Gpu(0)}}, At(2))), "") << "one device twice";
  EXPECT_EQ(state_, before);
}

TEST_F(HoldsTest, AreOfDevicesThatAreThereOnly) {
  MigDevice other = Mig(0);
  other.uuid = model::MigUuid("MIG-of-before");
  EXPECT_EQ(Why(Reserve(state_, {pod_, {other}}, At(1))),
            "there is no MIG-of-before (profile 9 at slice 0 of GPU-1) on this node");
  EXPECT_NE(Why(Reserve(state_, {pod_, {WholeGpu{model::GpuUuid("GPU-9")}}}, At(1))), "");
}

TEST_F(HoldsTest, ComeBackFromTheNodeWithoutAReservation) {
  Do(Bind(state_, Mig(1), train_, At(1)));
  EXPECT_EQ(StateOf(state_, Mig(1)), DeviceState::kHeld);
  EXPECT_NE(MigPart(state_.holds.begin()->second.device)->incarnation, Incarnation(0));
}

TEST_F(HoldsTest, OfSharesStandBesideEachOtherOnlyIfMadeAlike) {
  const Sharing sliced{"time-slicing", "", "nvidia.com/gpu"};
  Do(Reserve(state_, {pod_, {Share{Gpu(0), 0, sliced}}}, At(1)));
  Do(Reserve(state_, {pod_, {Share{Gpu(0), 1, sliced}}}, At(1)));
  EXPECT_NE(Why(Reserve(state_, {pod_, {Share{Gpu(0), 2, {"mps", "", "nvidia.com/gpu"}}}}, At(1))),
            "");
}

TEST_F(HoldsTest, OfForeignInstancesAreNotRefused) {
  testing::LayOut(machine_, 0, {{19, {0, 1}, {{0, 1}}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  const MigDevice found = testing::MigAt(machine_, 0, 0);
  EXPECT_EQ(Why(Reserve(state_, {pod_, {found}}, At(1))), "");
}

TEST_F(HoldsTest, OfVirtualMachinesKeepAnIommuGroupToThemselves) {
  machine_.vfio = {{{0, 9, 0, 0}, 0, {}, 4}, {{0, 10, 0, 0}, 0, {}, 4}};
  Do(Observe(state_, machine_, {}));
  const VfioDevice first{{0, 9, 0, 0}};
  const VfioDevice second{{0, 10, 0, 0}};
  for (const VfioDevice& device : {first, second}) {
    Do(ChangeOffer(state_, BoardOf(device), Via::kVm, At(0)));
    Do(PublishOffers(state_));
  }
  const Owner db = Vm{"db", "nvidia.com/GH100"};
  Do(Reserve(state_, {db, {first}}, At(1)));
  EXPECT_EQ(Why(Reserve(state_, {Vm{"web", "nvidia.com/GH100"}, {second}}, At(1))),
            "0000:0a:00.0 (vfio) cannot be given to virtual machine web: virtual machine db holds "
            "0000:09:00.0 (vfio) (they are in one IOMMU group)");
  Do(Reserve(state_, {db, {second}}, At(1)));
}

}  // namespace
}  // namespace partita::service::ledger
