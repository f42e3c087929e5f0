// Changes of whole simulated nodes, through the library and the tool that were built.

#include "service/mig/apply.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/state/mig.h"
#include "tests/integration/node_under_change.h"

namespace partita::integration {
namespace {

using service::mig::ApplyReport;
using service::mig::GpuEnd;

std::string All(const std::string& devices) {
  return "  - {devices: all, mig-enabled: true, mig-devices: {" + devices + "}}\n";
}
std::string Some(const std::string& gpus, const std::string& devices) {
  return "  - {devices: [" + gpus + "], mig-enabled: true, mig-devices: {" + devices + "}}\n";
}

std::string Errors(const base::Result<ApplyReport>& result) {
  if (!result.ok()) return result.error().ToString();
  std::string text;
  for (const std::string& error : ErrorTexts(*result)) text += error + "\n";
  return text;
}

void ExpectApplied(NodeUnderChange& node, const std::string& entries) {
  const base::Result<ApplyReport> result = node.Apply(entries);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->applied);
  EXPECT_EQ(Errors(result), "");
  EXPECT_FALSE(result->reset_required);
}

std::map<std::string, int> Devices(const model::Inventory& inventory) {
  std::map<std::string, int> devices;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        ++devices[compute.name];
  }
  return devices;
}

using Counts = std::map<std::string, int>;

TEST(ApplyTest, MakesEveryConfigurationOfTheUserDocuments) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, All("1g.5gb: 7"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"1g.5gb", 56}}));
  ExpectApplied(node, All("2g.10gb: 3"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"2g.10gb", 24}}));
  ExpectApplied(node, All("3g.20gb: 2"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"3g.20gb", 16}}));
  ExpectApplied(node, All("1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"1g.5gb", 16}, {"2g.10gb", 8}, {"3g.20gb", 8}}));
  ExpectApplied(node, "  - {devices: [0, 1, 2, 3], mig-enabled: false}\n" +
                          Some("4, 5, 6, 7", "1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"1g.5gb", 8}, {"2g.10gb", 4}, {"3g.20gb", 4}}));
  ExpectApplied(node, "  - {devices: all, mig-enabled: false}\n");
  EXPECT_EQ(Devices(node.Read()), Counts{});
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(node.Layout(gpu), "MIG off");
}

TEST(ApplyTest, DoesNothingTheSecondTime) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, All("1g.5gb: 7"));
  ExpectApplied(node, All("1g.5gb: 7"));
  EXPECT_EQ(node.steps(), std::vector<std::string>{});
}

TEST(ApplyTest, ResetsAnAmpereGpuAndNoOther) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("3", "7g.40gb: 1"));
  node.Use(3, node.InstanceAt(3, 0));
  ExpectApplied(node, Some("5", "7g.40gb: 1"));
  EXPECT_EQ(node.steps(),
            (std::vector<std::string>{"GPU 5: enable MIG mode", "GPU 5: reset the GPU",
                                      "GPU 5: create GPU instance 7g.40gb at slice 0",
                                      "GPU 5: create a compute instance of 7 slices in 7g.40gb at "
                                      "slice 0"}));
  EXPECT_EQ(node.Layout(3), "MIG on: 7g.40gb@0");
  EXPECT_EQ(node.Layout(4), "MIG off");
}

TEST(ApplyTest, ResetsNoGpuWhoseModeTookEffectAtOnce) {
  NodeUnderChange node("tests/integration/nodes/a100-idle.yaml");
  ExpectApplied(node, All("7g.40gb: 1"));
  for (const std::string& step : node.steps()) EXPECT_EQ(step.find("reset"), std::string::npos);
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.40gb@0");
}

TEST(ApplyTest, ResetsNoGpuWhoseModeWasRefused) {
  NodeUnderChange node("dgx-a100-40");
  node.machine().FailCall("nvmlDeviceSetMigMode", 0, /* UNKNOWN */ 999);
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "7g.40gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  const auto did = [&node](const std::string& step) {
    return std::count(node.steps().begin(), node.steps().end(), step);
  };
  EXPECT_EQ(did("GPU 0: reset the GPU"), 0);
  EXPECT_EQ(did("GPU 1: reset the GPU"), 1);
  EXPECT_EQ(node.Layout(0), "MIG off");
  EXPECT_EQ(node.Layout(1), "MIG on: 7g.40gb@0");
}

TEST(ApplyTest, ChangesAHopperGpuAtOnce) {
  NodeUnderChange node("h200-vm");
  ExpectApplied(node, All("1g.35gb: 1, 1g.18gb: 2"));
  EXPECT_EQ(node.steps().front(), "GPU 0: enable MIG mode");
  for (const std::string& step : node.steps()) EXPECT_EQ(step.find("reset"), std::string::npos);
  const model::Inventory inventory = node.Read();
  for (const model::GpuInstance& instance : inventory.gpus[0].mig->instances) {
    if (instance.profile_name != "1g.35gb") continue;
    EXPECT_EQ(instance.compute_instances.at(0).multiprocessors, 26U) << "all of them, by profile 7";
  }
}

TEST(ApplyTest, LeavesModesPendingWhenResetsAreSkipped) {
  NodeUnderChange node("dgx-a100-40");
  const base::Result<ApplyReport> result = node.Apply(Some("0", "1g.5gb: 7"), {.skip_reset = true});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->applied);
  EXPECT_TRUE(result->reset_required);
  EXPECT_EQ(Errors(result), "");
  EXPECT_EQ(node.Layout(0), "MIG off (on after a reset)");
  ExpectApplied(node, Some("0", "1g.5gb: 7"));
  EXPECT_EQ(node.steps().front(), "GPU 0: reset the GPU") << "it was asked for before";
}

TEST(ApplyTest, ChangesModesAlone) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("1", "3g.20gb: 1"));
  const base::Result<ApplyReport> result = node.Apply(All("1g.5gb: 7"), {.mode_only = true});
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->applied) << Errors(result);
  EXPECT_EQ(node.Layout(0), "MIG on: empty");
  EXPECT_EQ(node.Layout(1), "MIG on: 3g.20gb@4");
}

TEST(ApplyTest, KeepsWhatIsBusyAndMatches) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "3g.20gb: 1, 2g.10gb: 1, 1g.5gb: 1"));
  const std::string before = node.Layout(0);
  EXPECT_EQ(before, "MIG on: 2g.10gb@0, 1g.5gb@2, 3g.20gb@4");
  const std::uint32_t busy = node.InstanceAt(0, 4);
  node.Use(0, busy);
  ExpectApplied(node, Some("0", "3g.20gb: 1, 1g.5gb: 4"));
  EXPECT_EQ(node.Layout(0), "MIG on: 1g.5gb@0, 1g.5gb@1, 1g.5gb@2, 1g.5gb@3, 3g.20gb@4");
  EXPECT_EQ(node.InstanceAt(0, 4), busy);
  ASSERT_EQ(node.Read().gpus[0].processes.size(), 1U);
}

TEST(ApplyTest, RefusesWhatSomebodyUsesAndTouchesNothing) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", "1g.5gb: 2"));
  node.Use(0, node.InstanceAt(0, 5));
  const std::string name = node.Read().gpus[0].processes.at(0).name;
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "7g.40gb: 1"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kBusy);
  EXPECT_EQ(result.error().ToString(),
            fmt::format("GPU 0: 1g.5gb at slice 5 is in use by pid {} ({})", getpid(), name));
  EXPECT_EQ(node.steps(), std::vector<std::string>{});
  EXPECT_EQ(node.Layout(1), "MIG on: 1g.5gb@4, 1g.5gb@5");
}

TEST(ApplyTest, RefusesToChangeTheModeUnderAProcess) {
  NodeUnderChange node("dgx-a100-40");
  node.Use(2, std::nullopt);
  const std::string name = node.Read().gpus[2].processes.at(0).name;
  const base::Result<ApplyReport> result = node.Apply(All("1g.5gb: 7"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kBusy);
  EXPECT_EQ(
      result.error().ToString(),
      fmt::format("GPU 2: its MIG mode cannot change while pid {} ({}) uses it", getpid(), name));
  EXPECT_EQ(node.Layout(0), "MIG off");
}

TEST(ApplyTest, RefusesWhatCannotExistBeforeTouchingAnything) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "3g.20gb: 2"));
  const base::Result<ApplyReport> result = node.Apply(Some("0", "3g.20gb: 2, 1g.5gb: 1"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(node.Layout(0), "MIG on: 3g.20gb@0, 3g.20gb@4");
}

TEST(ApplyTest, SaysThatThereIsNoDriver) {
  NodeUnderChange node("h200-vm");
  node.machine().FailCall("nvmlInit", sim::kNone, 9);
  const base::Result<ApplyReport> result = node.Apply(All("1g.18gb: 7"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kNoDriver);
}

TEST(ApplyTest, FindsAnotherPlaceWhenOneFails) {
  NodeUnderChange node("dgx-a100-40");
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  ExpectApplied(node, Some("0", "1g.5gb: 1"));
  EXPECT_EQ(node.Layout(0), "MIG on: 1g.5gb@4") << "6 is preferred, and failed";
}

TEST(ApplyTest, PutsBackAGpuWhoseCreateCallsFail) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", "7g.40gb: 1"));
  // The plan fails, and the second one without its place; then the way back succeeds.
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 2);
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "1g.5gb: 2"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{
                "GPU 0: create GPU instance 1g.5gb at slice 4: "
                "nvmlDeviceCreateGpuInstanceWithPlacement: Insufficient Resources (NVML 23)",
                "GPU 0: create GPU instance 1g.5gb at slice 5: "
                "nvmlDeviceCreateGpuInstanceWithPlacement: Insufficient Resources (NVML 23)",
                "GPU 0: put back as it was: MIG on: 7g.40gb@0"}));
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.40gb@0");
  EXPECT_EQ(node.Layout(1), "MIG on: 1g.5gb@4, 1g.5gb@5") << "the other GPU is finished";
  const model::Inventory look = node.Read();
  ASSERT_EQ(result->gpus.size(), 2U);
  EXPECT_TRUE(result->gpus[0].gpu.Is(look.gpus[0]));
  EXPECT_EQ(result->gpus[0].end, GpuEnd::kPutBack);
  EXPECT_EQ(result->gpus[0].failures.size(), 2U);
  EXPECT_TRUE(result->gpus[1].gpu.Is(look.gpus[1]));
  EXPECT_EQ(result->gpus[1].end, GpuEnd::kDone);
}

TEST(ApplyTest, SaysExactlyWhatIsThereWhenItCannotBePutBack) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  node.machine().FailCall("nvmlGpuInstanceCreateComputeInstance", 0, 999);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "3g.20gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  ASSERT_TRUE(result->Failed());
  EXPECT_EQ(ErrorTexts(*result).back(),
            "GPU 0: could not be put back (create a compute instance of 7 slices in 7g.40gb at "
            "slice 0: nvmlGpuInstanceCreateComputeInstance: Unknown Error (NVML 999)); it is now "
            "MIG on: 7g.40gb@0 (no compute instance)");
}

TEST(ApplyTest, LooksAgainBeforeItGivesUpPuttingBack) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  bool begun = false;
  node.on_step = [&](const std::string& step) {
    if (begun || step.find("create GPU instance") == std::string::npos) return;
    begun = true;
    node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
    node.machine().FailCall("nvmlDeviceGetGpuInstances", 0, 999, 1);
  };
  const base::Result<ApplyReport> result = node.Apply(Some("0", "3g.20gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  ASSERT_TRUE(result->Failed());
  EXPECT_EQ(ErrorTexts(*result).back(), "GPU 0: put back as it was: MIG on: 7g.40gb@0");
}

TEST(ApplyTest, TellsAnErrorFromWhatAnInstanceDoesNotOffer) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", ""));
  const model::Inventory inventory = node.Read();
  const model::Gpu& gpu = inventory.gpus[0];
  hw::MigControl control(hw::MakeDriver(node.Options()));
  const auto whole = std::find_if(gpu.mig->profiles.begin(), gpu.mig->profiles.end(),
                                  [](const auto& profile) { return profile.slice_count == 7; });
  ASSERT_NE(whole, gpu.mig->profiles.end());
  const auto instance = control.CreateInstance(gpu.pci, whole->id, whole->placements.front());
  ASSERT_TRUE(instance.ok()) << instance.error().ToString();
  node.machine().FailCall("nvmlGpuInstanceGetComputeInstanceProfileInfo", 0, 999, 1);
  const auto failed = control.CreateCompute(gpu.pci, *instance, 7);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().ToString(),
            "nvmlGpuInstanceGetComputeInstanceProfileInfo: Unknown Error (NVML 999)");
  EXPECT_TRUE(control.CreateCompute(gpu.pci, *instance, 7).ok()) << "the error has passed";
}

TEST(ApplyTest, MakesAgainWhatWasDestroyedWhenTheDriverSaysInUse) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "3g.20gb: 2"));
  node.machine().FailCall("nvmlGpuInstanceDestroy", 0, 19, 1);
  const base::Result<ApplyReport> result = node.Apply(Some("0", "7g.40gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{
                "GPU 0: destroy GPU instance 3g.20gb at slice 0: nvmlGpuInstanceDestroy: In use by "
                "another client (NVML 19): stop whatever holds it, then try again",
                "GPU 0: put back as it was: MIG on: 3g.20gb@0, 3g.20gb@4"}));
  EXPECT_EQ(node.Layout(0), "MIG on: 3g.20gb@0, 3g.20gb@4");
}

TEST(ApplyTest, KeepsTheModePendingWhenTheResetFails) {
  NodeUnderChange node("dgx-a100-40");
  node.on_step = [&](const std::string& step) {
    // After the plan, as a monitor that starts at the wrong moment would.
    if (step == "GPU 0: reset the GPU") node.Use(0, std::nullopt);
  };
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "7g.40gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result->reset_required);
  EXPECT_EQ(ErrorTexts(*result).size(), 1U) << Errors(result);
  EXPECT_EQ(node.Layout(0), "MIG off (on after a reset)");
  EXPECT_EQ(node.Layout(1), "MIG on: 7g.40gb@0") << "reset alone";
  ASSERT_EQ(result->gpus.size(), 2U);
  EXPECT_EQ(result->gpus[0].end, GpuEnd::kWaiting);
  EXPECT_TRUE(result->gpus[0].Failed());
  EXPECT_EQ(result->gpus[1].end, GpuEnd::kDone);
}

TEST(ApplyTest, TakesBackAModeThatSomebodyKeepsFromChanging) {
  NodeUnderChange node("h200-vm");
  node.on_step = [&](const std::string&) {
    node.on_step = nullptr;
    node.Use(0, std::nullopt);
  };
  const base::Result<ApplyReport> result = node.Apply(All("7g.141gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  const std::string name = node.Read().gpus[0].processes.at(0).name;
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{
                fmt::format("GPU 0: enable MIG mode: something holds the GPU; it is used by pid {} "
                            "({})",
                            getpid(), name),
                "GPU 0: put back as it was: MIG off"}));
  EXPECT_EQ(node.Layout(0), "MIG off");
}

TEST(ApplyTest, PutsEverythingBackWhenItIsStopped) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", "7g.40gb: 1"));
  std::atomic<bool> stop = false;
  int left = 9;  // into the second GPU's creates
  node.on_step = [&](const std::string&) { stop = --left <= 0; };
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "1g.5gb: 2"), {}, &stop);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{"stopped before it was done",
                                      "GPU 0: put back as it was: MIG on: 7g.40gb@0",
                                      "GPU 1: put back as it was: MIG on: 7g.40gb@0"}));
}

TEST(ApplyTest, LeavesAGpuAloneThatItHasNotTouchedWhenItIsStopped) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", "7g.40gb: 1"));
  std::atomic<bool> stop = false;
  node.on_step = [&](const std::string& step) {
    ASSERT_TRUE(step.starts_with("GPU 0: ")) << step;
    if (stop.exchange(true)) return;
    node.machine().Change(
        [](const sim::Machine&, sim::Slot& slot) { sim::DestroyAllInstances(slot.gpus[1]); });
  };
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "1g.5gb: 2"), {}, &stop);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{"stopped before it was done",
                                      "GPU 0: put back as it was: MIG on: 7g.40gb@0"}));
  EXPECT_EQ(node.Layout(1), "MIG on: empty") << "as somebody else made it";
}

TEST(ApplyTest, HearsAStopInTheSecondAttemptToo) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "7g.40gb: 1"));
  node.machine().FailCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0, 23, 1);
  std::atomic<bool> stop = false;
  int creates = 0;
  node.on_step = [&](const std::string& step) {
    if (step.find("create GPU instance") == std::string::npos) return;
    stop = ++creates == 2;  // the first of the second attempt; that call is still made
  };
  const base::Result<ApplyReport> result = node.Apply(Some("0", "1g.5gb: 1"), {}, &stop);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{
                "stopped before it was done",
                "GPU 0: create GPU instance 1g.5gb at slice 6: "
                "nvmlDeviceCreateGpuInstanceWithPlacement: Insufficient Resources (NVML 23)",
                "GPU 0: put back as it was: MIG on: 7g.40gb@0"}));
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.40gb@0");
}

void ExpectNoWaitForACallThatHangs() {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0, 1", "7g.40gb: 1"));
  node.limits.instance = std::chrono::milliseconds(200);
  node.machine().HangCall("nvmlDeviceCreateGpuInstanceWithPlacement", 0);
  const base::Result<ApplyReport> result = node.Apply(Some("0, 1", "3g.20gb: 1"));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->applied);
  EXPECT_EQ(ErrorTexts(*result),
            (std::vector<std::string>{
                "GPU 0: create GPU instance 3g.20gb at slice 4: "
                "nvmlDeviceCreateGpuInstanceWithPlacement did not come back within 0.2 s: see the "
                "kernel log, then reset the GPU or reboot the node",
                "GPU 0: whether that took effect is not known yet, and nothing was put back: look "
                "again; it is now unknown: a driver call has not come back: see the kernel log, "
                "then reset the GPU or reboot the node"}));
  EXPECT_EQ(node.Layout(1), "MIG on: 3g.20gb@4") << "the other GPU is finished";
}

TEST(ApplyTest, DoesNotWaitForACallThatHangs) {
  // A session with a call that hangs stays open until its process ends.
  const pid_t child = fork();
  if (child == 0) {
    ExpectNoWaitForACallThatHangs();
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ApplyTest, RemovesALeftOverInstanceInOneGo) {
  NodeUnderChange node("h200-vm");
  const std::uint32_t id = node.machine().MakeMigDevice(0, /* 1g */ 0, 0);
  node.machine().Change([id](const sim::Machine&, sim::Slot& slot) {
    sim::DestroyComputeInstance(slot.gpus[0].instances[id], 0);
  });
  ExpectApplied(node, All("7g.141gb: 1"));
  EXPECT_EQ(node.Layout(0), "MIG on: 7g.141gb@0");
}

TEST(ApplyTest, MakesComputeInstancesInsideAGpuInstance) {
  NodeUnderChange node("dgx-a100-40");
  ExpectApplied(node, Some("0", "1c.3g.20gb: 2, 2c.4g.20gb: 2"));
  EXPECT_EQ(Devices(node.Read()), (Counts{{"1c.3g.20gb", 2}, {"2c.4g.20gb", 2}}));
}

}  // namespace
}  // namespace partita::integration
