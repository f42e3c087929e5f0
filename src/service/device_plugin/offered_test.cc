#include "service/device_plugin/offered.h"

#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using config::MigStrategy;
using testing::Boards;
using testing::Drawn;
using testing::LayOut;
using testing::Lines;
using testing::OfferAll;
using testing::With;

TEST(Offer, GivesWholeGpusWithAllThatAContainerNeedsOfThem) {
  const model::Inventory node = Boards(2);
  const Offered offered = OfferAll(node, {});
  ASSERT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
  const OfferedDevice& device = offered.resources[0].devices[1];
  EXPECT_EQ(device.whole_id, "GPU-1");
  EXPECT_EQ(device.index, "1");
  EXPECT_EQ(device.gpu, node.gpus[1].pci);
  EXPECT_EQ(device.numa_node, 3);
  EXPECT_EQ(device.nodes, std::vector<std::string>{"/dev/nvidia1"});
  EXPECT_EQ(device.device,
            ledger::Device(ledger::WholeGpu{model::GpuUuid("GPU-1"), node.gpus[1].pci}));
  EXPECT_TRUE(offered.problems.empty());
  EXPECT_FALSE(offered.resources[0].shared);
}

TEST(Offer, NamesNodesByMinorAndNotByIndex) {
  model::Inventory node = Boards(1);
  node.gpus[0].minor = model::DeviceMinor(7);
  EXPECT_EQ(OfferAll(node, {}).resources[0].devices[0].nodes, Lines{"/dev/nvidia7"});
}

TEST(Offer, NeverGivesAGpuWhoseNodeIsNotKnown) {
  model::Inventory node = Boards(2);
  node.gpus[0].minor.reset();
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: !GPU-0 GPU-1"});
  EXPECT_EQ(offered.resources[0].devices[0].why, "the number of its device node is not known");
}

TEST(Offer, OfASlicedGpuIsUnhealthyWithoutAMigStrategy) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"1g.5gb"});
  const Offered offered = OfferAll(node, With(MigStrategy::kNone));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: !GPU-0 GPU-1"});
  EXPECT_EQ(offered.resources[0].devices[0].why,
            "MIG is enabled on it, and programs cannot use such a GPU as a whole: set migStrategy "
            "to single or mixed, or disable MIG");
  EXPECT_EQ(offered.problems,
            Lines{"GPU 0: MIG is enabled on it, and programs cannot use such a GPU as a whole: set "
                  "migStrategy to single or mixed, or disable MIG; it is listed as unhealthy"});
  config::PluginConfig config = With(MigStrategy::kNone);
  config.offer_mig_parents = true;
  EXPECT_EQ(Drawn(OfferAll(node, config)), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST(Offer, GoesByTheModeInForceAndNotByThePendingOne) {
  model::Inventory node = Boards(1);
  node.gpus[0].mig->pending_enabled = true;
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kMixed))), Lines{"nvidia.com/gpu: GPU-0"});
}

TEST(Offer, MixedNamesEachProfile) {
  model::Inventory node = Boards(3);
  LayOut(node, 1, {"1g.5gb", "3g.20gb", "1g.5gb+me"});
  LayOut(node, 2, {"3g.20gb"});
  const Offered offered = OfferAll(node, With(MigStrategy::kMixed));
  EXPECT_EQ(Drawn(offered), (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: MIG-1-0",
                                   "nvidia.com/mig-1g.5gb.me: MIG-1-2",
                                   "nvidia.com/mig-3g.20gb: MIG-1-1 MIG-2-0"}));
  const OfferedDevice& device = offered.resources[3].devices[0];
  const model::GpuInstance& instance = node.gpus[1].mig->instances[1];
  EXPECT_TRUE(device.mig);
  EXPECT_EQ(device.index, "1:1");
  EXPECT_EQ(device.numa_node, 3);
  EXPECT_EQ(device.nodes, (Lines{"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap156",
                                 "/dev/nvidia-caps/nvidia-cap157"}));
  EXPECT_EQ(device.device,
            ledger::Device(ledger::MigDevice{{model::GpuUuid("GPU-1"), node.gpus[1].pci},
                                             instance.profile,
                                             instance.placement,
                                             instance.compute_instances[0].placement,
                                             model::MigUuid("MIG-1-1")}));
}

TEST(Offer, MixedLeavesOutPartsOfGpuInstances) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"1c.3g.20gb", "1g.5gb"});
  const Offered offered = OfferAll(node, With(MigStrategy::kMixed));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/mig-1g.5gb: MIG-0-1"});
  EXPECT_EQ(offered.problems, Lines{"GPU 0: MIG device MIG-0-0 is a 1c.3g.20gb, a part of a GPU "
                                    "instance, for which there is no resource; it is not offered"});
}

TEST(Offer, SaysThatASlicedGpuHasNothing) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {});
  for (const MigStrategy strategy : {MigStrategy::kSingle, MigStrategy::kMixed}) {
    const Offered offered = OfferAll(node, With(strategy));
    EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-1"});
    EXPECT_EQ(offered.problems,
              Lines{"GPU 0: MIG is enabled and it has no MIG devices to offer; make some with "
                    "`partita mig apply`, or disable MIG"});
  }
}

TEST(Offer, SingleCallsEveryMigDeviceAGpu) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"1g.5gb", "1g.5gb"});
  LayOut(node, 1, {"1g.5gb"});
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle))),
            Lines{"nvidia.com/gpu: MIG-0-0 MIG-0-1 MIG-1-0"});
}

TEST(Offer, SingleKeepsTheMostNumerousKindAndReportsTheOthers) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"3g.20gb", "1g.5gb", "1g.5gb"});
  const Offered offered = OfferAll(node, With(MigStrategy::kSingle));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: MIG-0-1 MIG-0-2"});
  EXPECT_EQ(offered.problems,
            Lines{"MIG-0-0 (3g.20gb with 42 SMs) is not offered: with migStrategy single all "
                  "devices of nvidia.com/gpu are alike, and the others are 1g.5gb with 14 SMs; use "
                  "migStrategy mixed"});
}

TEST(Offer, SingleKeepsTheLowestIndexWhereThereAreAsMany) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"3g.20gb", "1g.5gb"});
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle))), Lines{"nvidia.com/gpu: MIG-0-0"});
}

TEST(Offer, SingleTellsApartProductsByTheirMultiprocessors) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"1g.5gb"});
  LayOut(node, 1, {"1g.5gb", "1g.5gb"});
  for (model::GpuInstance& instance : node.gpus[1].mig->instances)
    instance.compute_instances[0].multiprocessors = 16;
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle))),
            Lines{"nvidia.com/gpu: MIG-1-0 MIG-1-1"});
}

TEST(Offer, SingleKeepsWhatMoreGpusAreWholeOrSliced) {
  model::Inventory node = Boards(3);
  LayOut(node, 0, {"1g.5gb", "1g.5gb", "1g.5gb"});
  const Offered offered = OfferAll(node, With(MigStrategy::kSingle));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-1 GPU-2"}) << "not by the number of slices";
  EXPECT_EQ(offered.problems.size(), 3U);
  LayOut(node, 1, {"1g.5gb"});
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle))),
            Lines{"nvidia.com/gpu: MIG-0-0 MIG-0-1 MIG-0-2 MIG-1-0"});
}

TEST(Offer, SingleDoesNotChangeItsMindForHealth) {
  model::Inventory node = Boards(3);
  LayOut(node, 0, {"1g.5gb"});
  model::NodeHealth health;
  for (const char* uuid : {"GPU-1", "GPU-2"})
    health.parts.push_back(
        {model::GpuUuid(uuid), {}, {}, model::HealthState::kUnhealthy, "XidCritical", "XID 79"});
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle), health)),
            Lines{"nvidia.com/gpu: !GPU-1 !GPU-2"});
}

TEST(Offer, SingleListsAGpuOfWhichNothingIsKnownAndGivesItNoSay) {
  model::Inventory node = Boards(2);
  LayOut(node, 1, {"1g.5gb"});
  node.gpus[0].mig.reset();
  node.gpus[0].faults = {{model::FaultKind::kUnreadable, "it does not answer"}};
  EXPECT_EQ(Drawn(OfferAll(node, With(MigStrategy::kSingle))),
            Lines{"nvidia.com/gpu: !GPU-0 MIG-1-0"});
}

TEST(Offer, HandsOutNoGpuThatMayBeSliced) {
  model::Inventory node = Boards(1);
  node.gpus[0].mig.reset();
  node.gpus[0].mig_error = base::Error(base::ErrorCode::kUnavailable, "no answer");
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: !GPU-0"});
  EXPECT_EQ(offered.resources[0].devices[0].why,
            "what MIG has made of it cannot be read: no answer");
}

TEST(Offer, KeepsWhatCannotBeReadAsUnhealthy) {
  model::Inventory node = Boards(3);
  LayOut(node, 1, {"1g.5gb"});
  node.gpus[0].faults = {{model::FaultKind::kRemapPending, "a row waits"}};
  node.gpus[1].faults = {{model::FaultKind::kHung, "it does not answer"}};
  node.gpus[2].faults = {{model::FaultKind::kLost, "it fell off the bus"}};
  const Offered offered = OfferAll(node, With(MigStrategy::kMixed));
  EXPECT_EQ(Drawn(offered),
            (Lines{"nvidia.com/gpu: GPU-0 !GPU-2", "nvidia.com/mig-1g.5gb: !MIG-1-0"}));
  EXPECT_EQ(offered.resources[0].devices[1].why, "it fell off the bus");
}

TEST(Offer, KeepsTheOrderAndTheIndexOfAGpuThatFellSilent) {
  model::Inventory node = Boards(4);
  model::Gpu lost = node.gpus[1];
  lost.index.reset();
  lost.faults = {{model::FaultKind::kLost, "gone"}};
  node.gpus.erase(node.gpus.begin() + 1);
  node.gpus.push_back(lost);
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0 !GPU-1 GPU-2 GPU-3"});
  EXPECT_EQ(offered.resources[0].devices[1].index, "1");
}

TEST(Offer, GivesNoIndexWhereTheDriverCountedAnew) {
  model::Inventory node = Boards(3);
  node.gpus[1].index.reset();
  node.gpus[1].faults = {{model::FaultKind::kLost, "gone"}};
  node.gpus[2].index = model::GpuIndex(1);
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0 !GPU-1 GPU-2"});
  EXPECT_EQ(offered.resources[0].devices[1].index, "");
}

TEST(Offer, FollowsADriverThatDoesNotCountAlongTheBus) {
  model::Inventory node = Boards(2);
  std::swap(node.gpus[0].pci, node.gpus[1].pci);
  EXPECT_EQ(Drawn(OfferAll(node, {})), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST(Offer, SaysThatAGpuWithoutAUuidIsLeftOut) {
  model::Inventory node = Boards(2);
  node.gpus[0].uuid.reset();
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-1"});
  EXPECT_EQ(offered.problems, Lines{"GPU 0: its UUID is not known, so it cannot be offered; see "
                                    "`partita status`"});
}

TEST(Offer, OffersABoardOnceWhereItWasSeenInTwoSlots) {
  model::Inventory node = Boards(2);
  model::Gpu before = node.gpus[0];
  before.pci.bus = 0x01;
  before.index.reset();
  before.faults = {{model::FaultKind::kLost, "gone"}};
  node.gpus.push_back(before);
  EXPECT_EQ(Drawn(OfferAll(node, {})), Lines{"nvidia.com/gpu: GPU-0 GPU-1"});
}

TEST(Offer, LeavesOutScreensAndVirtualMachines) {
  model::Inventory node = Boards(4);
  node.gpus[0].name = "DGX Display";
  node.gpus[1].name = "NVIDIA DGX Display";
  node.vfio.push_back({node.gpus[2].pci, 0, {}, {}});
  const Offered offered = OfferAll(node, {});
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-3"});
  EXPECT_EQ(offered.resources[0].devices[0].index, "3") << "the gap stays";
}

TEST(Offer, GoesByTheFirstRuleThatMatches) {
  const model::Inventory node = Boards(4);
  const auto offer = [&](const std::vector<config::OfferRule>& rules, bool by_default) {
    return Drawn(Offer(node, {}, rules, by_default, {}, {}));
  };
  config::OfferRule out, in;
  out.select.index = {model::GpuIndex(1), model::GpuIndex(2)};
  out.offered = false;
  in.select.uuid = {model::GpuUuid("GPU-2")};
  EXPECT_EQ(offer({out, in}, true), Lines{"nvidia.com/gpu: GPU-0 GPU-3"});
  EXPECT_EQ(offer({in, out}, true), Lines{"nvidia.com/gpu: GPU-0 GPU-2 GPU-3"});
  EXPECT_EQ(offer({in}, false), Lines{"nvidia.com/gpu: GPU-2"});
  EXPECT_EQ(offer({}, false), Lines{});
}

TEST(Offer, LeavesOutALostGpuThatWasExcludedByItsIndex) {
  model::Inventory node = Boards(3);
  node.gpus[1].index.reset();
  node.gpus[1].faults = {{model::FaultKind::kLost, "gone"}};
  config::OfferRule out;
  out.select.index = {model::GpuIndex(1)};
  out.offered = false;
  EXPECT_EQ(Drawn(Offer(node, {}, {out}, true, {}, {})), Lines{"nvidia.com/gpu: GPU-0 GPU-2"});
}

TEST(Offer, LeavesOutInstancesOfOthers) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"1g.5gb", "1g.5gb"});
  ledger::State state = testing::LedgerOf(node);
  for (auto& [key, seen] : state.instances) seen.foreign = seen.memory.start == 1;
  const Offered offered = Offer(node, With(MigStrategy::kMixed), {}, true, {}, state);
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/mig-1g.5gb: MIG-0-0"});
  EXPECT_EQ(offered.problems,
            Lines{"GPU 0: GPU instance 2 (1g.5gb) is not part of the node's layout and is not "
                  "offered; remove it, or make it part of the layout"});
}

TEST(Offer, NeverGivesASliceWithoutItsCapabilityNodes) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"1g.5gb", "1g.5gb", "1g.5gb"});
  node.gpus[0].mig->instances[0].access.reset();
  node.gpus[0].mig->instances[1].compute_instances[0].access.reset();
  const Offered offered = OfferAll(node, With(MigStrategy::kMixed));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/mig-1g.5gb: !MIG-0-0 !MIG-0-1 MIG-0-2"});
  EXPECT_EQ(offered.resources[0].devices[0].why,
            "the numbers of its capability nodes are not known");
}

TEST(Offer, IsUnhealthyWhereHealthSaysSoAndNowhereElse) {
  model::Inventory node = Boards(2);
  LayOut(node, 1, {"1g.5gb", "1g.5gb"});
  model::NodeHealth health;
  health.parts.push_back({model::GpuUuid("GPU-1"), model::GpuInstanceId(2),
                          model::ComputeInstanceId(0), model::HealthState::kUnhealthy,
                          "XidCritical", "XID 31"});
  health.parts.push_back(
      {model::GpuUuid("GPU-0"), {}, {}, model::HealthState::kDegraded, "XidEvent", "XID 94"});
  const Offered offered = OfferAll(node, With(MigStrategy::kMixed), health);
  EXPECT_EQ(Drawn(offered),
            (Lines{"nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.5gb: MIG-1-0 !MIG-1-1"}));
  EXPECT_EQ(offered.resources[1].devices[1].why, "XID 31");
}

TEST(Offer, HonoursPatternsOfNames) {
  model::Inventory node = Boards(3);
  node.gpus[1].name = "NVIDIA H200";
  LayOut(node, 2, {"1g.5gb", "1c.3g.20gb"});
  config::PluginConfig config = With(MigStrategy::kMixed);
  config.gpu_names = {{"*H200*", "nvidia.com/gpu-h200"}, {"*", "nvidia.com/other"}};
  config.mig_names = {{"1c.*", "nvidia.com/part"}};
  EXPECT_EQ(Drawn(OfferAll(node, config)),
            (Lines{"nvidia.com/gpu-h200: GPU-1", "nvidia.com/mig-1g.5gb: MIG-2-0",
                   "nvidia.com/other: GPU-0", "nvidia.com/part: MIG-2-1"}));
}

TEST(Offer, OfNothingIsNothing) { EXPECT_EQ(OfferAll({}, {}), Offered{}); }

}  // namespace
}  // namespace partita::service::device_plugin
