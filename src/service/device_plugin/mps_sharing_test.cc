#include "service/device_plugin/mps_sharing.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "service/device_plugin/allocate.h"
#include "service/device_plugin/device_id.h"
#include "service/device_plugin/testing/node.h"
#include "service/ledger/atoms.h"

namespace partita::service::device_plugin {
namespace {

using testing::Boards;
using testing::Drawn;
using testing::LayOut;
using testing::Lines;
using testing::OfferAll;
using testing::Shared;
using testing::With;

config::PluginConfig ByMps(std::vector<config::SharedResource> entries, bool one_each = true) {
  config::PluginConfig config;
  config.mig_strategy = config::MigStrategy::kMixed;
  config.list_strategies = {config::ListStrategy::kCdiCri};
  config.mps.emplace();
  config.mps->fail_requests_greater_than_one = one_each;
  config.mps->resources = std::move(entries);
  return config;
}

config::SharedResource Of(std::string name, std::uint32_t replicas, Lines devices) {
  config::SharedResource entry = Shared(std::move(name), replicas);
  entry.devices = {config::SharedDevices::Kind::kList, 0, std::move(devices)};
  return entry;
}

Lines NamesOf(const std::vector<mps::Domain>& domains) {
  Lines names;
  names.reserve(domains.size());
  for (const mps::Domain& domain : domains) names.push_back(domain.name);
  return names;
}

base::Result<Answer> Give(const Offered& offered,
                          const config::PluginConfig& config,
                          const Lines& ids,
                          std::size_t resource = 0) {
  return Allocate(Stock(offered.resources[resource]), ids, config, {});
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(MpsSharing, EachGpuHasADomainAndSharesOfIt) {
  const config::PluginConfig config = ByMps({Shared("nvidia.com/gpu", 4)});
  const Offered offered = OfferAll(Boards(1), config);
  ASSERT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-0::0 GPU-0::1 GPU-0::2 GPU-0::3"});
  EXPECT_EQ(offered.problems, Lines{});
  EXPECT_TRUE(offered.resources[0].devices[0].alone);
  ASSERT_EQ(NamesOf(offered.domains), Lines{"GPU-0"});
  const OfferedDevice& share = offered.resources[0].devices[1];
  ASSERT_TRUE(share.mps);
  EXPECT_EQ(share.mps->domain, "GPU-0");
  EXPECT_EQ(share.mps->limits.threads, model::Percent(25));
  EXPECT_EQ(offered.domains[0].memory, std::vector{share.mps->limits.memory});
  EXPECT_EQ(std::get<ledger::Share>(share.device).sharing,
            (ledger::Sharing{"mps", "", "nvidia.com/gpu"}));
}

TEST(MpsSharing, AContainerFindsItsDaemon) {
  config::PluginConfig config = ByMps({Shared("nvidia.com/gpu", 4)});
  config.mps_root = "/run/mps";
  const Offered offered = OfferAll(Boards(2), config);
  const base::Result<Answer> answer = Give(offered, config, {"GPU-1::2"});
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  // As the reference gives it: the limits are the daemon's defaults.
  EXPECT_EQ(answer->envs, (Pairs{{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"}}));
  EXPECT_EQ(answer->mounts,
            (std::vector<Answer::Mount>{{"/mps/nvidia.com/gpu/pipe", "/run/mps/GPU-1/pipe", true},
                                        {"/dev/shm", "/run/mps/GPU-1/shm", false}}));
  EXPECT_EQ(answer->cdi_devices, Lines{"k8s.device-plugin.nvidia.com/gpu=GPU-1"});
}

TEST(MpsSharing, SeveralSharesHaveSeveralTimesTheLimits) {
  const config::PluginConfig config = ByMps({Shared("nvidia.com/gpu", 4)}, false);
  const Offered offered = OfferAll(Boards(2), config);
  ASSERT_EQ(NamesOf(offered.domains), Lines{"nvidia.com_gpu"});
  // The daemon's defaults are the whole: a client's variables lower only.
  EXPECT_EQ(offered.domains[0].threads, model::Percent(100));
  const mps::Limits share = offered.resources[0].devices[0].mps->limits;
  const base::Result<Answer> answer =
      Give(offered, config, {"GPU-1::0", "GPU-0::1", "GPU-0::3", "GPU-0::0"});
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_EQ(answer->envs,
            (Pairs{{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"},
                   {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                   {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                    fmt::format("0={}M,1={}M", 3 * share.memory.value(), share.memory)},
                   {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"}}));
  EXPECT_EQ(answer->mounts[0].host_path, "/run/nvidia/mps/nvidia.com_gpu/pipe");
}

TEST(MpsSharing, MigDevicesHaveADomainEach) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"3g.20gb", "1g.5gb"});
  config::PluginConfig config =
      ByMps({Shared("nvidia.com/mig-3g.20gb", 2), Shared("nvidia.com/mig-1g.5gb", 7)}, false);
  const Offered offered = OfferAll(node, config);
  ASSERT_EQ(offered.domains.size(), 1U);
  EXPECT_TRUE(offered.domains[0].members[0].mig);
  EXPECT_EQ(offered.domains[0].members[0].compute, (mps::ComputeShare{3, 7}));
  ASSERT_EQ(offered.resources.size(), 1U);
  const std::string uuid = offered.domains[0].name;
  // One seventh of 48 clients are six; without a limit it is not handed out.
  ASSERT_EQ(offered.problems.size(), 1U);
  EXPECT_NE(offered.problems[0].find("it serves at most 6 clients at once, with 1 of 7 compute "
                                     "slices; set fewer replicas"),
            std::string::npos)
      << offered.problems[0];
  const base::Result<Answer> answer = Give(offered, config, {uuid + "::0"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->envs.back(), (Pairs::value_type{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}));
}

TEST(MpsSharing, SharesOfTwoDaemonsAreNoUseToAContainer) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"1g.5gb", "1g.5gb"});
  const config::PluginConfig config = ByMps({Shared("nvidia.com/mig-1g.5gb", 2)}, false);
  const Offered offered = OfferAll(node, config);
  const auto& devices = offered.resources[0].devices;
  const base::Result<Answer> answer = Give(offered, config, {devices[0].id, devices[2].id});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().ToString(),
            "invalid allocation request for \"nvidia.com/mig-1g.5gb\": invalid request: " +
                devices[0].id + " and " + devices[2].id +
                " are not shares of one MPS daemon, and a program can talk to one only");
}

TEST(MpsSharing, StandsBesideTimeSlicesAndWholeGpus) {
  config::PluginConfig config = ByMps({Of("nvidia.com/gpu", 2, {"0"})});
  config.mps->resources[0].rename = "nvidia.com/gpu.mps";
  config.time_slicing.emplace();
  config.time_slicing->resources = {Of("nvidia.com/gpu", 2, {"0", "1"})};
  config.time_slicing->resources[0].rename = "nvidia.com/gpu.sliced";
  const Offered offered = OfferAll(Boards(3), config);
  EXPECT_EQ(Drawn(offered), (Lines{"nvidia.com/gpu: GPU-2", "nvidia.com/gpu.mps: GPU-0::0 GPU-0::1",
                                   "nvidia.com/gpu.sliced: GPU-1::0 GPU-1::1"}));
  EXPECT_EQ(offered.problems,
            Lines{"sharing of nvidia.com/gpu: device GPU-0 is shared by an earlier entry (2 "
                  "replicas) already; it stays with that one"});
  EXPECT_TRUE(offered.resources[1].devices[0].alone);
  EXPECT_FALSE(offered.resources[2].devices[0].alone);
  EXPECT_EQ(Give(offered, config, {"GPU-1::0"}, 2).value().mounts, std::vector<Answer::Mount>());
}

// Under one name: each section says it of its own shares.
TEST(MpsSharing, LimitsRequestsForItsOwnSharesAlone) {
  config::PluginConfig config = ByMps({Of("nvidia.com/gpu", 2, {"0"})});
  config.time_slicing.emplace();
  config.time_slicing->resources = {Of("nvidia.com/gpu", 2, {"1"})};
  const auto gives = [&](const Lines& ids) {
    return Give(OfferAll(Boards(4), config), config, ids).ok();
  };
  EXPECT_TRUE(gives({"GPU-1::0", "GPU-1::1"})) << "time-slices have no limit";
  EXPECT_TRUE(gives({"GPU-1::0", "GPU-2"}));
  EXPECT_FALSE(gives({"GPU-0::0", "GPU-0::1"}));
  config.mps->fail_requests_greater_than_one = false;
  config.time_slicing->fail_requests_greater_than_one = true;
  EXPECT_TRUE(gives({"GPU-0::0", "GPU-0::1"})) << "shares of the daemon have none";
  EXPECT_FALSE(gives({"GPU-1::0", "GPU-1::1"}));
  EXPECT_FALSE(gives({"GPU-1::0", "GPU-2"}));
}

// Of each device four shares with 1 GiB and one with half of it.
config::SharedResource Sized(std::string name) {
  config::SharedResource entry = Shared(std::move(name), 5);
  entry.shares = {{"small", 4, std::uint64_t{1} << 30U, 0, 10}, {"large", 1, 0, 50, 50}};
  return entry;
}

TEST(MpsSharing, SizesAreResourcesOfOneDomain) {
  const config::PluginConfig config = ByMps({Sized("nvidia.com/gpu")});
  const Offered offered = OfferAll(Boards(2), config);
  EXPECT_EQ(offered.problems, Lines{});
  EXPECT_EQ(Drawn(offered),
            (Lines{"nvidia.com/gpu.large: GPU-0::large-0 GPU-1::large-0",
                   "nvidia.com/gpu.small: GPU-0::small-0 GPU-0::small-1 GPU-0::small-2 "
                   "GPU-0::small-3 GPU-1::small-0 GPU-1::small-1 GPU-1::small-2 GPU-1::small-3"}));
  EXPECT_EQ(NamesOf(offered.domains), (Lines{"GPU-0", "GPU-1"}));
  const mps::Limits large = offered.resources[0].devices[0].mps->limits;
  const OfferedDevice& small = offered.resources[1].devices[3];
  EXPECT_EQ(offered.domains[0].memory, std::vector{large.memory});
  EXPECT_EQ(offered.domains[0].threads, model::Percent(50));
  EXPECT_EQ(large.memory.value(), offered.domains[0].members[0].memory.value() >> 21U);
  EXPECT_EQ(*small.mps, (MpsShare{.domain = "GPU-0",
                                  .limits = {model::Mebibytes(1024), model::Percent(10)},
                                  .whole = mps::WholeOf(offered.domains[0].members[0]),
                                  .size = "small"}));
  EXPECT_TRUE(offered.resources[1].devices[0].alone);
  const base::Result<Answer> answer = Give(offered, config, {"GPU-1::small-2"}, 1);
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_EQ(answer->envs, (Pairs{{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu.small/pipe"},
                                 {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                 {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1024M"},
                                 {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10"}}));
  EXPECT_EQ(answer->mounts[0],
            (Answer::Mount{"/mps/nvidia.com/gpu.small/pipe", "/run/nvidia/mps/GPU-1/pipe", true}));
}

TEST(MpsSharing, SizesOfAGpuLiveSideBySideAndExcludeAllElseOfIt) {
  const Offered offered = OfferAll(Boards(1), ByMps({Sized("nvidia.com/gpu")}));
  const ledger::Device& large = offered.resources[0].devices[0].device;
  const ledger::Device& small = offered.resources[1].devices[0].device;
  EXPECT_EQ(ledger::Between(small, large), ledger::Clash::kNone);
  EXPECT_EQ(ledger::Between(small, offered.resources[1].devices[1].device), ledger::Clash::kNone);
  EXPECT_EQ(ledger::Between(small, small), ledger::Clash::kSameShare);
  const Offered whole = OfferAll(Boards(1), With(config::MigStrategy::kNone));
  EXPECT_EQ(ledger::Between(large, whole.resources[0].devices[0].device), ledger::Clash::kShared);
  config::PluginConfig sliced = With(config::MigStrategy::kNone);
  sliced.time_slicing.emplace().resources = {Shared("nvidia.com/gpu", 2)};
  EXPECT_EQ(ledger::Between(large, OfferAll(Boards(1), sliced).resources[0].devices[0].device),
            ledger::Clash::kSharing);
}

TEST(MpsSharing, AnotherNumberOfOneSizeMovesNoneOfTheOthers) {
  config::SharedResource more = Sized("nvidia.com/gpu");
  more.shares[0].replicas = 5;
  more.replicas = 6;
  const Offered offered = OfferAll(Boards(1), ByMps({more}));
  EXPECT_EQ(Drawn(offered)[0], "nvidia.com/gpu.large: GPU-0::large-0");
}

TEST(MpsSharing, SeveralSharesOfASizeHaveSeveralTimesItsLimits) {
  const config::PluginConfig config = ByMps({Sized("nvidia.com/gpu")}, false);
  const Offered offered = OfferAll(Boards(2), config);
  ASSERT_EQ(NamesOf(offered.domains), Lines{"nvidia.com_gpu"});
  EXPECT_EQ(offered.domains[0].threads, model::Percent(100));
  const base::Result<Answer> small =
      Give(offered, config, {"GPU-0::small-1", "GPU-1::small-0", "GPU-0::small-3"}, 1);
  ASSERT_TRUE(small.ok()) << small.error().ToString();
  EXPECT_EQ(small->envs, (Pairs{{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu.small/pipe"},
                                {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=2048M,1=1024M"},
                                {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10"}}));
}

TEST(MpsSharing, MigDevicesHaveSizesToo) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"3g.20gb", "1g.5gb"});
  const config::PluginConfig config = ByMps({Sized("nvidia.com/mig-3g.20gb")});
  const Offered offered = OfferAll(node, config);
  EXPECT_EQ(
      Drawn(offered),
      (Lines{"nvidia.com/mig-1g.5gb: MIG-0-1", "nvidia.com/mig-3g.20gb.large: MIG-0-0::large-0",
             "nvidia.com/mig-3g.20gb.small: MIG-0-0::small-0 MIG-0-0::small-1 "
             "MIG-0-0::small-2 MIG-0-0::small-3"}));
  ASSERT_EQ(NamesOf(offered.domains), Lines{"MIG-0-0"});
  const mps::Member& member = offered.domains[0].members[0];
  EXPECT_TRUE(member.mig);
  // Half of the MIG device, not of its GPU.
  EXPECT_EQ(offered.domains[0].memory[0].value(), member.memory.value() >> 21U);
  const base::Result<Answer> answer = Give(offered, config, {"MIG-0-0::large-0"}, 1);
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  ASSERT_EQ(answer->envs.size(), 4U);
  EXPECT_EQ(answer->envs[2],
            (Pairs::value_type{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                               fmt::format("0={}M", offered.domains[0].memory[0])}));
}

TEST(MpsSharing, SizesThatDoNotFitAreToldAndNotOffered) {
  config::SharedResource entry = Sized("nvidia.com/gpu");
  entry.shares[1].memory_percent = 99;
  config::PluginConfig config = ByMps({entry});
  const Offered offered = OfferAll(Boards(1), config);
  EXPECT_EQ(Drawn(offered), Lines{});
  EXPECT_EQ(offered.domains, std::vector<mps::Domain>());
  ASSERT_EQ(offered.problems.size(), 1U);
  EXPECT_NE(offered.problems[0].find("mps.memoryFactor"), std::string::npos) << offered.problems[0];
  config.mps_memory_factor = 1.2;
  EXPECT_EQ(OfferAll(Boards(1), config).problems, Lines{});
}

// A node whose MIG devices are called as a size is.
TEST(MpsSharing, ASizeThatOtherDevicesAreCalledByIsTold) {
  config::PluginConfig config = ByMps({Sized("nvidia.com/gpu")});
  config.mps->resources[0].devices = {config::SharedDevices::Kind::kList, 0, {"0"}};
  model::Inventory node = Boards(2);
  LayOut(node, 1, {"1g.5gb"});
  config.mig_names = {{"*", "nvidia.com/gpu.small"}};
  EXPECT_EQ(
      OfferAll(node, config).problems,
      Lines{"sharing of nvidia.com/gpu: its shares are called nvidia.com/gpu.small, as are "
            "other devices of this node: a pod gets either; choose another name of the size"});
}

TEST(MpsSharing, AGpuOfWhichTooLittleIsKnownIsNotHandedOut) {
  model::Inventory node = Boards(2);
  node.gpus[0].memory.reset();
  const Offered offered = OfferAll(node, ByMps({Shared("nvidia.com/gpu", 2)}));
  EXPECT_EQ(Drawn(offered), Lines{"nvidia.com/gpu: GPU-1::0 GPU-1::1"});
  EXPECT_EQ(
      offered.problems,
      Lines{"nvidia.com/gpu: GPU-0 cannot be shared by MPS: its memory or name is not known"});
}

ledger::Hold HoldOf(const ledger::Device& device) {
  ledger::Hold hold;
  hold.device = device;
  hold.owner = ledger::Pod{"", "", "", "nvidia.com/gpu"};
  return hold;
}

TEST(HoldersForMps, SharesKeepTheirDomainsAndOthersKeepNewOnesAway) {
  const ledger::WholeGpu a{model::GpuUuid("GPU-a")}, b{model::GpuUuid("GPU-b")},
      c{model::GpuUuid("GPU-c")}, d{model::GpuUuid("GPU-d")};
  ledger::MigDevice slice;
  slice.gpu = d;
  slice.uuid = model::MigUuid("MIG-d");
  ledger::State state;
  const auto hold = [&](const ledger::Device& device) -> ledger::Hold& {
    return state.holds[ledger::KeyOf(device)] = HoldOf(device);
  };
  hold(ledger::Share{a, 0, MpsSharesOf("nvidia.com/gpu")});
  hold(ledger::Share{b, 1, TimeSlicesOf("nvidia.com/gpu")});
  hold(c);
  hold(ledger::Share{slice, 0, MpsSharesOf("nvidia.com/gpu")});
  const mps::Holders holders = HoldersForMps(state);
  // Of a share that nobody remembers nobody can say by what it was made.
  EXPECT_EQ(holders.shares, (std::set<std::string>{"GPU-a", "GPU-b", "MIG-d"}));
  EXPECT_EQ(holders.otherwise, (std::set<std::string>{"GPU-b", "GPU-c"}));
  EXPECT_TRUE(holders.complete);
}

TEST(HoldersForMps, NobodyHasWhatIsGone) {
  const ledger::Share share{ledger::WholeGpu{model::GpuUuid("GPU-a")}, 0,
                            MpsSharesOf("nvidia.com/gpu")};
  ledger::State state;
  state.holds["x"] = HoldOf(share);
  state.holds["x"].gone = true;
  EXPECT_EQ(HoldersForMps(state), mps::Holders());
}

}  // namespace
}  // namespace partita::service::device_plugin
