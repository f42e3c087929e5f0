#include "service/mig/node_plan.h"

#include <gtest/gtest.h>

#include "model/holder.h"
#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"
#include "service/mig/testing/targets.h"

namespace partita::service::mig {
namespace {

using model::testing::GpuWith;
using model::testing::ProductGpu;

constexpr std::string_view kA100 = "A100-SXM4-40GB";

model::Inventory NodeOf(std::vector<model::Gpu> gpus) {
  model::Inventory inventory;
  inventory.gpus = std::move(gpus);
  for (std::uint32_t i = 0; i < inventory.gpus.size(); ++i) {
    inventory.gpus[i].index = model::GpuIndex(i);
    for (model::Process& process : inventory.gpus[i].processes) process.name = "python3";
  }
  return inventory;
}

std::vector<std::string> AllReasons(const model::Inventory& node, const NodePlan& plan) {
  std::vector<std::string> lines;
  for (const GpuOutcome& outcome : plan.gpus)
    for (const std::string& line : Reasons(node, outcome)) lines.push_back(line);
  return lines;
}

std::string ExactText(const model::Inventory& before, const model::Inventory& now) {
  const NodePlan plan = PlanNode(now, {AsItIs(before.gpus[0])});
  if (plan.Refused()) return std::get<model::Refusal>(plan.gpus[0].plan).text;
  return model::testing::ToText(plan.gpus[0].geometry,
                                std::get<model::GpuPlan>(plan.gpus[0].plan).layout);
}

TEST(NodePlanTest, PlansGpusByThemselves) {
  const model::Inventory node = NodeOf({GpuWith(kA100, "1g.5gb@0"), ProductGpu(kA100)});
  const NodePlan plan = PlanNode(node, {Target(node, 0, "1g.5gb"), Target(node, 1, "7g.40gb")});
  ASSERT_EQ(plan.gpus.size(), 2U);
  EXPECT_TRUE(std::get<model::GpuPlan>(plan.gpus[0].plan).ChangesNothing());
  EXPECT_FALSE(plan.ChangesNothing());
  EXPECT_FALSE(plan.Refused());
  EXPECT_FALSE(plan.Blocked());
  EXPECT_TRUE(plan.NeedsReset()) << "an A100 changes its mode by a reset";
}

TEST(NodePlanTest, AGoalOutlivesTheLookItWasMadeFor) {
  model::Inventory node = NodeOf({ProductGpu(kA100), GpuWith(kA100, "1g.5gb@0")});
  node.gpus[0].uuid = model::GpuUuid("GPU-a");
  node.gpus[1].uuid = model::GpuUuid("GPU-b");
  const NodeGoal goal = {Mode(node, 0, true), Target(node, 1, "1g.5gb")};
  // The first fell off the bus, and the driver counts anew.
  const model::Inventory later = [&] {
    model::Inventory left = node;
    left.gpus.erase(left.gpus.begin());
    left.gpus[0].index = model::GpuIndex(0);
    return left;
  }();
  EXPECT_TRUE(IsApplied(later, goal[1]));
  EXPECT_FALSE(IsApplied(later, goal[0]));
  EXPECT_EQ(AllReasons(later, PlanNode(later, goal)),
            (std::vector<std::string>{"GPU 0: GPU-a is no longer on this machine",
                                      "  `partita mig show` lists its GPUs"}));
}

TEST(NodePlanTest, NamesWhoIsInTheWay) {
  const model::Inventory node = NodeOf({GpuWith(kA100, "1g.5gb@0* 1g.5gb@4*")});
  const NodePlan plan = PlanNode(node, {Target(node, 0, "7g.40gb")});
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(AllReasons(node, plan),
            (std::vector<std::string>{"GPU 0: 1g.5gb at slice 0 is in use by pid 100 (python3)",
                                      "GPU 0: 1g.5gb at slice 4 is in use by pid 101 (python3)"}));
}

TEST(NodePlanTest, NamesWhoKeepsAModeFromChanging) {
  model::Inventory node = NodeOf({ProductGpu("H200")});
  node.gpus[0].processes.push_back({model::Pid(77), {}, "train", {}, {}, {}});
  const NodePlan plan = PlanNode(node, {Target(node, 0, "7g.141gb")});
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(
      AllReasons(node, plan),
      (std::vector<std::string>{"GPU 0: its MIG mode cannot change while pid 77 (train) uses it"}));
}

TEST(NodePlanTest, RefusesAGpuThatFellOffTheBus) {
  model::Inventory node = NodeOf({model::Gpu{}});
  node.gpus[0].faults.push_back({model::FaultKind::kLost, "fell off the bus"});
  const NodePlan plan = PlanNode(node, {Mode(node, 0, true)});
  EXPECT_TRUE(plan.Refused());
  EXPECT_FALSE(plan.ChangesNothing());
  EXPECT_EQ(AllReasons(node, plan), (std::vector<std::string>{"GPU 0: fell off the bus",
                                                              "  leave it out of the selection"}));
  EXPECT_FALSE(IsApplied(node, NodeGoal{Mode(node, 0, false)}));
}

TEST(NodePlanTest, GoesBackToExactPlaces) {
  const model::Inventory before = NodeOf({GpuWith(kA100, "3g.20gb@4 1g.5gb@1 2g.10gb@2[]")});
  EXPECT_EQ(ExactText(before, before), "=1g.5gb@1 =2g.10gb@2 =3g.20gb@4");
}

TEST(NodePlanTest, GoesBackFromAHalfMadeLayout) {
  const model::Inventory before = NodeOf({GpuWith(kA100, "3g.20gb@0 1g.5gb@4 1g.5gb@5")});
  EXPECT_EQ(ExactText(before, NodeOf({GpuWith(kA100, "1g.5gb@0[] 1g.5gb@4*")})),
            "=1g.5gb@4 -1g.5gb@0 +3g.20gb@0 +1g.5gb@5");
  EXPECT_EQ(ExactText(before, NodeOf({GpuWith(kA100, "3g.20gb@0[1,1] 1g.5gb@4[] 1g.5gb@5")})),
            "=3g.20gb@0[-1 -1 +3] =1g.5gb@4[+1] =1g.5gb@5");
}

TEST(NodePlanTest, DoesNotGoBackOverWorkThatBegan) {
  const model::Inventory before = NodeOf({GpuWith(kA100, "3g.20gb@0")});
  const model::Inventory now = NodeOf({GpuWith(kA100, "1g.5gb@0*")});
  const NodePlan plan = PlanNode(now, {AsItIs(before.gpus[0])});
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(AllReasons(now, plan),
            (std::vector<std::string>{"GPU 0: 1g.5gb at slice 0 is in use by pid 100 (python3)"}));
}

TEST(NodePlanTest, LeavesWhatSomebodyHoldsWithoutHavingStartedAnything) {
  model::Inventory node = NodeOf({GpuWith(kA100, "1g.5gb@0 1g.5gb@6")});
  node.gpus[0].uuid = model::GpuUuid("GPU-a");
  const model::ProfileId profile = node.gpus[0].mig->instances[0].profile;
  const model::PinnedParts pinned = {
      {{{model::GpuUuid("GPU-a"), profile, 0}, "pod default/train (main)"}}, {}};
  const NodePlan one = PlanNode(node, {Target(node, 0, "1g.5gb")}, pinned);
  const auto& kept = std::get<model::GpuPlan>(one.gpus[0].plan).layout.kept;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].live.place.start, 0U);
  EXPECT_FALSE(one.Blocked());
  const NodePlan other = PlanNode(node, {Target(node, 0, "7g.40gb")}, pinned);
  EXPECT_TRUE(other.Blocked());
  const std::vector<std::string> reasons = {
      "GPU 0: 1g.5gb at slice 0 is held by pod default/train (main), though nothing runs in it"};
  EXPECT_EQ(AllReasons(node, other), reasons);
  EXPECT_FALSE(PlanNode(node, {Target(node, 0, "7g.40gb")}).Blocked());
  EXPECT_EQ(AllReasons(node, PlanNode(node, {Mode(node, 0, false)}, pinned)), reasons)
      << "MIG cannot be turned off under it";
}

TEST(NodePlanTest, LeavesAGpuThatSomebodyHoldsAsAWholeWithoutHavingStartedAnything) {
  model::Inventory node = NodeOf({ProductGpu(kA100), ProductGpu(kA100)});
  node.gpus[0].uuid = model::GpuUuid("GPU-a");
  node.gpus[1].uuid = model::GpuUuid("GPU-b");
  const model::PinnedParts pinned = {{},
                                     {{model::GpuUuid("GPU-a"), "pod default/train (main)"},
                                      {model::GpuUuid("GPU-a"), "pod b/c (d)"}}};
  const NodePlan plan =
      PlanNode(node, {Target(node, 0, "7g.40gb"), Target(node, 1, "7g.40gb")}, pinned);
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(AllReasons(node, plan),
            (std::vector<std::string>{
                "GPU 0 is held by pod default/train (main), though nothing runs on it",
                "GPU 0 is held by pod b/c (d), though nothing runs on it"}));
  EXPECT_TRUE(WithoutResets(plan).Blocked()) << "the ledger would refuse to have it asked for";
  EXPECT_FALSE(PlanNode(node, {Mode(node, 0, false)}, pinned).Blocked()) << "nothing changes";

  node.gpus[0].processes.push_back({});
  node.gpus[0].processes[0].pid = model::Pid(100);
  node.gpus[0].processes[0].name = "python3";
  EXPECT_EQ(AllReasons(node, PlanNode(node, {Target(node, 0, "7g.40gb")}, pinned)),
            (std::vector<std::string>{
                "GPU 0 is held by pod default/train (main)", "GPU 0 is held by pod b/c (d)",
                "GPU 0: its MIG mode cannot change while pid 100 (python3) uses it"}));
}

TEST(NodePlanTest, LeavesTheComputeInstancesOfWhatSomebodyHolds) {
  model::Inventory node = NodeOf({GpuWith(kA100, "3g.20gb@0[1,2]")});
  node.gpus[0].uuid = model::GpuUuid("GPU-a");
  const model::PinnedParts pinned = {
      {{{model::GpuUuid("GPU-a"), node.gpus[0].mig->instances[0].profile, 0}, "a pod"}}, {}};
  EXPECT_TRUE(PlanNode(node, {Target(node, 0, "3g.20gb")}, pinned).Blocked());
  EXPECT_FALSE(PlanNode(node, {Target(node, 0, "1c.3g.20gb, 2c.3g.20gb")}, pinned).Blocked());
}

TEST(NodePlanTest, IsAppliedWhereverDevicesAreAndOnlyIfNothingIsLeftOver) {
  const auto applied = [](const model::Gpu& gpu, const std::string& devices) {
    const model::Inventory node = NodeOf({gpu});
    return IsApplied(node, Target(node, 0, devices));
  };
  EXPECT_TRUE(applied(GpuWith(kA100, "3g.20gb@4 1g.5gb@3"), "1g.5gb, 3g.20gb"));
  EXPECT_TRUE(applied(GpuWith(kA100, "3g.20gb@0[1,1,1]"), "3 x 1c.3g.20gb"));
  EXPECT_FALSE(applied(GpuWith(kA100, "3g.20gb@4 1g.5gb@3"), "3g.20gb"));
  EXPECT_FALSE(applied(GpuWith(kA100, "3g.20gb@4 1g.5gb@3[]"), "3g.20gb"));
  EXPECT_FALSE(applied(ProductGpu(kA100), "")) << "MIG is off";
  const model::Inventory off = NodeOf({ProductGpu(kA100), ProductGpu("T4")});
  EXPECT_TRUE(IsApplied(off, NodeGoal{Mode(off, 0, false), Mode(off, 1, false)}));
}

TEST(NodePlanTest, TakesNothingUnreadForAbsent) {
  model::Inventory node = NodeOf({GpuWith(kA100, "3g.20gb@4")});
  node.gpus[0].processes_error = base::Error(base::ErrorCode::kInternal, "list: Unknown Error");
  EXPECT_TRUE(IsApplied(node, Target(node, 0, "3g.20gb")));
  EXPECT_FALSE(PlanNode(node, {Target(node, 0, "3g.20gb, 1g.5gb")}).Blocked())
      << "nothing goes, whoever uses it";
  const NodePlan plan = PlanNode(node, {Target(node, 0, "1g.5gb")});
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(AllReasons(node, plan),
            (std::vector<std::string>{"GPU 0: who uses it cannot be read: list: Unknown Error"}));
  node.gpus[0].mig_error = base::Error(base::ErrorCode::kInternal, "instances: Unknown Error");
  EXPECT_FALSE(IsApplied(node, Target(node, 0, "3g.20gb")));
  EXPECT_TRUE(PlanNode(node, {Target(node, 0, "3g.20gb")}).Refused());
  EXPECT_EQ(CheckRead(node).error().ToString(),
            "GPU 0: what MIG has made of it cannot be read: instances: Unknown Error");
}

TEST(NodePlanTest, DividesNoInstanceAnewUnderUnknownHolders) {
  model::Inventory node = NodeOf({GpuWith(kA100, "3g.20gb@4")});
  node.gpus[0].processes_error = base::Error(base::ErrorCode::kInternal, "list: Unknown Error");
  const NodePlan plan = PlanNode(node, {Target(node, 0, "3 x 1c.3g.20gb")});
  EXPECT_TRUE(plan.Refused() || plan.Blocked());
  EXPECT_EQ(AllReasons(node, plan),
            (std::vector<std::string>{"GPU 0: who uses it cannot be read: list: Unknown Error"}));
}

TEST(NodePlanTest, AResetThatIsLeftOutHelpsNoInstanceInUse) {
  const model::Inventory node = NodeOf({GpuWith(kA100, "1g.5gb@0*")});
  const NodePlan plan = WithoutResets(PlanNode(node, {Mode(node, 0, false)}));
  EXPECT_TRUE(plan.Blocked()) << "the mode could wait, but the instance goes now";
  EXPECT_FALSE(std::get<model::GpuPlan>(plan.gpus[0].plan).blockers.empty()) << "and says for whom";
}

TEST(NodePlanTest, ChangesNoModeUnderUnknownHolders) {
  model::Inventory node = NodeOf({ProductGpu("H200"), ProductGpu(kA100)});
  for (model::Gpu& gpu : node.gpus)
    gpu.processes_error = base::Error(base::ErrorCode::kInternal, "list: Unknown Error");
  EXPECT_TRUE(PlanNode(node, {Mode(node, 0, true)}).Blocked());
  NodePlan with_reset = PlanNode(node, {Mode(node, 1, true)});
  EXPECT_TRUE(with_reset.Blocked());
  EXPECT_FALSE(WithoutResets(std::move(with_reset)).Blocked()) << "a pending mode harms nobody";
}

TEST(NodePlanTest, NamesWhoCannotBeSeen) {
  model::Inventory node = NodeOf({GpuWith(kA100, "3g.20gb@4")});
  node.gpus[0].hidden_holders = {{model::GpuInstanceId(1), model::Bytes(std::uint64_t{7} << 29)}};
  const NodePlan plan = PlanNode(node, {Target(node, 0, "7g.40gb")});
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(
      AllReasons(node, plan),
      (std::vector<std::string>{
          "GPU 0: somebody who cannot be seen from here holds 3.5 GiB in GPU instance 1",
          "  " + std::string(model::kHiddenHolderHint), "GPU 0: 3g.20gb at slice 4 is in use"}));
}

// Names mean nothing while the driver does not tell what it can make.
TEST(NodePlanTest, LeavesInstancesForLater) {
  model::Inventory node = NodeOf({ProductGpu(kA100)});
  node.gpus[0].mig->profiles.clear();
  GpuTarget target = Mode(node, 0, true);
  target.instances_later = true;
  const NodePlan plan = PlanNode(node, {target});
  ASSERT_FALSE(plan.Refused());
  EXPECT_TRUE(std::get<model::GpuPlan>(plan.gpus.front().plan).instances_later);
  EXPECT_FALSE(plan.ChangesNothing());
}

TEST(NodePlanTest, SaysWhatIsOnAGpu) {
  EXPECT_EQ(Describe(ProductGpu("H200")), "MIG off");
  EXPECT_EQ(Describe(GpuWith(kA100, "")), "MIG on: empty");
  EXPECT_EQ(Describe(GpuWith(kA100, "1g.5gb@4[] 3g.20gb@0[2,1] 1g.5gb@6")),
            "MIG on: 3g.20gb@0 (2c, 1c), 1g.5gb@4 (no compute instance), 1g.5gb@6");
  model::Gpu pending = ProductGpu(kA100);
  pending.mig->pending_enabled = true;
  EXPECT_EQ(Describe(pending), "MIG off (on after a reset)");
}

}  // namespace
}  // namespace partita::service::mig
