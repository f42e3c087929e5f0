#include "agent/mps/servers.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "agent/mps/known_process.h"
#include "agent/mps/testing/programs.h"
#include "base/files.h"

namespace partita::agent::mps {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr const char* kServerProgram = "nvidia-cuda-mps-server";

// Pods' programs that say they are servers of this domain, and do not listen to SIGTERM.
class ServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    directories_ = service::mps::DirectoriesOf(directory_.data(), "GPU-1");
    program_ = testing::MakeProgram(directory_.data(), kServerProgram);
    variable_ = "CUDA_MPS_PIPE_DIRECTORY=" + directories_.pipe;
  }
  void TearDown() override {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
  }
  // In a child.
  [[noreturn]] void BeDeafServer() {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, nullptr);
    std::array<char*, 2> environment = {variable_.data(), nullptr};
    execle(program_.c_str(), kServerProgram, "1000", nullptr, environment.data());
    _exit(127);
  }
  void Await(pid_t pid) {
    pids_.push_back(pid);
    EXPECT_TRUE(testing::AwaitProgram(pid, kServerProgram));
  }
  void StartDeaf() {
    const pid_t pid = fork();
    if (pid == 0) BeDeafServer();
    Await(pid);
  }
  // The first of a namespace of its own, as that of a container. False: this machine permits none.
  bool StartInAnotherNamespace() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t between = fork();
    if (between == 0) {
      pid_t first = -1;
      if (unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0) first = fork();
      if (first == 0) BeDeafServer();
      _exit(write(ends[1], &first, sizeof(first)) == sizeof(first) ? 0 : 1);
    }
    pid_t first = -1;
    EXPECT_EQ(read(ends[0], &first, sizeof(first)), static_cast<ssize_t>(sizeof(first)));
    EXPECT_EQ(waitpid(between, nullptr, 0), between);
    for (const int end : ends) close(end);
    if (first <= 0) return false;
    Await(first);
    return true;
  }
  static bool HasTermWaiting(pid_t pid) {
    const auto status = base::ReadFile("/proc/" + std::to_string(pid) + "/status");
    constexpr std::string_view kField = "ShdPnd:\t";
    const std::size_t at = status.ok() ? status->find(kField) : std::string::npos;
    if (at == std::string::npos) return false;
    const auto mask = std::stoull(status->substr(at + kField.size()), nullptr, 16);
    return (mask >> (SIGTERM - 1) & 1U) != 0;
  }
  [[nodiscard]] bool AllHaveTermWaiting() const {
    return std::all_of(pids_.begin(), pids_.end(), HasTermWaiting);
  }
  base::Result<void> End(Patience patience) {
    return EndServersLeft(directories_, "GPU-1", stop_, patience);
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  service::mps::Directories directories_;
  std::string program_, variable_;
  std::vector<pid_t> pids_;
  std::atomic<bool> stop_ = false;
};

TEST_F(ServersTest, AreToldToEndTogether) {
  for (int i = 0; i < 3; ++i) StartDeaf();
  // Only one that is told before another has ended is told at all.
  base::Result<void> end;
  std::thread ending([&] {
    end = End({.silent = milliseconds(0), .after_term = hours(1), .after_kill = hours(1)});
  });
  for (int i = 0; i < 10'000 && !AllHaveTermWaiting(); ++i) (void)poll(nullptr, 0, 1);
  EXPECT_TRUE(AllHaveTermWaiting());
  for (const pid_t pid : pids_) kill(pid, SIGKILL);
  ending.join();
  EXPECT_TRUE(end.ok());
}

TEST_F(ServersTest, AreKilledWhereTheyDoNotListen) {
  for (int i = 0; i < 3; ++i) StartDeaf();
  EXPECT_TRUE(
      End({.silent = milliseconds(0), .after_term = milliseconds(0), .after_kill = hours(1)}).ok());
  for (const pid_t pid : pids_) EXPECT_EQ(kill(pid, 0), -1) << pid;
}

// A process that is stuck in a driver has its memory locked: who reads a command line waits for it.
TEST_F(ServersTest, AreThoseOnlyThatTheKernelCallsSo) {
  StartDeaf();
  EXPECT_TRUE(OpenServer(model::Pid(pids_[0]), directories_).ok());
  program_ = "/bin/sleep";
  StartDeaf();
  EXPECT_FALSE(OpenServer(model::Pid(pids_[1]), directories_).ok());
}

TEST_F(ServersTest, OfAnotherPidNamespaceAreNone) {
  if (!StartInAnotherNamespace()) GTEST_SKIP() << "no PID namespace is to be had";
  EXPECT_FALSE(OpenServer(model::Pid(pids_[0]), directories_).ok());
  EXPECT_TRUE(
      End({.silent = milliseconds(0), .after_term = milliseconds(0), .after_kill = hours(1)}).ok());
  EXPECT_TRUE(OpenProgram(model::Pid(pids_[0]), kServerProgram).ok()) << "it was ended";
}

}  // namespace
}  // namespace partita::agent::mps
