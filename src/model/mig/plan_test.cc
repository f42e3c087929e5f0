#include "model/mig/plan.h"

#include <gtest/gtest.h>

#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

using testing::GpuWith;
using testing::kA100;
using testing::ProductGpu;

constexpr const char* kH100 = "H100-80GB-HBM3";

// A goal with MIG on.
GpuGoal Divided(const Gpu& gpu, std::string_view devices) {
  return {true, testing::Wanted(MigGeometry::From(*gpu.mig), devices)};
}

std::variant<GpuPlan, Refusal> PlanDivided(const Gpu& gpu, const GpuGoal& goal) {
  static MigPlanners planners;
  return PlanGpu(gpu, planners.For(gpu.mig.value_or(Mig())), goal);
}

GpuPlan Planned(const Gpu& gpu, const GpuGoal& goal) {
  auto plan = PlanDivided(gpu, goal);
  EXPECT_TRUE(std::holds_alternative<GpuPlan>(plan));
  return std::get<GpuPlan>(std::move(plan));
}

std::vector<std::string> StepTexts(const Gpu& gpu, const GpuPlan& plan) {
  std::vector<std::string> texts;
  for (const PlanStep& step : Steps(plan))
    texts.push_back(ToString(MigGeometry::From(*gpu.mig), step));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(PlanGpu, EnablesMigWithAResetBeforeHopper) {
  const Gpu gpu = ProductGpu(kA100);
  const GpuPlan plan = Planned(gpu, Divided(gpu, "4g.20gb, 3g.20gb"));
  EXPECT_EQ(plan.mode, ModeChange::kEnable);
  EXPECT_TRUE(plan.reset);
  EXPECT_FALSE(plan.Blocked());
  EXPECT_EQ(StepTexts(gpu, plan),
            (Texts{"enable MIG mode", "reset the GPU", "create GPU instance 4g.20gb at slice 0",
                   "create a compute instance of 4 slices in 4g.20gb at slice 0",
                   "create GPU instance 3g.20gb at slice 4",
                   "create a compute instance of 3 slices in 3g.20gb at slice 4"}));
}

TEST(PlanGpu, EnablesMigWithoutAResetSinceHopper) {
  const Gpu gpu = ProductGpu(kH100);
  const GpuPlan plan = Planned(gpu, Divided(gpu, "7 x 1g.10gb"));
  EXPECT_FALSE(plan.reset);
  const Texts steps = StepTexts(gpu, plan);
  ASSERT_EQ(steps.size(), 15U);
  EXPECT_EQ(steps.front(), "enable MIG mode");
  EXPECT_EQ(steps[1], "create GPU instance 1g.10gb at slice 0");
}

TEST(PlanGpu, PlansNoResetForAnArchitectureNewerThanThisProgram) {
  Gpu gpu = ProductGpu(kA100);
  gpu.architecture = Architecture::kUnknown;
  const GpuPlan plan = Planned(gpu, Divided(gpu, ""));
  EXPECT_EQ(plan.mode, ModeChange::kEnable);
  EXPECT_FALSE(plan.reset) << "every one since Hopper takes the mode at once; the driver tells";
  EXPECT_EQ(StepTexts(gpu, plan), Texts{"enable MIG mode"});
}

TEST(PlanGpu, LeavesAGpuAloneThatIsAsWanted) {
  const Gpu off = ProductGpu(kA100);
  const Gpu on = GpuWith(kA100, "1g.5gb@0* 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6");
  EXPECT_FALSE(Planned(off, Divided(off, "7 x 1g.5gb")).ChangesNothing());
  const GpuPlan plan = Planned(on, Divided(on, "7 x 1g.5gb"));
  EXPECT_TRUE(plan.ChangesNothing());
  EXPECT_FALSE(plan.Blocked());
  EXPECT_TRUE(Steps(plan).empty());
}

TEST(PlanGpu, NamesWhoHoldsAGpuWhoseModeMustChange) {
  Gpu gpu = ProductGpu(kA100);
  Process process;
  process.pid = Pid(4711);
  process.name = "dcgm";
  gpu.processes.push_back(process);
  const GpuPlan plan = Planned(gpu, Divided(gpu, ""));
  EXPECT_TRUE(plan.Blocked());
  ASSERT_EQ(plan.blockers.size(), 1U);
  EXPECT_EQ(plan.blockers[0].name, "dcgm");
}

TEST(PlanGpu, ChangesNoModeUnderHoldersThatNobodyCanList) {
  for (const auto* product : {kA100, kH100}) {
    Gpu gpu = ProductGpu(product);
    gpu.processes_error = base::Error(base::ErrorCode::kInternal, "no list");
    const GpuPlan plan = Planned(gpu, Divided(gpu, ""));
    ASSERT_EQ(plan.mode, ModeChange::kEnable);
    EXPECT_TRUE(plan.blockers_unknown) << "nothing has to go, but the mode is everybody's";
    EXPECT_TRUE(plan.Blocked());
  }
}

TEST(PlanGpu, OnlyResetsForAModeThatIsPending) {
  Gpu gpu = ProductGpu(kA100);
  gpu.mig->pending_enabled = true;
  EXPECT_EQ(StepTexts(gpu, Planned(gpu, Divided(gpu, ""))), Texts{"reset the GPU"});
  // A Hopper takes the mode at once: pending without effect is asked for again.
  Gpu hopper = ProductGpu(kH100);
  hopper.mig->pending_enabled = true;
  EXPECT_EQ(StepTexts(hopper, Planned(hopper, Divided(hopper, ""))), Texts{"enable MIG mode"});
}

TEST(PlanGpu, TakesBackAModeThatIsPending) {
  Gpu gpu = GpuWith(kA100, "1g.5gb@6*");
  gpu.mig->pending_enabled = false;
  const GpuPlan plan = Planned(gpu, Divided(gpu, "1g.5gb"));
  EXPECT_FALSE(plan.Blocked());
  EXPECT_FALSE(plan.ChangesNothing());
  EXPECT_EQ(StepTexts(gpu, plan), Texts{"enable MIG mode"});
}

TEST(PlanGpu, RemovesInstancesBeforeItDisablesMig) {
  const Gpu gpu = GpuWith(kA100, "3g.20gb@4 1g.5gb@0[]");
  EXPECT_EQ(
      StepTexts(gpu, Planned(gpu, {})),
      (Texts{"destroy compute instance 0 of 3g.20gb at slice 4",
             "destroy GPU instance 1g.5gb at slice 0", "destroy GPU instance 3g.20gb at slice 4",
             "disable MIG mode", "reset the GPU"}));
}

TEST(PlanGpu, DestroysEverythingBeforeItCreates) {
  const Gpu gpu = GpuWith(kA100, "3g.20gb@0[1,1] 1g.5gb@5 1g.5gb@6*");
  const GpuPlan plan = Planned(gpu, Divided(gpu, "2c.3g.20gb, 1c.3g.20gb, 2g.10gb, 1g.5gb"));
  EXPECT_EQ(StepTexts(gpu, plan),
            (Texts{"destroy compute instance 0 of 1g.5gb at slice 5",
                   "destroy compute instance 1 of 3g.20gb at slice 0",
                   "destroy GPU instance 1g.5gb at slice 5",
                   "create a compute instance of 2 slices in 3g.20gb at slice 0",
                   "create GPU instance 2g.10gb at slice 4",
                   "create a compute instance of 2 slices in 2g.10gb at slice 4"}));
  const std::vector<PlanStep> steps = Steps(plan);
  EXPECT_EQ(steps[0].instance, GpuInstanceId(2));
  EXPECT_EQ(steps[3].instance, GpuInstanceId(1));
  EXPECT_EQ(steps[4].instance, std::nullopt);
}

TEST(PlanGpu, NamesWhoStandsInTheWay) {
  const Gpu gpu = GpuWith(kA100, "1g.5gb@0* 1g.5gb@4* 1g.5gb@6*");
  const GpuPlan plan = Planned(gpu, Divided(gpu, "3 x 1g.5gb, 3g.20gb"));
  EXPECT_TRUE(plan.Blocked());
  ASSERT_EQ(plan.layout.obstacles.size(), 1U);
  ASSERT_EQ(plan.blockers.size(), 1U);
  EXPECT_EQ(plan.blockers[0].pid, Pid(100));
}

TEST(PlanGpu, NamesNobodyWhoseComputeInstanceStays) {
  const Gpu gpu = GpuWith(kA100, "3g.20gb@4[2*,1*]");
  const GpuPlan plan = Planned(gpu, Divided(gpu, "2c.3g.20gb"));
  ASSERT_EQ(plan.blockers.size(), 1U);
  EXPECT_EQ(plan.blockers[0].compute_instance, ComputeInstanceId(1));
}

TEST(PlanGpu, TakesAProcessOfNoInstanceForAUserOfAll) {
  Gpu gpu = GpuWith(kA100, "1g.5gb@6 1g.5gb@4");
  Process process;
  process.pid = Pid(7);
  gpu.processes.push_back(process);
  EXPECT_TRUE(Planned(gpu, Divided(gpu, "1g.5gb")).Blocked());
  EXPECT_FALSE(Planned(gpu, Divided(gpu, "2 x 1g.5gb, 3g.20gb")).Blocked());
}

TEST(PlanGpu, RefusesWhatTheGpuCannotBe) {
  const Gpu t4 = ProductGpu("T4");
  const auto incapable = PlanDivided(t4, {true, {}});
  ASSERT_TRUE(std::holds_alternative<Refusal>(incapable));
  EXPECT_EQ(std::get<Refusal>(incapable).text, "Tesla T4 cannot do MIG");
  EXPECT_TRUE(Planned(t4, {}).ChangesNothing());

  const Gpu gpu = GpuWith(kA100, "1g.5gb@0");
  const auto refusal = PlanDivided(gpu, Divided(gpu, "2 x 3g.20gb, 1g.5gb"));
  ASSERT_TRUE(std::holds_alternative<Refusal>(refusal));
  EXPECT_EQ(std::get<Refusal>(refusal).text,
            "2 x 3g.20gb, 1g.5gb take 9 memory slices, and the GPU has 8");
  EXPECT_EQ(std::get<Refusal>(refusal).nearest.size(), 3U);
}

TEST(MigPlanners, MakesOnePlannerForEveryKind) {
  MigPlanners planners;
  const Gpu empty = ProductGpu(kH100);
  const Gpu busy = GpuWith(kH100, "3g.40gb@0* 1g.10gb@4");
  EXPECT_EQ(&planners.For(*empty.mig), &planners.For(*busy.mig));
  EXPECT_NE(&planners.For(*empty.mig), &planners.For(*ProductGpu(kA100).mig));
}

TEST(PlanGpu, GoesAroundWhoeverMayBeThere) {
  Gpu gpu = GpuWith(kA100, "3g.20gb@0 1g.5gb@6");
  gpu.hidden_holders = {{GpuInstanceId(1), Bytes(1)}};
  GpuPlan plan = Planned(gpu, Divided(gpu, "3g.20gb, 2g.10gb"));
  EXPECT_FALSE(plan.Blocked());
  EXPECT_TRUE(plan.hidden_blockers.empty()) << "it stays";
  plan = Planned(gpu, Divided(gpu, "7g.40gb"));
  EXPECT_TRUE(plan.Blocked());
  EXPECT_EQ(plan.hidden_blockers, gpu.hidden_holders);
  EXPECT_TRUE(Planned(gpu, {}).Blocked()) << "a mode change takes all";

  gpu.hidden_holders = {{std::nullopt, Bytes(1)}};
  EXPECT_TRUE(Planned(gpu, Divided(gpu, "3g.20gb")).Blocked()) << "it may be in the other";

  gpu.hidden_holders.clear();
  gpu.processes_error = base::Error(base::ErrorCode::kInternal, "no list");
  EXPECT_FALSE(Planned(gpu, Divided(gpu, "3g.20gb, 2 x 1g.5gb")).Blocked());
  EXPECT_TRUE(Planned(gpu, Divided(gpu, "3g.20gb")).blockers_unknown);
  EXPECT_TRUE(Planned(gpu, {}).blockers_unknown);
}

}  // namespace
}  // namespace partita::model
