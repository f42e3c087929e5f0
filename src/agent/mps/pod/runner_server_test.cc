#include "agent/mps/pod/runner_server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "agent/mps/daemon.h"
#include "agent/mps/domain_files.h"
#include "agent/mps/known_process.h"
#include "agent/mps/pod/pod_runner.h"
#include "agent/mps/pod/requests.h"
#include "agent/mps/testing/held_socket.h"
#include "agent/mps/testing/scripted_runner.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::mps::pod {
namespace {

using std::chrono::milliseconds;

// `tail -f` stays, and `tail` says what it was told: with NVIDIA's name it is a daemon, and what
// talks to one.
class RunnerServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<char, 32> directory = {"/tmp/partita-mps.XXXXXX"};
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    work_ = directory.data();
    ASSERT_TRUE(base::WriteFile(Program(), base::ReadFile("/usr/bin/tail").value(), 0755).ok());
    ASSERT_TRUE(
        PrepareDirectories({.root = Root(), .boot_id = "", .runner = nullptr}, "GPU-1").ok());
  }
  void TearDown() override {
    StopServer();
    EXPECT_TRUE(base::RemoveTree(work_).ok());
  }

  void StartServer(const std::string& program) {
    server_ = std::make_unique<RunnerServer>(
        *loop_, log_, RunnerOptions{.root = Root(), .socket = Socket(), .find_program = [program] {
                                      return base::Result<std::string>(program);
                                    }});
    ASSERT_TRUE(server_->Listen().ok());
    thread_ = std::thread([this] { loop_->Run(); });
  }
  void StopServer() {
    if (!thread_.joinable()) return;
    loop_->Stop();
    thread_.join();
    server_.reset();
  }

  [[nodiscard]] Launch GoodLaunch() const {
    service::mps::Domain domain;
    domain.name = "GPU-1";
    domain.members.resize(1);
    domain.members[0].uuid = "GPU-1";
    return {.domain = "GPU-1",
            .arguments = {"-f"},
            .environment = service::mps::EnvironmentOf(domain, Directories()),
            .output = LogFile(Directories())};
  }
  [[nodiscard]] std::string Root() const { return work_ + "/mps"; }
  [[nodiscard]] std::string Socket() const { return work_ + "/mps.sock"; }
  [[nodiscard]] std::string Program() const { return work_ + "/nvidia-cuda-mps-control"; }
  [[nodiscard]] service::mps::Directories Directories() const {
    return service::mps::DirectoriesOf(Root(), "GPU-1");
  }

  std::string work_;
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  base::SystemClock clock_;
  base::Log log_{clock_, base::StandardErrorSink()};
  std::atomic<bool> stop_ = false;
  std::unique_ptr<RunnerServer> server_;
  std::thread thread_;
};

TEST_F(RunnerServerTest, NobodyThereIsToldWithWhatToDo) {
  PodRunner runner(Socket());
  const std::string why = "no MPS runner answers at " + Socket() +
                          ": see to its pod, which the chart has with mps.enabled=true, or start "
                          "`partita mps-runner`";
  EXPECT_EQ(runner.Reachable().error().ToString(), why);
  EXPECT_EQ(runner.Start(GoodLaunch(), stop_).error().ToString(), why);
  EXPECT_EQ(runner.Ask(Directories(), "quit", nullptr).error().ToString(), why);
  StartServer(Program());
  EXPECT_TRUE(runner.Reachable().ok());
}

TEST_F(RunnerServerTest, ItsDaemonsOutliveItAndAreWaitedFor) {
  StartServer(Program());
  struct stat about {};
  ASSERT_EQ(stat(Socket().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600);
  PodRunner runner(Socket());
  const base::Result<model::Pid> first = runner.Start(GoodLaunch(), stop_);
  ASSERT_TRUE(first.ok()) << first.error().ToString();
  const base::Result<model::Pid> second = runner.Start(GoodLaunch(), stop_);
  ASSERT_TRUE(second.ok()) << second.error().ToString();
  EXPECT_TRUE(base::Exists(Directories().log + "/control.log"));
  const base::Result<std::string> environment =
      base::ReadFile("/proc/" + std::to_string(first->value()) + "/environ");
  EXPECT_NE(environment->find("PATH=" + work_ + ":/usr/bin:/bin"), std::string::npos);

  // Whoever is its child in this test is so in the runner: it is gone only if somebody waited.
  kill(static_cast<pid_t>(first->value()), SIGKILL);
  while (kill(static_cast<pid_t>(first->value()), 0) == 0) std::this_thread::yield();
  StopServer();
  EXPECT_FALSE(base::Exists(Socket()));
  const base::Result<base::UniqueFd> process = OpenProgram(*second, "nvidia-cuda-mps-control");
  ASSERT_TRUE(process.ok()) << process.error().ToString();
  Signal(process->get(), SIGKILL);
  EXPECT_TRUE(WaitForEnd(process->get(), std::chrono::seconds(30)));
}

TEST_F(RunnerServerTest, CarriesACommandAndItsAnswer) {
  StartServer(Program());
  const PodRunner runner(Socket());
  EXPECT_EQ(runner.Ask(Directories(), "get_server_list", &stop_).value(), "get_server_list\n");
  EXPECT_EQ(runner.Ask(Directories(), "ps", &stop_).error().ToString(),
            "the MPS runner does not take \"ps\" as command");
}

TEST_F(RunnerServerTest, AProgramThatIsAnotherIsEnded) {
  ASSERT_EQ(rename(Program().c_str(), (work_ + "/other").c_str()), 0);
  StartServer(work_ + "/other");
  PodRunner runner(Socket());
  EXPECT_FALSE(runner.Start(GoodLaunch(), stop_).ok());
  // Nothing of it is left to be waited for.
  StopServer();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RunnerServerTest, ASocketThatIsGoneIsThereAgainWithinHalfAMinute) {
  net::testing::FakeLoop loop;
  base::Log log(loop.clock(), [](std::string_view) {});
  RunnerServer server(loop, log, {.root = Root(), .socket = Socket(), .find_program = [this] {
                                    return base::Result<std::string>(Program());
                                  }});
  ASSERT_TRUE(server.Listen().ok());
  ASSERT_EQ(unlink(Socket().c_str()), 0);
  loop.Advance(std::chrono::seconds(30));
  EXPECT_TRUE(base::Exists(Socket()));
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat(Socket().c_str(), &before), 0);
  loop.Advance(std::chrono::seconds(30));
  ASSERT_EQ(stat(Socket().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

// A runner that was stopped, as a debugger does it: connections are taken for it.
TEST_F(RunnerServerTest, OneThatIsAwayOrNeverAnswersSaysNothingOfADaemon) {
  const pid_t server = mps::testing::StartServer(Directories());
  // One that listens, and of which no record tells.
  const base::UniqueFd socket = mps::testing::HoldSocket(Directories().pipe + "/control");
  const Machine machine{.root = Root(),
                        .boot_id = "boot",
                        .runner = std::make_shared<PodRunner>(Socket(), milliseconds(1))};
  std::unique_ptr<net::Listener> stopped;
  for (const char* why : {"no MPS runner answers at ", "the MPS runner does not answer"}) {
    const auto faulty = FindFaulty(machine, "GPU-1", Fault::kMaybe, stop_);
    ASSERT_FALSE(faulty.ok());
    EXPECT_EQ(faulty.error().code(), base::ErrorCode::kIo);
    EXPECT_EQ(faulty.error().ToString().find(why), 0U) << faulty.error().ToString();
    const auto end = StopDaemon(machine, "GPU-1", Stopping::kForGood, stop_);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error(), faulty.error());
    EXPECT_EQ(waitpid(server, nullptr, WNOHANG), 0) << "its server was ended";
    if (stopped) break;
    auto listener = net::Listener::Open({base::ListenAddress::Kind::kUnix, "", 0, Socket()}, 0600);
    ASSERT_TRUE(listener.ok());
    stopped = *std::move(listener);
  }
  kill(server, SIGKILL);
  EXPECT_EQ(waitpid(server, nullptr, 0), server);
}

// What it says of a daemon is passed on as it is.
TEST_F(RunnerServerTest, ADaemonThatIsSilentIsToldAsSuch) {
  control::Server server(*loop_, log_, "the MPS runner");
  std::atomic<base::ErrorCode> code = base::ErrorCode::kTimeout;
  server.Register(std::string(kAsk), [&](const std::shared_ptr<control::Call>& call) {
    call->Finish(base::Error(code, "the daemon's"));
  });
  ASSERT_TRUE(server.Listen(Socket()).ok());
  thread_ = std::thread([this] { loop_->Run(); });
  const PodRunner runner(Socket());
  for (const auto next : {base::ErrorCode::kTimeout, base::ErrorCode::kUnavailable}) {
    code = next;
    EXPECT_EQ(runner.Ask(Directories(), "get_server_list", &stop_).error(),
              base::Error(next, "the daemon's"));
  }
  // Its own end is another thing.
  std::shared_ptr<control::Call> kept;
  server.Register(std::string(kAsk), [&](std::shared_ptr<control::Call> call) {
    kept = std::move(call);
    loop_->Post([&] { server.Stop(); });
  });
  const base::Error gone = runner.Ask(Directories(), "get_server_list", &stop_).error();
  EXPECT_EQ(gone.ToString(), "the MPS runner went away without an answer");
  EXPECT_EQ(gone.code(), base::ErrorCode::kIo);
  StopServer();
}

// Whoever listens and says nothing costs no more than a flag.
TEST_F(RunnerServerTest, AWaitEndsWhenItIsToldTo) {
  auto listener = net::Listener::Open({base::ListenAddress::Kind::kUnix, "", 0, Socket()}, 0600);
  ASSERT_TRUE(listener.ok());
  PodRunner runner(Socket());
  stop_ = true;
  EXPECT_EQ(runner.Start(GoodLaunch(), stop_).error().code(), base::ErrorCode::kTimeout);
  EXPECT_EQ(runner.Ask(Directories(), "quit", &stop_).error().ToString(),
            "the wait for the MPS runner was ended");
  runner.Abandon();
  EXPECT_EQ(runner.MountShm(Directories().shm).error().code(), base::ErrorCode::kTimeout);
  runner.UnmountShm(Directories().shm);
}

}  // namespace
}  // namespace partita::agent::mps::pod
