// What a change does when the driver does something else than it was asked, on simulated nodes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "config/mig_config.h"
#include "service/mig/apply.h"
#include "service/mig/node_plan.h"
#include "tests/integration/node_under_change.h"

namespace partita::integration {
namespace {

using service::mig::ApplyReport;
using service::mig::GpuEnd;
using sim::CallFaultKind;
using Texts = std::vector<std::string>;

constexpr std::uint32_t kNotSupported = 3, kResetRequired = 16, kInUse = 19, kUnknown = 999;

std::string Some(const std::string& gpus, const std::string& devices) {
  return "  - {devices: [" + gpus + "], mig-enabled: true, mig-devices: {" + devices + "}}\n";
}

void ExpectApplied(NodeUnderChange& node, const std::string& entries) {
  const base::Result<ApplyReport> result = node.Apply(entries);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->applied);
  EXPECT_EQ(ErrorTexts(*result), Texts());
}

bool Did(const NodeUnderChange& node, const std::string& step) {
  return std::any_of(node.steps().begin(), node.steps().end(),
                     [&](const std::string& each) { return each.find(step) != std::string::npos; });
}

TEST(ApplyFaults, ASecondPlanThatWouldHurtWorkIsNotCarriedOut) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  ExpectApplied(node, Some("0", "1g.5gb: 7"));
  node.Use(0, node.InstanceAt(0, 0));
  // Beside the busy slice 0 there is one place for the large one. Without it, the busy one goes.
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "1g.5gb: 1, 3g.20gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_FALSE(Did(node, "destroy compute instance 0 of 1g.5gb at slice 0"));
  EXPECT_FALSE(Did(node, "destroy GPU instance 1g.5gb at slice 0"));
  EXPECT_EQ(ErrorTexts(*result).back(),
            "GPU 0: put back as it was: MIG on: 1g.5gb@0, 1g.5gb@1, 1g.5gb@2, 1g.5gb@3, 1g.5gb@4, "
            "1g.5gb@5, 1g.5gb@6");
}

// What a plan for these entries would do now.
std::vector<service::mig::GpuSteps> Planned(const NodeUnderChange& node,
                                            const std::string& entries) {
  const auto file =
      config::MigConfigFile::Parse("version: v1\nmig-configs:\n  c:\n" + entries, "mig.yaml");
  const model::Inventory inventory = node.Read();
  const auto goal = service::mig::ResolveConfig(*file, **file->Select(""), inventory);
  return service::mig::AllSteps(service::mig::PlanNode(inventory, *goal));
}

TEST(ApplyFaults, APlanThatNobodyAgreedToIsNotCarriedOut) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "1g.5gb: 2"));
  const std::string wanted = Some("0", "1g.5gb: 1");
  service::mig::ApplyOptions options;
  options.agreed = Planned(node, wanted);
  // The one that was to go is in use by now: the plan takes the other instead.
  ASSERT_EQ(node.Layout(0), "MIG on: 1g.5gb@4, 1g.5gb@5");
  node.Use(0, node.InstanceAt(0, 5));
  base::Result<ApplyReport> result = node.Apply(wanted, options);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->outdated);
  EXPECT_FALSE(result->applied);
  EXPECT_EQ(node.steps(), Texts());
  EXPECT_EQ(node.Layout(0), "MIG on: 1g.5gb@4, 1g.5gb@5");

  options.agreed = Planned(node, wanted);
  result = node.Apply(wanted, options);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->outdated);
  EXPECT_TRUE(result->applied);
  EXPECT_EQ(node.Layout(0), "MIG on: 1g.5gb@5");
}

// What a person saw staying stays, also where the only other way would take it.
TEST(ApplyFaults, ASecondPlanThatTakesWhatTheAgreedOneLeftIsNotCarriedOut) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  ExpectApplied(node, Some("0", "1g.5gb: 2"));
  ASSERT_EQ(node.Layout(0), "MIG on: 1g.5gb@4, 1g.5gb@5");
  const std::string wanted = Some("0", "1g.5gb: 1, 3g.20gb: 1");
  service::mig::ApplyOptions options;
  options.agreed = Planned(node, wanted);
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  const base::Result<ApplyReport> result = node.Apply(wanted, options);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_FALSE(Did(node, "1g.5gb at slice 4"));
  EXPECT_EQ(ErrorTexts(*result),
            (Texts{"GPU 0: create GPU instance 3g.20gb at slice 0: "
                   "nvmlDeviceCreateGpuInstanceWithPlacement: Insufficient Resources (NVML 23)",
                   "GPU 0: plan it once more: the other plan would destroy compute instance 0 of "
                   "1g.5gb at slice 4, which the one that was agreed to leaves there: if that may "
                   "go, apply a layout without it first, then this one",
                   "GPU 0: put back as it was: MIG on: 1g.5gb@4, 1g.5gb@5"}));
  // Where nobody was shown anything, it is the way.
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  ExpectApplied(node, wanted);
}

TEST(ApplyFaults, ASecondPlanMayTakeWhatTheFirstOneMade) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "1g.5gb: 7"));
  // It is made where one went that was shown as going, and has the id of that one.
  const std::string wanted = Some("0", "3g.20gb: 1, 1g.5gb+me: 1");
  service::mig::ApplyOptions options;
  options.agreed = Planned(node, wanted);
  node.on_step = [&](const std::string& step) {
    if (step.find("create GPU instance 3g.20gb") == std::string::npos) return;
    node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
    node.on_step = nullptr;
  };
  const base::Result<ApplyReport> result = node.Apply(wanted, options);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(Did(node, "destroy GPU instance 1g.5gb+me at slice 0"));
  EXPECT_TRUE(result->applied);
}

TEST(ApplyFaults, AnotherUserOfWhatStaysIsNoOtherPlan) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "3g.20gb: 1, 1g.5gb: 1"));
  const std::string wanted = Some("0", "3g.20gb: 1");
  service::mig::ApplyOptions options;
  options.agreed = Planned(node, wanted);
  node.Use(0, node.InstanceAt(0, 4));
  const base::Result<ApplyReport> result = node.Apply(wanted, options);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->applied);
}

TEST(ApplyFaults, WhatACallThatStillRunsWillDoIsUnknownUntilTheNextLook) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", ""));
  node.limits.instance = std::chrono::milliseconds(200);
  node.machine().HangCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0);
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "3g.20gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  ASSERT_EQ(result->gpus.size(), 2U);
  EXPECT_EQ(result->gpus[0].end, GpuEnd::kUnknown);
  EXPECT_EQ(result->gpus[1].end, GpuEnd::kDone);
  EXPECT_FALSE(Did(node, "GPU 0: destroy")) << "nothing races the call that still runs";
  EXPECT_EQ(ErrorTexts(*result).back(),
            "GPU 0: whether that took effect is not known yet, and nothing was put back: look "
            "again; it is now unknown: a driver call has not come back: see the kernel log, then "
            "reset the GPU or reboot the node");

  // The call comes back and does what it was asked; its session, which nobody has any more, closes.
  node.machine().ClearCallFaults();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (node.Layout(0) != "MIG on: 3g.20gb@4 (no compute instance)") {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << node.Layout(0);
    std::this_thread::yield();
  }
  node.limits.instance = std::chrono::seconds(60);
  ExpectApplied(node, Some("0, 1", "3g.20gb: 1"));
}

struct Made {
  CallFaultKind kind;
  const char* error;
};

class MadeOther : public ::testing::TestWithParam<Made> {};

TEST_P(MadeOther, IsAnErrorThatSaysWhatWasMade) {
  NodeUnderChange node("h200-vm");
  ExpectApplied(node, Some("0", ""));
  const model::Inventory inventory = node.Read();
  const model::Gpu& gpu = inventory.gpus[0];
  const auto& profiles = gpu.mig->profiles;
  const auto half = std::find_if(profiles.begin(), profiles.end(),
                                 [](const auto& profile) { return profile.name == "3g.71gb"; });
  ASSERT_NE(half, profiles.end());
  hw::MigControl control(hw::MakeDriver(node.Options()));
  node.machine().MakeOther(GetParam().kind, 0);
  const auto instance = control.CreateInstance(gpu.pci, half->id, {0, 4});
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.error().ToString(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    ApplyFaults,
    MadeOther,
    ::testing::Values(Made{CallFaultKind::kOtherPlace,
                           "the driver made profile 9 at slice 4 instead of 9 at slice 0"},
                      Made{CallFaultKind::kOtherProfile,
                           "the driver made profile 5 at slice 0 instead of 9 at slice 0"}));

// How a GPU of a virtual H200 is divided by the call alone, and one compute instance in it.
base::Result<model::ComputeInstanceId> MakeOtherCompute(NodeUnderChange& node,
                                                        CallFaultKind kind,
                                                        const std::string& function,
                                                        std::optional<std::uint32_t> start) {
  TRY(applied, node.Apply(Some("0", "7g.141gb: 1")));
  const model::PciAddress gpu = applied.after.gpus.at(0).pci;
  const model::GpuInstance& whole = applied.after.gpus.at(0).mig->instances.at(0);
  hw::MigControl control(hw::MakeDriver(node.Options()));
  TRY_VOID(control.DestroyCompute(gpu, whole.id, whole.compute_instances.at(0).id));
  node.machine().MakeOther(kind, 0, function);
  return control.CreateCompute(gpu, whole.id, 2, start);
}

TEST(ApplyFaults, AComputeInstanceOfAnotherProfileIsAnErrorThatSaysWhatWasMade) {
  NodeUnderChange node("h200-vm");
  const auto compute = MakeOtherCompute(node, CallFaultKind::kOtherProfile,
                                        "nvmlGpuInstanceCreateComputeInstance", std::nullopt);
  ASSERT_FALSE(compute.ok());
  EXPECT_EQ(compute.error().ToString(), "the driver made compute instance profile 0 instead of 1");
}

TEST(ApplyFaults, AComputeInstanceAtAnotherPlaceIsAnErrorThatSaysWhatWasMade) {
  NodeUnderChange node("h200-vm");
  const auto compute =
      MakeOtherCompute(node, CallFaultKind::kOtherPlace,
                       "nvmlGpuInstanceCreateComputeInstanceWithPlacement", std::uint32_t{0});
  ASSERT_FALSE(compute.ok());
  EXPECT_EQ(compute.error().ToString(),
            "the driver made compute instance profile 1 at slice 2 instead of 1 at slice 0");
}

TEST(ApplyFaults, AComputeInstanceOfAnotherSizeIsMadeAnew) {
  NodeUnderChange node("h200-vm");
  ExpectApplied(node, Some("0", ""));
  node.machine().MakeOther(CallFaultKind::kOtherProfile, 0, "nvmlGpuInstanceCreateComputeInstance");
  ExpectApplied(node, Some("0", "7g.141gb: 1"));
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.141gb@0");
}

TEST(ApplyFaults, WhatWasMadeElsewhereIsPlannedAround) {
  NodeUnderChange node("h200-vm");
  ExpectApplied(node, Some("0", ""));
  node.machine().MakeOther(CallFaultKind::kOtherPlace, 0);
  ExpectApplied(node, Some("0", "3g.71gb: 1"));
  EXPECT_EQ(node.Layout(0), "MIG on: 3g.71gb@0") << "it was asked for at 4";
}

TEST(ApplyFaults, WhatWasMadeInsteadGoesAgain) {
  NodeUnderChange node("h200-vm");
  ExpectApplied(node, Some("0", ""));
  node.machine().MakeOther(CallFaultKind::kOtherProfile, 0);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "7g.141gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(ErrorTexts(*result),
            (Texts{"GPU 0: create GPU instance 7g.141gb at slice 0: the driver made profile 19 at "
                   "slice 0 instead of 0 at slice 0",
                   "GPU 0: put back as it was: MIG on: empty"}));
}

TEST(ApplyFaults, AStopAmongInstancesThatWereToldLatePutsAllBack) {
  NodeUnderChange node(std::string(PARTITA_TEST_NODES) + "/a100-profiles-later.yaml");
  std::atomic<bool> stop = false;
  node.on_step = [&](const std::string& step) {
    if (step.find("create GPU instance") != std::string::npos) stop = true;
  };
  const base::Result<ApplyReport> result = node.Apply(Some("0", "1g.5gb: 7"), {}, &stop);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(Did(node, "create GPU instance 1g.5gb"));
  EXPECT_EQ(ErrorTexts(*result),
            (Texts{"stopped before it was done", "GPU 0: put back as it was: MIG off"}));
  EXPECT_EQ(node.Layout(0), "MIG off");
}

TEST(ApplyFaults, AModeThatWaitsForAResetOrARebootIsPending) {
  // A virtual machine that may not reset its GPU answers "not supported".
  for (const std::uint32_t code : {kNotSupported, kResetRequired}) {
    NodeUnderChange node("h200-vm");
    node.machine().KeepModePending(0, code);
    const base::Result<ApplyReport> result = node.Apply(Some("0", "7g.141gb: 1"));
    ASSERT_TRUE(result.ok()) << result.error().ToString();
    EXPECT_TRUE(result->reset_required) << code;
    EXPECT_FALSE(result->applied) << code;
    EXPECT_EQ(ErrorTexts(*result), Texts()) << code;
    EXPECT_EQ(node.Layout(0), "MIG off (on after a reset)") << code;
  }
}

TEST(ApplyFaults, AModeThatSomebodyKeepsFromChangingIsTakenBack) {
  NodeUnderChange node("h200-vm");
  node.machine().KeepModePending(0, kInUse, 1);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "7g.141gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->reset_required);
  EXPECT_EQ(ErrorTexts(*result),
            (Texts{"GPU 0: enable MIG mode: something holds the GPU: stop what uses it (fuser -v "
                   "/dev/nvidia*), then try again",
                   "GPU 0: put back as it was: MIG off"}));
}

TEST(ApplyFaults, AnActivationThatNobodyKnowsIsAnError) {
  NodeUnderChange node("h200-vm");
  node.machine().KeepModePending(0, kUnknown, 1);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "7g.141gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->reset_required);
  EXPECT_EQ(
      ErrorTexts(*result).front(),
      "GPU 0: enable MIG mode: activation: nvmlDeviceSetMigMode: Unknown Error (NVML 999): see the "
      "kernel log for lines with NVRM");
}

TEST(ApplyFaults, AResetThatFollowsBringsAModeThroughThatWasInUse) {
  NodeUnderChange node("dgx-a100-40");
  node.machine().KeepModePending(0, kInUse, 1);
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  EXPECT_TRUE(Did(node, "GPU 0: reset the GPU"));
}

TEST(ApplyFaults, ComputeInstancesOfSeveralSizesArePlacedAtOnce) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", ""));
  // The driver's own choice for the widest leaves one place for the two others.
  ExpectApplied(node, Some("0", "3c.7g.40gb: 1, 2c.7g.40gb: 2"));
  EXPECT_EQ(node.steps(),
            (Texts{"GPU 0: create GPU instance 7g.40gb at slice 0",
                   "GPU 0: create a compute instance of 3 slices in 7g.40gb at slice 0",
                   "GPU 0: create a compute instance of 2 slices in 7g.40gb at slice 0",
                   "GPU 0: create a compute instance of 2 slices in 7g.40gb at slice "
                   "0"}))
      << "no second plan was needed";
}

// Asked how often, with what; answers with what it is given.
struct Gate {
  explicit Gate(NodeUnderChange& changed) : node(changed) {}
  service::mig::ApplyOptions Options() {
    service::mig::ApplyOptions options;
    options.gate = [this](const model::Inventory& look,
                          const std::vector<service::mig::GpuSteps>& steps) {
      ++asked;
      seen = look;
      planned = steps;
      begun = !node.steps().empty();
      return answer;
    };
    return options;
  }

  NodeUnderChange& node;
  base::Result<void> answer;
  int asked = 0;
  bool begun = false;
  model::Inventory seen;
  std::vector<service::mig::GpuSteps> planned;
};

TEST(ApplyFaults, TheGateIsAskedOnceBeforeTheFirstStep) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  Gate gate(node);
  const auto planned = Planned(node, Some("0, 1", "3g.20gb: 2"));
  // Also where a GPU is planned once more.
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "3g.20gb: 2"), gate.Options());
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(gate.asked, 1);
  EXPECT_FALSE(gate.begun);
  EXPECT_EQ(gate.planned, planned);
  ASSERT_EQ(gate.seen.gpus.size(), 8U);
  EXPECT_EQ(service::mig::Describe(gate.seen.gpus[0]), "MIG on: 7g.40gb@0");
  EXPECT_EQ(node.Layout(1), "MIG on: 3g.20gb@0, 3g.20gb@4");
}

TEST(ApplyFaults, AGateThatStaysClosedLeavesEverythingAsItWas) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  Gate gate(node);
  gate.answer = base::Error(base::ErrorCode::kBusy, "claim default/training holds it");
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "3g.20gb: 2"), gate.Options());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kBusy);
  EXPECT_EQ(result.error().ToString(), "claim default/training holds it");
  EXPECT_EQ(gate.asked, 1);
  EXPECT_EQ(node.steps(), Texts());
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.40gb@0");
  EXPECT_EQ(node.Layout(1), "MIG off");
}

TEST(ApplyFaults, TheGateIsNotAskedWhereNothingIsToDo) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  Gate gate(node);
  gate.answer = base::Error(base::ErrorCode::kBusy, "nobody may");
  // As it is already; what cannot be; what is not what was agreed to.
  EXPECT_TRUE(node.Apply(Some("0", "7g.40gb: 1"), gate.Options()).ok());
  EXPECT_FALSE(node.Apply(Some("0", "7g.40gb: 2"), gate.Options()).ok());
  service::mig::ApplyOptions agreed = gate.Options();
  agreed.agreed = Planned(node, Some("0", "1g.5gb: 1"));
  const base::Result<ApplyReport> outdated = node.Apply(Some("0", "3g.20gb: 2"), agreed);
  ASSERT_TRUE(outdated.ok()) << outdated.error().ToString();
  EXPECT_TRUE(outdated->outdated);
  EXPECT_EQ(gate.asked, 0);
}

}  // namespace
}  // namespace partita::integration
