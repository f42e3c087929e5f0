// One driver for everybody, with the simulator's library behind it.

#include "hw/nvml/driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "tests/integration/simulated_machine.h"
#include "tests/integration/wait_for.h"

namespace partita::integration {
namespace {

using hw::nvml::CallAt;
using hw::nvml::CallWatch;
using hw::nvml::DeviceHandle;
using hw::nvml::Driver;
using hw::nvml::Outcome;
using hw::nvml::Session;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kPatient(10);

hw::ReaderOptions Options(const SimulatedMachine& machine) {
  hw::ReaderOptions options = machine.Options();
  options.deadline = milliseconds(1000);
  options.release_deadline = milliseconds(300);
  return options;
}

std::uint64_t Generation(Driver& driver) {
  std::uint64_t generation = 0;
  const Driver::Report report =
      driver.Run("", driver.LimitsFor(),
                 [&](const Session& session, CallWatch&) { generation = session.generation(); });
  EXPECT_TRUE(report.Done());
  return generation;
}

TEST(Driver, OpensWithTheFirstJobAndAgainAfterARelease) {
  const SimulatedMachine machine("h200-vm");
  const auto driver = hw::MakeDriver(Options(machine));
  DeviceHandle handle;
  ASSERT_TRUE(driver
                  ->Run("", driver->LimitsFor(),
                        [&](const Session& session, CallWatch& watch) {
                          handle = *session.FindDevice(model::GpuIndex(0), watch);
                        })
                  .Done());
  EXPECT_EQ(handle.generation, 1U);
  EXPECT_EQ(Generation(*driver), 1U) << "it stays open";
  EXPECT_TRUE(driver->Release().ok());
  EXPECT_TRUE(driver->Release().ok()) << "there is nothing to close";
  ASSERT_TRUE(driver
                  ->Run("", driver->LimitsFor(),
                        [&](const Session& session, CallWatch&) {
                          const auto stale = session.Use(handle);
                          ASSERT_FALSE(stale.ok());
                          EXPECT_EQ(stale.error().code(), base::ErrorCode::kUnavailable);
                        })
                  .Done());
  EXPECT_EQ(Generation(*driver), 2U);
  EXPECT_TRUE(driver->Reopen(1).ok());
  EXPECT_EQ(Generation(*driver), 2U) << "the one that was meant is over already";
  EXPECT_TRUE(driver->Reopen(2).ok());
  EXPECT_EQ(Generation(*driver), 3U);
}

TEST(Driver, RunsNothingWhileSomebodyHasItAlone) {
  const SimulatedMachine machine("h200-vm");
  const auto driver = hw::MakeDriver(Options(machine));
  EXPECT_EQ(Generation(*driver), 1U);
  {
    const base::Result<Driver::Lease> lease = driver->Exclusive();
    ASSERT_TRUE(lease.ok()) << lease.error().ToString();
    EXPECT_EQ(driver->Run("", driver->LimitsFor(), [](const Session&, CallWatch&) {}).outcome,
              Outcome::kReleased);
    const base::Result<Driver::Lease> second = driver->Exclusive();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  }
  EXPECT_EQ(Generation(*driver), 2U);
}

TEST(Driver, AJobThatComesWhileItDrainsWaitsAndGoesOnWhereThatFails) {
  SimulatedMachine machine("dgx-a100-40");
  const auto driver = hw::MakeDriver(Options(machine));
  const std::string gpu = hw::nvml::KeyOf(AddressOf(machine, 0));
  std::atomic<bool> hold = true;
  std::atomic<bool> holds = false;
  driver->Submit(
      gpu, {.call = kPatient, .job = kPatient},
      [&](const Session&, CallWatch& watch) {
        ASSERT_TRUE(watch.Enter("nvmlDeviceSetMigMode"));
        holds = true;
        while (hold) std::this_thread::yield();
        watch.Leave();
      },
      [](const Driver::Report&) {});
  WaitFor("the job", [&] { return holds.load(); });
  std::optional<base::Error> error;
  std::atomic<bool> refused = false;
  driver->SubmitExclusive(milliseconds(200), [&](const base::Result<Driver::Lease>& lease) {
    if (!lease.ok()) error = lease.error();
    refused = true;
  });
  // Before or while it drains; in any case it runs, in the same session.
  EXPECT_EQ(Generation(*driver), 1U);
  WaitFor("the refusal", [&] { return refused.load(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), base::ErrorCode::kBusy);
  EXPECT_EQ(error->ToString(), "the driver cannot be released: nvmlDeviceSetMigMode on GPU " + gpu +
                                   " has not come back");
  hold = false;
  const base::Result<Driver::Lease> lease = driver->Exclusive(std::chrono::minutes(1));
  EXPECT_TRUE(lease.ok()) << lease.error().ToString();
}

TEST(Driver, SaysWhyThereIsNone) {
  SimulatedMachine machine("h200-vm");
  machine.Change([](const sim::Machine&, sim::Slot& slot) { slot.driver_loaded = 0; });
  const auto driver = hw::MakeDriver(Options(machine));
  const Driver::Report report =
      driver->Run("", driver->LimitsFor(), [](const Session&, CallWatch&) { FAIL(); });
  EXPECT_EQ(report.outcome, Outcome::kNoDriver);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->ToString(), "nvmlInit_v2: Driver Not Loaded (NVML 9)");
}

// A job that is in a call until it is let go, and its end as the driver hears of it.
class HangingJob {
 public:
  [[nodiscard]] Driver::Job Job() const {
    return [state = state_](const Session&, CallWatch& watch) {
      ASSERT_TRUE(watch.Enter("nvmlDeviceGetTemperature"));
      while (state->hangs) std::this_thread::yield();
      watch.Leave();
    };
  }
  void LetGo() const { state_->hangs = false; }

 private:
  struct State {
    std::atomic<bool> hangs = true;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

constexpr hw::nvml::JobLimits kImpatient{.call = milliseconds(1), .job = kPatient};

TEST(Driver, ASessionThatMustCloseDoesSoOnceItsCallIsBack) {
  const SimulatedMachine machine("h200-vm");
  const auto driver = hw::MakeDriver(Options(machine));
  const HangingJob job;
  EXPECT_EQ(driver->Run("gpu 0", kImpatient, job.Job()).outcome, Outcome::kHung);
  const base::Result<void> kept = driver->Reopen(1);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().ToString(),
            "the driver cannot be released: nvmlDeviceGetTemperature on GPU gpu 0 has not come "
            "back");
  EXPECT_EQ(Generation(*driver), 1U) << "everything goes on as before";
  job.LetGo();
  WaitFor("a new session", [&] { return Generation(*driver) == 2; });
}

// How often the library was initialised and shut down, by its own log.
std::pair<int, int> OpenedAndClosed(const std::string& log) {
  const base::Result<std::string> file = base::ReadFile(log);
  const std::string text = file.ok() ? *file : "";
  std::pair<int, int> count;
  for (const std::string_view line : base::SplitLines(text)) {
    count.first += line.find("nvmlInit") != std::string_view::npos ? 1 : 0;
    count.second += line.find("nvmlShutdown") != std::string_view::npos ? 1 : 0;
  }
  return count;
}

TEST(Driver, ASessionThatMustCloseWaitsForNoOtherJob) {
  const SimulatedMachine machine("h200-vm");
  const std::string log = machine.root() + "/calls";
  setenv("PARTITA_SIM_CALLS", log.c_str(), 1);
  const auto driver = hw::MakeDriver(Options(machine));
  const HangingJob job;
  EXPECT_EQ(driver->Run("gpu 0", kImpatient, job.Job()).outcome, Outcome::kHung);
  unsetenv("PARTITA_SIM_CALLS");
  EXPECT_FALSE(driver->Reopen(1).ok());
  job.LetGo();
  WaitFor("its end", [&] { return OpenedAndClosed(log) == std::pair<int, int>{1, 1}; });
}

void ExpectTheLastCallClosesTheSession() {
  const SimulatedMachine machine("h200-vm");
  const std::string log = machine.root() + "/calls";
  setenv("PARTITA_SIM_CALLS", log.c_str(), 1);
  const HangingJob job;
  {
    const auto driver = hw::MakeDriver(Options(machine));
    EXPECT_EQ(driver->Run("gpu 0", kImpatient, job.Job()).outcome, Outcome::kHung);
  }
  EXPECT_EQ(OpenedAndClosed(log), (std::pair<int, int>{1, 0}));
  job.LetGo();
  WaitFor("its end", [&] { return OpenedAndClosed(log) == std::pair<int, int>{1, 1}; });
}

TEST(Driver, ACallThatComesBackAfterItsDriverIsGoneClosesTheSession) {
  // In a process of its own, since nothing tells the next test when that thread is gone.
  const pid_t child = fork();
  if (child == 0) {
    ExpectTheLastCallClosesTheSession();
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Driver, AShareIsAskedToLetGo) {
  const SimulatedMachine machine("h200-vm");
  const auto driver = hw::MakeDriver(Options(machine));
  EXPECT_EQ(driver->ShareSession("events", {}), nullptr) << "nothing is open";
  EXPECT_EQ(Generation(*driver), 1U);
  std::atomic<int> asked = 0;
  std::unique_ptr<Driver::Share> share = driver->ShareSession("events", [&] { ++asked; });
  ASSERT_NE(share, nullptr);
  EXPECT_EQ(share->session().generation(), 1U);
  EXPECT_FALSE(share->wanted());
  base::Result<Driver::Lease> refused = driver->Exclusive(milliseconds(50));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().ToString(), "the driver cannot be released: events has not come back");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(driver->Overdue(), std::vector<std::string>{"events"});
  std::thread events([&] {
    WaitFor("to be asked", [&] { return share->wanted(); });
    share.reset();
  });
  EXPECT_TRUE(driver->Exclusive(std::chrono::minutes(1)).ok());
  events.join();
  EXPECT_TRUE(driver->Overdue().empty());
}

// Issue: one GPU whose every call hangs. The others stay as they are, can be changed, and what
// needs the driver closed is refused in time, then goes.
TEST(Driver, OneGpuThatHangsInEveryCallCostsTheOthersNothing) {
  SimulatedMachine machine("dgx-a100-40");
  hw::ReaderOptions options = Options(machine);
  options.readings = false;
  const auto driver = hw::MakeDriver(options);
  hw::InventoryReader reader(driver, options);
  hw::MigControl control(driver);
  const model::PciAddress other = AddressOf(machine, 5);
  ASSERT_TRUE(control.SetMode(other, true).ok());
  machine.Change([](const sim::Machine& fixed, sim::Slot& slot) {
    slot.gpus[5].mig_current = slot.gpus[5].mig_pending = 1;
    (void)fixed;
  });
  machine.HangCall("*", 2);

  const model::Inventory look = reader.Read();
  ASSERT_EQ(look.gpus.size(), 8U);
  for (std::size_t i = 0; i < look.gpus.size(); ++i) {
    EXPECT_EQ(look.gpus[i].faults.empty(), i != 2) << i;
  }
  ASSERT_TRUE(look.gpus[5].mig);
  const model::GpuInstanceProfile& profile = look.gpus[5].mig->profiles.front();
  const auto instance = control.CreateInstance(other, profile.id, profile.placements.front());
  ASSERT_TRUE(instance.ok()) << instance.error().ToString();
  EXPECT_TRUE(control.DestroyInstance(other, *instance).ok());

  const base::Result<Driver::Lease> refused = driver->Exclusive();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kBusy);
  const std::string key = hw::nvml::KeyOf(AddressOf(machine, 2));
  EXPECT_NE(refused.error().ToString().find("on GPU " + key + " has not come back"),
            std::string::npos)
      << refused.error().ToString();
  ASSERT_EQ(driver->Overdue().size(), 1U);
  EXPECT_TRUE(driver->Overdue()[0].ends_with(" on GPU " + key)) << driver->Overdue()[0];
  EXPECT_TRUE(reader.Read().gpus[5].faults.empty()) << "everything goes on as before";

  machine.ClearCallFaults();
  const base::Result<Driver::Lease> lease = driver->Exclusive(std::chrono::minutes(1));
  ASSERT_TRUE(lease.ok()) << lease.error().ToString();
  EXPECT_EQ(driver->Running(), std::vector<CallAt>());
}

}  // namespace
}  // namespace partita::integration
