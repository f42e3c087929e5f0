#include "service/explain/explain.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/text.h"
#include "service/device_plugin/testing/node.h"

namespace partita::service::explain {
namespace {

using config::MigStrategy;
using device_plugin::Standing;
using device_plugin::testing::Boards;
using device_plugin::testing::LayOut;
using device_plugin::testing::OfferAll;
using device_plugin::testing::Shared;

config::PluginConfig Settings(MigStrategy strategy) {
  config::PluginConfig config;
  config.mig_strategy = strategy;
  config.list_strategies = {config::ListStrategy::kCdiCri};
  return config;
}

NodeView ViewOf(const model::Inventory& node, const config::PluginConfig& config) {
  NodeView view;
  view.inventory = node;
  view.config = config;
  view.plugin = device_plugin::ReportOf(OfferAll(node, config), config);
  return view;
}

void Hold(NodeView& view, const std::string& id, const std::string& holder) {
  for (auto& resource : view.plugin.resources)
    for (auto& device : resource.devices)
      if (device.id == id) {
        device.standing = Standing::kHeld;
        device.why = holder;
      }
}

config::ManifestFile FileOf(const std::string& spec) {
  auto file = config::ManifestFile::Parse(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + spec, "pod.yaml");
  EXPECT_TRUE(file.ok()) << file.error().ToString();
  return *std::move(file);
}

// "  - {name: c, …}" with limits such as "nvidia.com/gpu: 2".
std::string Container(const std::string& name, const std::string& limits) {
  return fmt::format("  - {{name: {}, image: i, resources: {{limits: {{{}}}}}}}\n", name, limits);
}

std::string Containers(const std::string& limits) {
  return "  containers:\n" + Container("c", limits);
}

PodAnswer Ask(const NodeView& view, const std::string& spec) {
  Explainer explainer(view);
  const config::ManifestFile file = FileOf(spec);
  return explainer.Explain(file.pods().front());
}

// "Code: text > change", a line each.
std::string Why(const PodAnswer& answer) {
  std::vector<std::string> lines;
  for (const Reason& reason : answer.reasons)
    lines.push_back(fmt::format("{}: {} > {}", reason.code, reason.text, reason.change));
  return base::Join(lines, "\n");
}

// "c nvidia.com/gpu GPU-0 GPU-1", a line each.
std::string Got(const PodAnswer& answer) {
  std::vector<std::string> lines;
  for (const ContainerAnswer& container : answer.containers)
    for (const Grant& grant : container.grants) {
      std::string line = container.name + " " + grant.resource;
      for (const GivenDevice& device : grant.devices)
        line += " " + device.id + (device.reused ? "(again)" : "");
      lines.push_back(std::move(line));
    }
  return base::Join(lines, "\n");
}

TEST(Explain, GivesWhatKubeletWouldBeAnswered) {
  const NodeView view = ViewOf(Boards(4), Settings(MigStrategy::kNone));
  const PodAnswer answer = Ask(view, Containers("nvidia.com/gpu: 2"));
  EXPECT_TRUE(answer.runs()) << Why(answer);
  EXPECT_EQ(Got(answer), "c nvidia.com/gpu GPU-0 GPU-1");
  const Grant& grant = answer.containers[0].grants[0];
  EXPECT_EQ(grant.answer.cdi_devices,
            (std::vector<std::string>{"k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                      "k8s.device-plugin.nvidia.com/gpu=GPU-1"}));
  EXPECT_TRUE(grant.answer.envs.empty());
  ASSERT_EQ(grant.picture.size(), 4U);
  EXPECT_EQ(grant.picture[1].mark, Mark::kGiven);
  EXPECT_EQ(grant.picture[2].mark, Mark::kFree);
  EXPECT_EQ(grant.devices[0].product, view.inventory.gpus[0].name);
}

TEST(Explain, SaysWhoHoldsWhatIsMissing) {
  NodeView view = ViewOf(Boards(4), Settings(MigStrategy::kNone));
  Hold(view, "GPU-0", "pod default/train (main)");
  Hold(view, "GPU-1", "pod default/train (main)");
  Hold(view, "GPU-2", "pod default/serve (main)");
  const PodAnswer answer = Ask(view, Containers("nvidia.com/gpu: 2"));
  EXPECT_EQ(Why(answer),
            "NotFree: 2 of nvidia.com/gpu are asked for, and 1 of 4 is free (held by pod "
            "default/serve (main), pod default/train (main): 2) > wait until a pod ends, or choose "
            "another node");
  EXPECT_EQ(Got(answer), "c nvidia.com/gpu");
  EXPECT_EQ(answer.containers[0].grants[0].picture[0].mark, Mark::kHeld);
  EXPECT_EQ(Got(Ask(view, Containers("nvidia.com/gpu: 1"))), "c nvidia.com/gpu GPU-3");
}

TEST(Explain, SaysWhatIsUnhealthy) {
  model::Inventory node = Boards(2);
  node.gpus[0].faults.push_back({model::FaultKind::kLost, "it fell off the bus: reboot"});
  const NodeView view = ViewOf(node, Settings(MigStrategy::kNone));
  EXPECT_EQ(
      Why(Ask(view, Containers("nvidia.com/gpu: 2"))),
      "NotFree: 2 of nvidia.com/gpu are asked for, and 1 of 2 is free (unhealthy: it fell off "
      "the bus: reboot) > choose another node; see `partita health`");
}

TEST(Explain, SaysHowManyThereAre) {
  const NodeView view = ViewOf(Boards(2), Settings(MigStrategy::kNone));
  EXPECT_EQ(
      Why(Ask(view, Containers("nvidia.com/gpu: 9"))),
      "NotEnough: 9 of nvidia.com/gpu are asked for, and this node has 2 > ask for 2 at most, "
      "or choose another node");
}

TEST(Explain, CountsWhatPodsBeforeItWouldHave) {
  const NodeView view = ViewOf(Boards(2), Settings(MigStrategy::kNone));
  Explainer explainer(view);
  const config::ManifestFile one = FileOf(Containers("nvidia.com/gpu: 1"));
  const config::ManifestFile three = FileOf(Containers("nvidia.com/gpu: 3"));
  EXPECT_EQ(Got(explainer.Explain(one.pods()[0])), "c nvidia.com/gpu GPU-0");
  EXPECT_FALSE(explainer.Explain(three.pods()[0]).runs());
  const PodAnswer second = explainer.Explain(one.pods()[0]);
  EXPECT_EQ(Got(second), "c nvidia.com/gpu GPU-1") << "what would not run takes nothing";
  EXPECT_EQ(second.containers[0].grants[0].picture[0].mark, Mark::kAbove);
  EXPECT_EQ(Why(explainer.Explain(one.pods()[0])),
            "NotFree: 1 of nvidia.com/gpu is asked for, and 0 of 2 are free (2 by pods and "
            "containers above) > choose another node");
}

TEST(Explain, SaysHowManyReplicasFit) {
  const NodeView view = ViewOf(Boards(4), Settings(MigStrategy::kNone));
  const auto file = config::ManifestFile::Parse(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 5\n"
      "  template: {spec: {containers: [{name: c, image: i, resources: {limits: "
      "{nvidia.com/gpu: 2}}}]}}\n",
      "d.yaml");
  ASSERT_TRUE(file.ok());
  Explainer explainer(view);
  const PodAnswer answer = explainer.Explain(file->pods()[0]);
  EXPECT_TRUE(answer.runs());
  EXPECT_EQ(answer.fitting, 2U);
}

TEST(Explain, LetsContainersHaveWhatInitContainersHad) {
  const NodeView view = ViewOf(Boards(4), Settings(MigStrategy::kNone));
  const std::string init = "  initContainers:\n" + Container("i", "nvidia.com/gpu: 2");
  EXPECT_EQ(Got(Ask(view, init + "  containers:\n" + Container("a", "nvidia.com/gpu: 1") +
                              Container("b", "nvidia.com/gpu: 3"))),
            "i nvidia.com/gpu GPU-0 GPU-1\n"
            "a nvidia.com/gpu GPU-0(again)\n"
            "b nvidia.com/gpu GPU-1(again) GPU-2 GPU-3");
  const std::string sidecar =
      "  initContainers:\n"
      "  - {name: s, image: i, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 2}}}\n";
  EXPECT_EQ(Got(Ask(view, sidecar + Containers("nvidia.com/gpu: 2"))),
            "s nvidia.com/gpu GPU-0 GPU-1\n"
            "c nvidia.com/gpu GPU-2 GPU-3")
      << "a sidecar stays";
}

TEST(Explain, DescribesMigDevicesAndShares) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"3g.20gb", "1g.5gb"});
  config::PluginConfig config = Settings(MigStrategy::kMixed);
  config.time_slicing.emplace();
  config.time_slicing->resources = {Shared("nvidia.com/gpu", 4)};
  NodeView view = ViewOf(node, config);
  Hold(view, "GPU-1::0", "pod default/other (main)");
  const PodAnswer answer = Ask(view, Containers("nvidia.com/gpu: 1, nvidia.com/mig-1g.5gb: 1"));
  EXPECT_TRUE(answer.runs()) << Why(answer);
  EXPECT_EQ(Got(answer), "c nvidia.com/gpu GPU-1::1\nc nvidia.com/mig-1g.5gb MIG-0-1");
  const GivenDevice& share = answer.containers[0].grants[0].devices[0];
  ASSERT_TRUE(share.share);
  EXPECT_EQ(*share.share, (ShareOf{1, 4, {"pod default/other (main)"}}));
  const GivenDevice& slice = answer.containers[0].grants[1].devices[0];
  EXPECT_EQ(slice.profile, "1g.5gb");
  EXPECT_TRUE(slice.multiprocessors && slice.memory);
  ASSERT_EQ(answer.notes.size(), 1U);
  EXPECT_EQ(answer.notes[0],
            "a share is a turn on the device, not a part of it: its memory is everybody's, "
            "nobody's use of it is limited, and an error of one ends all");
}

TEST(Explain, RefusesSeveralSharesWhereOneIsTheMost) {
  config::PluginConfig config = Settings(MigStrategy::kNone);
  config.time_slicing.emplace();
  config.time_slicing->resources = {Shared("nvidia.com/gpu", 4)};
  config.time_slicing->fail_requests_greater_than_one = true;
  EXPECT_EQ(Why(Ask(ViewOf(Boards(2), config), Containers("nvidia.com/gpu: 2"))),
            "Allocate: the device plugin refuses it: invalid allocation request for "
            "\"nvidia.com/gpu\": invalid request: maximum request size for shared resources is 1; "
            "found 2 > ask for one, or set failRequestsGreaterThanOne to false");
}

// What is asked for, on which node, and the reason.
struct NameRow {
  const char* name;
  MigStrategy strategy;
  std::vector<std::string> slices;  // of GPU 0 of two
  const char* why;
};

TEST(Explain, SaysWhichNameSettingOrCommandIsMissing) {
  const NameRow rows[] = {
      {"nvidia.com/gpus",
       MigStrategy::kNone,
       {},
       "Resource: nvidia.com/gpus is not offered on this node > did you mean nvidia.com/gpu?"},
      {"nvidia.com/tpu-pod",
       MigStrategy::kNone,
       {},
       "Resource: nvidia.com/tpu-pod is not offered on this node > offered are nvidia.com/gpu"},
      {"nvidia.com/gpu.shared",
       MigStrategy::kNone,
       {},
       "Resource: nvidia.com/gpu.shared is not offered on this node: nvidia.com/gpu is not shared "
       "> "
       "ask for nvidia.com/gpu, or name nvidia.com/gpu with its replicas under "
       "sharing.timeSlicing, with renameByDefault: true"},
      {"nvidia.com/mig-1g.5gb",
       MigStrategy::kNone,
       {"1g.5gb"},
       "Resource: nvidia.com/mig-1g.5gb is not offered on this node: migStrategy is none > set "
       "flags.migStrategy to mixed"},
      {"nvidia.com/mig-1g.5gb",
       MigStrategy::kNone,
       {},
       "Resource: nvidia.com/mig-1g.5gb is not offered on this node: migStrategy is none > set "
       "flags.migStrategy to mixed, and make one: `partita mig apply --gpu 0 --want 1g.5gb` makes "
       "one"},
      {"nvidia.com/mig-1g.5gb",
       MigStrategy::kSingle,
       {"1g.5gb"},
       "Resource: nvidia.com/mig-1g.5gb is not offered on this node: migStrategy is single, and "
       "every MIG device is nvidia.com/gpu > ask for nvidia.com/gpu, or set flags.migStrategy to "
       "mixed"},
      {"nvidia.com/mig-3g.20gb",
       MigStrategy::kMixed,
       {"1g.5gb"},
       "Resource: nvidia.com/mig-3g.20gb is not offered on this node: no GPU has such a device > "
       "`partita mig apply --gpu 0 --want 1g.5gb,3g.20gb` makes one"},
      {"nvidia.com/mig-1g.18gb",
       MigStrategy::kMixed,
       {"1g.5gb"},
       "Resource: nvidia.com/mig-1g.18gb is not offered on this node: no GPU has such a device > "
       "no "
       "GPU of this node can make a 1g.18gb: NVIDIA A100-SXM4-40GB makes 7g.40gb, 4g.20gb, "
       "3g.20gb, 2g.10gb, 1g.10gb, 1g.5gb, 1g.5gb+me"},
      {"nvidia.com/mig-1g.5gb.shared",
       MigStrategy::kMixed,
       {"1g.5gb"},
       "Resource: nvidia.com/mig-1g.5gb.shared is not offered on this node: nvidia.com/mig-1g.5gb "
       "is not shared > ask for nvidia.com/mig-1g.5gb, or name nvidia.com/mig-1g.5gb with its "
       "replicas under sharing.timeSlicing, with renameByDefault: true"},
  };
  for (const NameRow& row : rows) {
    model::Inventory node = Boards(2);
    if (!row.slices.empty()) LayOut(node, 0, row.slices);
    EXPECT_EQ(
        Why(Ask(ViewOf(node, Settings(row.strategy)), Containers(std::string(row.name) + ": 1"))),
        row.why)
        << row.name;
  }
}

TEST(Explain, KnowsSharesUnderOtherNames) {
  config::PluginConfig config = Settings(MigStrategy::kNone);
  config.time_slicing.emplace();
  config.time_slicing->resources = {Shared("nvidia.com/gpu", 4)};
  EXPECT_EQ(Why(Ask(ViewOf(Boards(1), config), Containers("nvidia.com/gpu.shared: 1"))),
            "Resource: shares are called nvidia.com/gpu on this node > ask for nvidia.com/gpu, or "
            "set sharing.timeSlicing.renameByDefault to true");
  config.time_slicing->resources[0].rename = "nvidia.com/gpu.shared";
  EXPECT_EQ(Why(Ask(ViewOf(Boards(1), config), Containers("nvidia.com/gpu: 1"))),
            "Resource: nvidia.com/gpu is shared on this node, and its shares are called "
            "nvidia.com/gpu.shared > ask for nvidia.com/gpu.shared; a share has no memory of its "
            "own");
  EXPECT_EQ(Got(Ask(ViewOf(Boards(1), config), Containers("nvidia.com/gpu.shared: 1"))),
            "c nvidia.com/gpu.shared GPU-0::0");
}

// A 4g.20gb begins at slice 0 only, where the 1g.5gb is.
config::PluginConfig InSizes(std::uint32_t percent) {
  config::PluginConfig settings = Settings(MigStrategy::kNone);
  config::SharedResource entry = Shared("nvidia.com/gpu", 3);
  entry.shares = {{"small", 2, std::uint64_t{1} << 30U, 0, 10}, {"large", 1, 0, percent, 50}};
  settings.mps.emplace().fail_requests_greater_than_one = true;
  settings.mps->resources = {entry};
  return settings;
}

TEST(Explain, SaysWhatAShareOfASizeMayTake) {
  NodeView view = ViewOf(Boards(1), InSizes(50));
  Hold(view, "GPU-0::small-0", "pod default/train (main)");
  const PodAnswer answer = Ask(view, Containers("nvidia.com/gpu.small: 1"));
  EXPECT_EQ(Got(answer), "c nvidia.com/gpu.small GPU-0::small-1");
  ASSERT_EQ(Why(answer), "");
  const Grant& grant = answer.containers[0].grants[0];
  const ShareOf& share = grant.devices[0].share.value();
  EXPECT_EQ(share.number, 1U);
  EXPECT_EQ(share.count, 2U);
  EXPECT_EQ(share.others, std::vector<std::string>{"pod default/train (main)"});
  ASSERT_TRUE(share.mps);
  EXPECT_EQ(share.mps->size, "small");
  EXPECT_EQ(share.mps->limits.memory, model::Mebibytes(1024));
  EXPECT_EQ(share.mps->limits.threads, model::Percent(10));
  EXPECT_EQ(grant.answer.envs.back().second, "10");
  EXPECT_EQ(answer.notes,
            std::vector<std::string>{
                "what a share by MPS may take is each program's limit: two programs of a container "
                "may take it twice; an error of one ends all of its device"});
  // Two sizes for one container: it finds one of the two daemons.
  const PodAnswer both = Ask(view, Containers("nvidia.com/gpu.small: 1, nvidia.com/gpu.large: 1"));
  ASSERT_EQ(both.notes.size(), 2U);
  EXPECT_EQ(both.notes[1],
            "c asks for several resources, and kubelet keeps one of their CUDA_MPS_PIPE_DIRECTORY: "
            "its programs find the daemon of one; ask for shares of one resource");
}

TEST(Explain, SaysWhichSizesThereAre) {
  const NodeView view = ViewOf(Boards(1), InSizes(50));
  EXPECT_EQ(Why(Ask(view, Containers("nvidia.com/gpu: 1"))),
            "Resource: nvidia.com/gpu is shared on this node, in sizes > ask for "
            "nvidia.com/gpu.large or nvidia.com/gpu.small");
  const NodeView full = ViewOf(Boards(1), InSizes(99));
  ASSERT_EQ(full.plugin.problems.size(), 1U);
  EXPECT_EQ(Why(Ask(full, Containers("nvidia.com/gpu.small: 1"))),
            "Resource: nvidia.com/gpu.small is not offered on this node: no device has shares of "
            "that size > " +
                full.plugin.problems[0]);
}

TEST(Explain, AdvisesNoChangeThatTakesWhatIsHeld) {
  model::Inventory node = Boards(1);
  LayOut(node, 0, {"1g.5gb"});
  NodeView view = ViewOf(node, Settings(MigStrategy::kMixed));
  const std::string asks = Containers("nvidia.com/mig-4g.20gb: 1");
  EXPECT_EQ(
      Why(Ask(view, asks)),
      "Resource: nvidia.com/mig-4g.20gb is not offered on this node: no GPU has such a device "
      "> `partita mig apply --gpu 0 --want 1g.5gb,4g.20gb` makes one");
  Hold(view, "MIG-0-0", "pod default/train (main)");
  EXPECT_EQ(
      Why(Ask(view, asks)),
      "Resource: nvidia.com/mig-4g.20gb is not offered on this node: no GPU has such a device "
      "> no GPU of this node has room for a 4g.20gb beside what is there: wait until some pod "
      "ends, or see `partita mig plan`");
}

// Why nvidia.com/gpu cannot be had, from "> " on.
std::string AdviceForWhole(const NodeView& view) {
  const std::string why = Why(Ask(view, Containers("nvidia.com/gpu: 1")));
  constexpr std::string_view kIs =
      "Resource: nvidia.com/gpu is not offered on this node: every GPU is divided by MIG > ";
  return why.starts_with(kIs) ? why.substr(kIs.size()) : why;
}

TEST(Explain, AdvisesToMakeAGpuWholeThatNobodyHolds) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"1g.5gb", "2g.10gb"});
  LayOut(node, 1, {"1g.5gb"});
  NodeView view = ViewOf(node, Settings(MigStrategy::kMixed));
  const std::string names = "ask for one of nvidia.com/mig-1g.5gb, nvidia.com/mig-2g.10gb, or ";
  EXPECT_EQ(AdviceForWhole(view),
            names + "make GPU 0 whole again: `partita mig apply --gpu 0 --want off`");
  Hold(view, "MIG-0-1", "pod default/train (main)");
  EXPECT_EQ(AdviceForWhole(view),
            names + "make GPU 1 whole again: `partita mig apply --gpu 1 --want off`");
  model::Process process{.pid = model::Pid(4711)};
  process.name = "python3";
  view.inventory.gpus[1].processes = {process};
  EXPECT_EQ(AdviceForWhole(view),
            names +
                "wait until a GPU can be made whole again: GPU 0 is in use: 2g.10gb by pod "
                "default/train (main); GPU 1 is in use: by pid 4711 (python3)");
}

TEST(Explain, AdvisesToMakeAGpuWholeWhereNothingIsOffered) {
  model::Inventory node = Boards(2);
  for (const std::uint32_t gpu : {0U, 1U}) LayOut(node, gpu, {});
  node.gpus[0].faults.push_back({model::FaultKind::kLost, "it fell off the bus: reboot"});
  EXPECT_EQ(AdviceForWhole(ViewOf(node, Settings(MigStrategy::kMixed))),
            "make GPU 1 whole again: `partita mig apply --gpu 1 --want off`");
  node.gpus[1].faults = node.gpus[0].faults;
  EXPECT_EQ(AdviceForWhole(ViewOf(node, Settings(MigStrategy::kMixed))), "see `partita health`");
}

TEST(Explain, SaysThatNothingIsServed) {
  NodeView view = ViewOf(Boards(1), Settings(MigStrategy::kNone));
  view.plugin = {};
  view.plugin.problems = {"the device plugin is off"};
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb"})
    EXPECT_EQ(
        Why(Ask(view, Containers(std::string(name) + ": 1"))),
        fmt::format("Resource: {} is not offered on this node > the device plugin is off", name));
}

TEST(Explain, TellsClaimsFlawsAndWhatOthersOffer) {
  const NodeView view = ViewOf(Boards(1), Settings(MigStrategy::kNone));
  EXPECT_EQ(
      Why(Ask(view,
              "  resourceClaims: [{name: gpu}]\n"
              "  containers: [{name: c, resources: {claims: [{name: gpu}]}}]\n")),
      "Refused: the API server refuses it: a container without an image > name one\n"
      "Claims: it gets devices by claims: they are served by DRA, which this version does not "
      "serve > ask for devices under resources.limits, or use a DRA driver");
  const PodAnswer other = Ask(view, Containers("google.com/tpu: 4"));
  EXPECT_TRUE(other.runs());
  EXPECT_EQ(other.notes,
            (std::vector<std::string>{
                "google.com/tpu is no resource of partita's: whoever offers it answers for it"}));
  EXPECT_EQ(Ask(view, "  containers: [{name: c, image: i}]\n").notes,
            std::vector<std::string>{"it asks for no device, and gets none"});
}

TEST(Explain, WarnsOfVariablesThatKubeletDrops) {
  model::Inventory node = Boards(2);
  LayOut(node, 0, {"1g.5gb"});
  config::PluginConfig config = Settings(MigStrategy::kMixed);
  config.list_strategies = {config::ListStrategy::kEnvvar};
  const PodAnswer answer =
      Ask(ViewOf(node, config), Containers("nvidia.com/gpu: 1, nvidia.com/mig-1g.5gb: 1"));
  EXPECT_EQ(answer.containers[0].grants[0].answer.envs[0],
            (std::pair<std::string, std::string>("NVIDIA_VISIBLE_DEVICES", "GPU-1")));
  EXPECT_EQ(answer.notes,
            (std::vector<std::string>{
                "c asks for several resources, and kubelet keeps one of their "
                "NVIDIA_VISIBLE_DEVICES: it sees the devices of one; deviceListStrategy cdi-cri "
                "unites them",
                "the engine's default runtime must be NVIDIA's or ours: it acts on "
                "NVIDIA_VISIBLE_DEVICES"}));
}

}  // namespace
}  // namespace partita::service::explain
