#include "agent/mps/domains.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "agent/mps/testing/held_socket.h"
#include "agent/mps/testing/scripted_runner.h"
#include "base/files.h"
#include "base/state_file.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using model::ComputeMode;
using service::mps::ComputeModePolicy;
using std::chrono::seconds;

// Domains "GPU-1" and so on, of the GPU of that name at the bus of that number.
class DomainsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    machine_ = {
        .root = std::string(directory_.data()) + "/mps", .boot_id = "boot", .runner = runner_};
    NewDomains();
  }
  void TearDown() override {
    domains_.reset();
    runner_->EndAll();
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
  }
  [[nodiscard]] ComputeModes Modes() {
    return {std::string(directory_.data()) + "/modes",
            "boot",
            {.read = [this](const model::PciAddress& gpu) -> base::Result<ComputeMode> {
               return ModeOf(gpu.bus);
             },
             .set = [this](const model::PciAddress& gpu, ComputeMode mode) -> base::Result<void> {
               if (refused_) return base::MakeError(ErrorCode::kUnsupported, "it is refused");
               SetMode(gpu.bus, mode);
               return {};
             }}};
  }
  // As another agent does.
  void NewDomains() {
    domains_.reset();
    domains_ = std::make_unique<Domains>(
        loop_, log_, machine_, Modes(), [] {}, [this] { return holders_; });
  }
  [[nodiscard]] std::optional<Phase> PhaseOf(const std::string& name) const {
    const std::map<std::string, Condition> conditions = domains_->conditions();
    const auto found = conditions.find(name);
    return found == conditions.end() ? std::nullopt : std::optional(found->second.phase);
  }
  void UntilHangs() {
    while (!runner_->hangs()) loop_.RunUntilIdle();
    loop_.RunUntilIdle();
  }
  // By it clients know a daemon.
  void MakeSocket(const std::string& name) {
    const std::string pipe = service::mps::DirectoriesOf(machine_.root, name).pipe;
    sockets_.push_back(testing::HoldSocket(pipe + "/control"));
  }
  [[nodiscard]] std::ptrdiff_t Told(std::string_view text) const {
    return std::count_if(told_.begin(), told_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  static service::mps::Domain DomainOf(std::uint8_t number) {
    service::mps::Domain domain;
    domain.name = "GPU-" + std::to_string(number);
    domain.members.resize(1);
    domain.members[0].uuid = domain.name;
    domain.members[0].pci.bus = number;
    domain.memory = {model::Mebibytes(2048)};
    domain.threads = model::Percent(50);
    return domain;
  }
  ComputeMode ModeOf(std::uint32_t bus) {
    const std::lock_guard lock(mutex_);
    return modes_[bus];
  }
  void SetMode(std::uint32_t bus, ComputeMode mode) {
    const std::lock_guard lock(mutex_);
    modes_[bus] = mode;
  }
  void UntilReady(std::size_t count) {
    loop_.RunUntil([&] {
      std::size_t ready = 0;
      for (const auto& [name, condition] : domains_->conditions())
        if (condition.phase == Phase::kReady) ++ready;
      return ready == count && domains_->settled();
    });
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  net::testing::FakeLoop loop_;
  std::vector<std::string> told_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { told_.emplace_back(line); }};
  std::shared_ptr<testing::ScriptedRunner> runner_ = std::make_shared<testing::ScriptedRunner>();
  Machine machine_;
  std::vector<base::UniqueFd> sockets_;
  service::mps::Holders holders_;
  std::mutex mutex_;
  std::map<std::uint32_t, ComputeMode> modes_;  // by bus
  std::atomic<bool> refused_ = false;           // to set one
  std::unique_ptr<Domains> domains_;
};

TEST_F(DomainsTest, AGpuStaysExclusiveBesideADaemonThatDoesNotEnd) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  // Without a record nobody but itself can end it.
  RemoveRecord(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
  MakeSocket("GPU-1");
  runner_->FailAt("quit", ErrorCode::kIo);
  for (int i = 0; i < 2; ++i) {
    domains_->Want({}, ComputeModePolicy::kExclusive);
    loop_.RunUntil([&] { return domains_->settled(); });
    EXPECT_EQ(runner_->asked("quit -t 3"), i + 1);
    EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
    if (i == 0) loop_.Advance(seconds(30));
  }
  runner_->FailAt("", std::nullopt);
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, ASlowEndHoldsUpWhatNeedsItsDevicesAndNothingElse) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  runner_->HangAt("GPU-1", "quit");
  // Another GPU, and a domain of another name of the same one.
  service::mps::Domain successor = DomainOf(1);
  successor.name = "nvidia.com_gpu";
  domains_->Want({DomainOf(2), successor}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return PhaseOf("GPU-2") == Phase::kReady; });
  UntilHangs();
  EXPECT_EQ(ModeOf(2), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(PhaseOf("GPU-1"), Phase::kStopping);
  EXPECT_EQ(PhaseOf("nvidia.com_gpu"), std::nullopt);

  // Nor is what is wanted meanwhile held up; the mode is as before when the daemon has gone.
  domains_->Want({DomainOf(3)}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] {
    return PhaseOf("GPU-3") == Phase::kReady && !PhaseOf("GPU-2") &&
           ModeOf(2) == ComputeMode::kDefault;
  });
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  domains_->Want({DomainOf(3), successor}, ComputeModePolicy::kExclusive);
  runner_->GoOn();
  UntilReady(2);
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  EXPECT_FALSE(PhaseOf("GPU-1").has_value());
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, AModeComesBackWhenItsDaemonHasEndedNotBefore) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  runner_->HangAt("GPU-1", "quit");
  domains_->Want({}, ComputeModePolicy::kExclusive);
  UntilHangs();
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  EXPECT_FALSE(domains_->settled());
  runner_->GoOn();
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

// A daemon of which nobody knows what it has may have any GPU.
TEST_F(DomainsTest, NoModeComesBackBesideAStrangeDaemonThatDoesNotEnd) {
  domains_->Want({DomainOf(1), DomainOf(2)}, ComputeModePolicy::kExclusive);
  UntilReady(2);
  NewDomains();
  RemoveRecord(service::mps::DirectoriesOf(machine_.root, "GPU-2"));
  MakeSocket("GPU-2");
  runner_->FailAt("quit", ErrorCode::kIo);
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(runner_->asked("quit -t 3"), 2);
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(ModeOf(2), ComputeMode::kExclusiveProcess);
  runner_->FailAt("", std::nullopt);
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
  EXPECT_EQ(ModeOf(2), ComputeMode::kDefault);
}

TEST_F(DomainsTest, WhatDoesNotEndIsToldOnce) {
  refused_ = true;
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  RemoveRecord(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
  MakeSocket("GPU-1");
  runner_->FailAt("quit", ErrorCode::kIo);
  domains_->Want({DomainOf(2)}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  for (int i = 2; i < 5; ++i) {
    loop_.Advance(seconds(30));
    loop_.RunUntil([&] { return runner_->asked("quit -t 3") == i && domains_->settled(); });
  }
  EXPECT_EQ(Told("an MPS domain does not end"), 1);
  EXPECT_EQ(Told("MPS domain: stop"), 1);
  // Of each GPU.
  EXPECT_EQ(Told("error the compute mode of a GPU is not as MPS needs it"), 2);
  runner_->FailAt("", std::nullopt);
  refused_ = false;
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(Told("an MPS domain does not end: over, it works again"), 1);
  EXPECT_EQ(Told("the compute mode of a GPU is not as MPS needs it: over, it works again"), 2);
}

// The old one may be there until then.
TEST_F(DomainsTest, NoModeComesBackBeforeTheSuccessorOfADaemonIsReady) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  RemoveRecord(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
  MakeSocket("GPU-1");
  runner_->FailAt("quit", ErrorCode::kIo);
  service::mps::Domain successor = DomainOf(1);
  successor.memory = {model::Mebibytes(2049)};
  domains_->Want({successor}, ComputeModePolicy::kUnchanged);
  const auto until_waiting = [this] {
    loop_.RunUntil([&] { return domains_->settled() && PhaseOf("GPU-1") == Phase::kWaiting; });
  };
  until_waiting();
  for (int i = 0; i < 2; ++i) {
    loop_.Advance(seconds(30));
    until_waiting();
    EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  }
  runner_->FailAt("", std::nullopt);
  loop_.Advance(seconds(30));
  UntilReady(1);
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, AModeThatTheDriverForgotIsSetAgain) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  SetMode(1, ComputeMode::kDefault);
  domains_->ModesForgotten();
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  // Also that of one which only its holders keep.
  holders_.shares = {"GPU-1"};
  domains_->Want({}, ComputeModePolicy::kUnchanged);
  loop_.RunUntil([&] { return domains_->settled(); });
  SetMode(1, ComputeMode::kDefault);
  domains_->ModesForgotten();
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(runner_->started(), 1U);
  // In the end it is as it was before all.
  holders_.shares.clear();
  domains_->Want({}, ComputeModePolicy::kUnchanged);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, AGpuThatWasNotExclusiveIsNotForThoseWhoHoldItsShares) {
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kUnchanged);
  UntilReady(1);
  holders_.shares = {"GPU-1"};
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  ASSERT_EQ(domains_->kept().size(), 1U);
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, AModeThatCannotBeSetOrPutBackIsToldUntilItCan) {
  using Told = std::map<std::string, std::string>;
  refused_ = true;
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  EXPECT_EQ(domains_->mode_problems(),
            (Told{{"GPU-1",
                   "its compute mode could not be made EXCLUSIVE_PROCESS, so that programs beside "
                   "MPS may come in: it is refused; tried again every 30 s"}}));
  refused_ = false;
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(domains_->mode_problems(), Told());
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);

  refused_ = true;
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(domains_->mode_problems(),
            (Told{{"GPU-1",
                   "its compute mode could not be put back to what it was before MPS: it is "
                   "refused; tried again every 30 s, or set it by hand: nvidia-smi -i GPU-1 -c "
                   "0"}}));
  refused_ = false;
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(domains_->mode_problems(), Told());
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);
}

TEST_F(DomainsTest, ModesThatNobodyRemembersAreLeftAloneAndThatIsTold) {
  const std::string path = std::string(directory_.data()) + "/modes";
  ASSERT_TRUE(
      base::WriteState({.path = path, .name = "mps-modes", .version = 1}, R"({"gpus": []})").ok());
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  const std::map<std::string, std::string> told = {
      {"GPU-1", "its compute mode is left alone, since those before MPS are not known: " + path +
                    " does not say which modes GPUs had; look at nvidia-smi -q -d COMPUTE, set "
                    "what is wrong, then remove the file"}};
  EXPECT_EQ(domains_->mode_problems(), told);
  EXPECT_EQ(ModeOf(1), ComputeMode::kDefault);

  // As the hint has it.
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(domains_->mode_problems(), told);
  ASSERT_TRUE(base::RemoveTree(path).ok());
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(domains_->mode_problems(), (std::map<std::string, std::string>()));
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(Told("compute modes before MPS are known again"), 1);
}

TEST_F(DomainsTest, ModesThatAreKnownAgainArePutBack) {
  const std::string path = std::string(directory_.data()) + "/modes";
  domains_->Want({DomainOf(1)}, ComputeModePolicy::kExclusive);
  UntilReady(1);
  const base::Result<std::string> good = base::ReadFile(path);
  ASSERT_TRUE(good.ok());
  domains_->Want({}, ComputeModePolicy::kUnchanged);
  loop_.RunUntil([&] { return domains_->settled(); });
  SetMode(1, ComputeMode::kExclusiveProcess);
  ASSERT_TRUE(
      base::WriteState({.path = path, .name = "mps-modes", .version = 1}, R"({"gpus": []})").ok());
  NewDomains();
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_EQ(ModeOf(1), ComputeMode::kExclusiveProcess);
  ASSERT_TRUE(base::WriteFile(path, *good, 0600).ok());
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled() && ModeOf(1) == ComputeMode::kDefault; });
}

TEST_F(DomainsTest, TheDirectoryOfAMigDeviceGoesWithItWhenNobodyHoldsIt) {
  service::mps::Domain domain = DomainOf(1);
  domain.name = domain.members[0].uuid = "MIG-1";
  domain.members[0].mig = true;
  const auto there = [this](const std::string& name) {
    return base::Exists(base::JoinPath(machine_.root, name));
  };
  const auto have = [this](std::optional<std::set<std::string>> names) {
    domains_->HaveMigDevices(std::move(names));
    loop_.RunUntil([&] { return domains_->settled(); });
  };
  // Of others, and what earlier agents left.
  for (const char* name : {"GPU-9", "MIG-3", "MIG-4", "MIG-5"})
    ASSERT_TRUE(base::MakeDirectories(base::JoinPath(machine_.root, name) + "/pipe", 0755).ok());
  have({{"MIG-1", "MIG-3"}});
  EXPECT_TRUE(there("MIG-5")) << "before it was looked around";
  holders_.shares = {"MIG-4"};
  domains_->Want({domain}, ComputeModePolicy::kUnchanged);
  UntilReady(1);
  EXPECT_TRUE(there("MIG-1") && there("MIG-3") && there("MIG-4") && there("GPU-9"));
  EXPECT_FALSE(there("MIG-5"));

  // A daemon that runs has its directory, and where something is not known all have.
  have({{"MIG-3"}});
  EXPECT_TRUE(there("MIG-1"));
  have(std::nullopt);
  domains_->Want({}, ComputeModePolicy::kUnchanged);
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_TRUE(there("MIG-1"));
  holders_.complete = false;
  have({{"MIG-3"}});
  EXPECT_TRUE(there("MIG-1"));
  holders_ = {};
  have({{"MIG-3"}});
  EXPECT_FALSE(there("MIG-1") || there("MIG-4"));
  EXPECT_TRUE(there("MIG-3") && there("GPU-9"));
}

// A stopped server makes its daemon silent for as long as a question may take.
TEST_F(DomainsTest, ADaemonThatHangsAtAnAgentsStartHoldsUpNoOther) {
  domains_->Want({DomainOf(1), DomainOf(2)}, ComputeModePolicy::kUnchanged);
  UntilReady(2);
  for (const char* name : {"GPU-1", "GPU-2"}) MakeSocket(name);
  NewDomains();
  runner_->HangAt("GPU-1", "get_default");
  domains_->Want({DomainOf(1), DomainOf(2)}, ComputeModePolicy::kUnchanged);
  loop_.RunUntil([&] { return PhaseOf("GPU-2") == Phase::kReady; });
  UntilHangs();
  EXPECT_EQ(PhaseOf("GPU-1"), Phase::kStarting);
  runner_->GoOn();
  UntilReady(2);
  EXPECT_EQ(runner_->started(), 2U);
}

// It stays exclusive meanwhile, whether or not anybody is in it.
TEST_F(DomainsTest, AModeThatIsNotPutBackForWantOfARunnerIsTold) {
  domains_->Want({DomainOf(1), DomainOf(2)}, ComputeModePolicy::kExclusive);
  UntilReady(2);
  NewDomains();
  runner_->BeAway();
  domains_->Want({DomainOf(2)}, ComputeModePolicy::kExclusive);
  loop_.RunUntil([&] { return !domains_->problem().empty(); });
  EXPECT_EQ(domains_->problem(), "nobody");
  EXPECT_EQ(domains_->mode_problems(),
            (std::map<std::string, std::string>{
                {"GPU-1",
                 "its compute mode is not put back to what it was before MPS: it is not "
                 "known whether its daemon runs; tried again every 5 s"}}));
  // What is wanted meanwhile counts.
  domains_->Want({}, ComputeModePolicy::kExclusive);
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return domains_->mode_problems().size() == 2; });
  runner_->BeAway(false);
  loop_.RunUntil([&] { return !loop_.ArmedTimers().empty(); });
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return domains_->settled() && ModeOf(1) == ComputeMode::kDefault; });
  EXPECT_TRUE(domains_->mode_problems().empty());
  EXPECT_EQ(ModeOf(2), ComputeMode::kDefault);
}

TEST_F(DomainsTest, ADirectoryThatIsNotRemovedIsTriedAgainAndToldOnce) {
  const std::string gone = machine_.root + "/MIG-5", mounted = gone + "/shm";
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0)
    GTEST_SKIP() << "needs the right to mount: run as root";
  ASSERT_TRUE(base::MakeDirectories(mounted, 0755).ok());
  ASSERT_EQ(mount("busy", mounted.c_str(), "tmpfs", 0, nullptr), 0);
  domains_->Want({}, ComputeModePolicy::kUnchanged);
  domains_->HaveMigDevices(std::set<std::string>());
  const auto until_tried = [this] {
    loop_.RunUntil([&] { return domains_->settled() && !loop_.ArmedTimers().empty(); });
  };
  for (int i = 0; i < 3; ++i) {
    until_tried();
    EXPECT_TRUE(base::Exists(gone));
    EXPECT_EQ(Told("whose MIG device is gone is not removed"), i < 2 ? 1 : 2) << "two reasons";
    if (i == 1) ASSERT_EQ(umount(mounted.c_str()), 0);
    if (i == 1) runner_->BeAway();
    if (i < 2) loop_.Advance(seconds(30));
  }
  runner_->BeAway(false);
  loop_.Advance(seconds(30));
  loop_.RunUntil([&] { return domains_->settled(); });
  EXPECT_FALSE(base::Exists(gone));
}

TEST_F(DomainsTest, AllAreToldToStopBeforeOneIsWaitedFor) {
  domains_->Want({DomainOf(1), DomainOf(2)}, ComputeModePolicy::kUnchanged);
  UntilReady(2);
  loop_.RunUntil([&] { return loop_.ArmedTimers().size() == 2; });
  const int before = runner_->asked("get_server_list");
  runner_->HangTogether(2);
  loop_.Advance(seconds(30));
  while (runner_->asked("get_server_list") < before + 2) std::this_thread::yield();
  domains_.reset();
}

}  // namespace
}  // namespace partita::agent::mps
