#include "service/device_plugin/sharing.h"

#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using config::SharedDevices;
using testing::Boards;
using testing::Drawn;
using testing::LayOut;
using testing::Lines;
using testing::OfferAll;
using testing::Shared;

config::PluginConfig Sharing(std::vector<config::SharedResource> entries) {
  config::PluginConfig config;
  config.mig_strategy = config::MigStrategy::kMixed;
  config.time_slicing.emplace();
  config.time_slicing->resources = std::move(entries);
  return config;
}

config::SharedResource List(std::string name, std::uint32_t replicas, Lines devices) {
  config::SharedResource entry = Shared(std::move(name), replicas);
  entry.devices = {SharedDevices::Kind::kList, 0, std::move(devices)};
  return entry;
}

config::SharedResource Count(std::string name, std::uint32_t replicas, std::uint32_t count) {
  config::SharedResource entry = Shared(std::move(name), replicas);
  entry.devices = {SharedDevices::Kind::kCount, count, {}};
  return entry;
}

TEST(TimeSlicing, MakesReplicasOfAll) {
  const Offered offered = OfferAll(Boards(2), Sharing({Shared("nvidia.com/gpu", 2)}));
  ASSERT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1"});
  EXPECT_TRUE(offered.resources[0].shared);
  EXPECT_FALSE(offered.resources[0].devices[0].alone);
  const OfferedDevice& share = offered.resources[0].devices[1];
  EXPECT_EQ(share.whole_id, "GPU-0");
  EXPECT_EQ(share.index, "0");
  EXPECT_EQ(share.nodes, Lines{"/dev/nvidia0"});
  EXPECT_EQ(share.numa_node, 3);
  EXPECT_EQ(share.device,
            ledger::Device(ledger::Share{ledger::WholeGpu{model::GpuUuid("GPU-0"), share.gpu},
                                         1,
                                         {"time-slicing", "", "nvidia.com/gpu"}}));
}

TEST(TimeSlicing, OfEightByFiveIsForty) {
  EXPECT_EQ(OfferAll(Boards(8), Sharing({Shared("nvidia.com/gpu", 5)})).resources[0].devices.size(),
            40U);
}

TEST(TimeSlicing, RenamesShares) {
  config::SharedResource entry = Shared("nvidia.com/gpu", 2);
  entry.rename = "nvidia.com/gpu.shared";
  config::PluginConfig config = Sharing({entry});
  config.time_slicing->fail_requests_greater_than_one = true;
  const Offered offered = OfferAll(Boards(1), config);
  ASSERT_EQ(Drawn(offered), Lines{"nvidia.com/gpu.shared: GPU-0::0 GPU-0::1"});
  EXPECT_TRUE(offered.resources[0].devices[0].alone);
}

TEST(TimeSlicing, TakesTheLowestByCountAndLeavesTheRestWhole) {
  EXPECT_EQ(Drawn(OfferAll(Boards(3), Sharing({Count("nvidia.com/gpu", 2, 1)}))),
            Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1 GPU-2"});
}

TEST(TimeSlicing, OfMoreThanThereAreSharesThoseAndSaysSo) {
  config::SharedResource entry = Count("nvidia.com/gpu", 2, 3);
  entry.place = {"c.yaml", 7, 5};
  const Offered offered = OfferAll(Boards(1), Sharing({entry}));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1"});
  EXPECT_EQ(offered.problems, Lines{"c.yaml:7:5: sharing of nvidia.com/gpu: 3 devices are to be "
                                    "shared and there are 1; those are shared"});
}

TEST(TimeSlicing, FindsDevicesByIndexSlotAndUuid) {
  model::Inventory node = Boards(4);
  LayOut(node, 2, {"1g.5gb", "1g.5gb", "1g.5gb"});
  const Offered offered =
      OfferAll(node, Sharing({List("nvidia.com/gpu", 2, {"0", "GPU-3"}),
                              List("nvidia.com/mig-1g.5gb", 3, {"2:1", "MIG-GPU-2/3/0"})}));
  EXPECT_EQ(Drawn(offered),
            (Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1 GPU-3::0 GPU-3::1",
                   "nvidia.com/mig-1g.5gb: MIG-2-0 MIG-2-1::0 MIG-2-1::1 MIG-2-1::2 MIG-2-2::0 "
                   "MIG-2-2::1 MIG-2-2::2"}));
  EXPECT_TRUE(offered.problems.empty());
  const ledger::Device& share = offered.resources[1].devices[1].device;
  EXPECT_EQ(ledger::MigPart(share)->uuid, model::MigUuid("MIG-2-1"));
}

TEST(TimeSlicing, SharesTheOthersWhereOneIsNotThere) {
  const Offered offered =
      OfferAll(Boards(2), Sharing({List("nvidia.com/gpu", 2, {"9", "1", "GPU-x"})}));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0 GPU-1::0 GPU-1::1"});
  EXPECT_EQ(offered.problems,
            (Lines{"sharing of nvidia.com/gpu: there is no device \"9\" among those that this node "
                   "offers under that name; the others of the entry are shared",
                   "sharing of nvidia.com/gpu: there is no device \"GPU-x\" among those that this "
                   "node offers under that name; the others of the entry are shared"}));
}

TEST(TimeSlicing, KnowsALostGpuByTheIndexThatItHad) {
  model::Inventory node = Boards(3);
  node.gpus[1].index.reset();
  node.gpus[1].faults = {{model::FaultKind::kLost, "gone"}};
  EXPECT_EQ(Drawn(OfferAll(node, Sharing({List("nvidia.com/gpu", 2, {"1"})}))),
            Lines{"nvidia.com/gpu: GPU-0 !GPU-1::0 !GPU-1::1 GPU-2"});
  EXPECT_EQ(Drawn(OfferAll(node, Sharing({Count("nvidia.com/gpu", 2, 2)}))),
            Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 !GPU-1::0 !GPU-1::1 GPU-2"});
}

TEST(TimeSlicing, GivesDifferentGpusDifferentReplicas) {
  config::SharedResource second = List("nvidia.com/gpu", 3, {"1"});
  second.rename = "nvidia.com/gpu.team";
  EXPECT_EQ(Drawn(OfferAll(Boards(3), Sharing({List("nvidia.com/gpu", 2, {"0"}), second}))),
            (Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-2",
                   "nvidia.com/gpu.team: GPU-1::0 GPU-1::1 GPU-1::2"}));
}

TEST(TimeSlicing, LeavesADeviceToTheFirstEntryThatAsksForIt) {
  const Offered offered = OfferAll(
      Boards(2), Sharing({List("nvidia.com/gpu", 2, {"0", "GPU-0"}), Shared("nvidia.com/gpu", 3)}));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-1::0 GPU-1::1 GPU-1::2"});
  EXPECT_EQ(offered.problems, Lines{"sharing of nvidia.com/gpu: device GPU-0 is shared by an "
                                    "earlier entry (2 replicas) already; it stays with that one"});
}

TEST(TimeSlicing, OfAResourceThatIsNotHereChangesNothing) {
  const Offered offered = OfferAll(Boards(1), Sharing({List("nvidia.com/mig-1g.5gb", 2, {"0:0"})}));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0"});
}

TEST(TimeSlicing, SharesThatStandBesideEachOtherWhateverTheirNumber) {
  const Offered two = OfferAll(Boards(1), Sharing({Shared("nvidia.com/gpu", 2)}));
  const Offered four = OfferAll(Boards(1), Sharing({Shared("nvidia.com/gpu", 4)}));
  EXPECT_EQ(
      ledger::Overlap({two.resources[0].devices[1].device}, {four.resources[0].devices[3].device}),
      ledger::Clash::kNone);
}

TEST(TimeSlicing, MakesNoMoreThanKubeletTakes) {
  const Offered offered = OfferAll(Boards(2), Sharing({Shared("nvidia.com/gpu", kMostDevices)}));
  EXPECT_EQ(offered.resources[0].devices.size(), kMostDevices + 1);
  EXPECT_EQ(offered.problems,
            Lines{"sharing of nvidia.com/gpu: device GPU-1 is not shared: 50000 replicas would "
                  "make more than 50000 devices of nvidia.com/gpu, which kubelet cannot take; set "
                  "fewer replicas"});
  EXPECT_EQ(OfferAll(Boards(1), Sharing({Shared("nvidia.com/gpu", 4'000'000'000U)}))
                .resources[0]
                .devices.size(),
            1U);
}

TEST(TimeSlicing, IsUnhealthyWithItsDevice) {
  model::NodeHealth health;
  health.parts.push_back(
      {model::GpuUuid("GPU-0"), {}, {}, model::HealthState::kRecovering, "XidCritical", "XID 79"});
  EXPECT_EQ(Drawn(OfferAll(Boards(2), Sharing({Shared("nvidia.com/gpu", 2)}), health)),
            Lines{"nvidia.com/gpu: !GPU-0::0 !GPU-0::1 GPU-1::0 GPU-1::1"});
}

TEST(TimeSlicing, TellsOfANameThatNothingHasHere) {
  config::SharedResource entry = Shared("nvidia.com/gpus", 3);
  entry.place = {"c.yaml", 4, 7};
  EXPECT_EQ(OfferAll(Boards(1), Sharing({entry})).problems,
            Lines{"c.yaml:4:7: sharing of nvidia.com/gpus: this node offers nothing under that "
                  "name, so nothing is shared by it; there is nvidia.com/gpu"});
  EXPECT_EQ(OfferAll(Boards(0), Sharing({entry})).problems, Lines{}) << "nothing was read yet";
}

TEST(TimeSlicing, TellsWhereANewNameIsThatOfOtherDevices) {
  model::Inventory node = Boards(2);
  LayOut(node, 1, {"1g.5gb"});
  config::SharedResource entry = Shared("nvidia.com/gpu", 2);
  entry.rename = "nvidia.com/mig-1g.5gb";
  entry.place = {"c.yaml", 4, 7};
  EXPECT_EQ(OfferAll(node, Sharing({entry})).problems,
            Lines{"c.yaml:4:7: sharing of nvidia.com/gpu: its shares are called "
                  "nvidia.com/mig-1g.5gb, as are other devices of this node: a pod gets either; "
                  "choose another \"rename\""});
}

}  // namespace
}  // namespace partita::service::device_plugin
