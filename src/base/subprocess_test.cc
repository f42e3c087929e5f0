#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/unique_fd.h"

namespace partita::base {
namespace {

using std::chrono::milliseconds;

SubprocessResult RunOrFail(const Subprocess& subprocess) {
  Result<SubprocessResult> result = base::Run(subprocess);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.ok() ? *std::move(result) : SubprocessResult{};
}

Subprocess Shell(const std::string& script) {
  Subprocess subprocess;
  subprocess.arguments = {"/bin/sh", "-c", script};
  return subprocess;
}

TEST(SubprocessTest, PassesArgumentsWithoutAShell) {
  Subprocess subprocess;
  subprocess.arguments = {"printf", "%s|", "a b", "$HOME", "`id`", "*", ""};
  const SubprocessResult result = RunOrFail(subprocess);
  EXPECT_TRUE(result.Succeeded());
  EXPECT_EQ(result.output, "a b|$HOME|`id`|*||");
}

TEST(SubprocessTest, KeepsOutputAndErrorsInOrder) {
  const SubprocessResult result = RunOrFail(Shell("echo one; echo two >&2; echo three; exit 3"));
  EXPECT_EQ(result.output, "one\ntwo\nthree\n");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.Succeeded());
  EXPECT_EQ(result.Describe(), "ended with status 3");
}

TEST(SubprocessTest, SaysWhichSignalEndedIt) {
  const SubprocessResult result = RunOrFail(Shell("kill -TERM $$"));
  EXPECT_EQ(result.exit_status, -1);
  EXPECT_EQ(result.Describe(), "was killed by signal 15");
}

TEST(SubprocessTest, HasExactlyTheEnvironmentThatIsGiven) {
  setenv("PARTITA_SUBPROCESS_TEST", "inherited", 1);
  Subprocess subprocess;
  subprocess.arguments = {"/usr/bin/env"};
  subprocess.environment = {{"ONLY=this", "EMPTY="}};
  EXPECT_EQ(RunOrFail(subprocess).output, "ONLY=this\nEMPTY=\n");
  EXPECT_EQ(RunOrFail(Shell("echo $PARTITA_SUBPROCESS_TEST")).output, "inherited\n");
  unsetenv("PARTITA_SUBPROCESS_TEST");
}

TEST(SubprocessTest, RunsWhereItIsTold) {
  Subprocess subprocess = Shell("pwd");
  subprocess.directory = "/usr";
  EXPECT_EQ(RunOrFail(subprocess).output, "/usr\n");
}

TEST(SubprocessTest, InheritsNoDescriptorAndReadsNothing) {
  // Without close-on-exec, as a driver's library may open its nodes.
  const int leaked = dup(STDOUT_FILENO);
  const SubprocessResult result =
      RunOrFail(Shell("cat; for fd in /proc/self/fd/*; do echo "
                      "${fd##*/}; done | sort -n | tail -1"));
  close(leaked);
  // The shell's own glob has one directory open.
  EXPECT_EQ(result.output, "3\n");
}

TEST(SubprocessTest, ReadsItsInputAndThenTheEnd) {
  Subprocess subprocess = Shell("cat; echo end");
  subprocess.input = std::string(kMostInput - 1, 'x') + "\n";
  EXPECT_EQ(RunOrFail(subprocess).output, subprocess.input + "end\n");
}

// It leads a session, reads nothing, inherits no descriptor, and adds to its file.
TEST(SubprocessTest, ADetachedProgramHasASessionOfItsOwn) {
  std::array<char, 32> directory = {"/tmp/partita-base.XXXXXX"};
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string output = std::string(directory.data()) + "/log";
  ASSERT_TRUE(WriteFile(output, "before\n", 0644).ok());
  const UniqueFd ours(open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  const Result<pid_t> pid = StartDetached(
      {.arguments = {"/bin/sh", "-c",
                     "read line; read pid name state parent group session rest </proc/self/stat; "
                     "[ $session = $$ ] && echo leads; ls /proc/$$/fd; "  // no pipe of its own
                     "pwd; env | grep ONLY; echo error >&2"},
       .environment = {"ONLY=this", "PATH=/usr/bin:/bin"},
       .output = output});
  ASSERT_TRUE(pid.ok()) << pid.error().ToString();
  int status = -1;
  ASSERT_EQ(waitpid(*pid, &status, 0), *pid);
  EXPECT_EQ(ReadFile(output).value(), "before\nleads\n0\n1\n2\n/\nONLY=this\nerror\n");
  EXPECT_TRUE(RemoveTree(directory.data()).ok());
}

TEST(SubprocessTest, SaysWhyADetachedProgramDoesNotStart) {
  const Result<pid_t> pid =
      StartDetached({.arguments = {"/nowhere/program"}, .environment = {}, .output = "/dev/null"});
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(pid.error().ToString(), "run /nowhere/program: No such file or directory (errno 2)");
  EXPECT_EQ(pid.error().code(), ErrorCode::kNotFound);
}

TEST(SubprocessTest, EndsWhatTakesTooLongWithItsChildren) {
  Subprocess subprocess = Shell("echo begun; sleep 1000 & wait");
  subprocess.limit = milliseconds(200);
  const SubprocessResult result = RunOrFail(subprocess);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.Succeeded());
  EXPECT_EQ(result.output, "begun\n");
  EXPECT_EQ(result.Describe(), "took longer than 0.2 s and was killed");
}

TEST(SubprocessTest, StopsWhenItIsTold) {
  std::atomic<bool> stop = false;
  Subprocess subprocess = Shell("trap 'echo tidied; exit 3' TERM; echo begun; sleep 1000 & wait");
  subprocess.stop = &stop;
  std::thread stopping([&] { stop = true; });
  const SubprocessResult result = RunOrFail(subprocess);
  stopping.join();
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.Succeeded());
  EXPECT_EQ(result.Describe(), "was stopped");
}

TEST(SubprocessTest, DoesNotCallItStoppedWhenItEndsByItself) {
  const std::atomic<bool> stop = false;
  Subprocess subprocess = Shell("exit 0");
  subprocess.stop = &stop;
  EXPECT_TRUE(RunOrFail(subprocess).Succeeded());
}

bool IsAlive(pid_t pid) {
  // A process that was killed may stay as a zombie where nobody waits for orphans.
  const Result<std::string> status = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return status.ok() && status->find(") Z ") == std::string::npos;
}

TEST(SubprocessTest, ChildrenThatDoNotListenEndToo) {
  Subprocess subprocess = Shell("sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & wait");
  subprocess.limit = milliseconds(200);
  const SubprocessResult result = RunOrFail(subprocess);
  EXPECT_TRUE(result.timed_out);
  const pid_t child = static_cast<pid_t>(std::stol(result.output));
  // It was sent SIGKILL, which takes effect when it next runs; its pidfd tells when it has ended.
  const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (ended.valid()) {
    pollfd end{ended.get(), POLLIN, 0};
    ASSERT_EQ(poll(&end, 1, 10'000), 1);
  }
  EXPECT_FALSE(IsAlive(child));
}

TEST(SubprocessTest, DiesWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const std::string script = "exec >/proc/" + std::to_string(getpid()) + "/fd/" +
                               std::to_string(ends[1]) + "; echo $$; exec sleep 1000";
    (void)base::Run(Shell(script));
    _exit(1);
  }
  close(ends[1]);
  std::array<char, 32> line{};
  ASSERT_GT(read(ends[0], line.data(), line.size() - 1), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // The end of the pipe: nobody has it open any more.
  EXPECT_EQ(read(ends[0], line.data(), line.size()), 0);
  close(ends[0]);
}

TEST(SubprocessTest, WorksWhereStandardInputAndOutputWereClosed) {
  const std::array<int, 2> kept = {dup(STDIN_FILENO), dup(STDOUT_FILENO)};
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  const SubprocessResult result = RunOrFail(Shell("cat; echo $?"));
  dup2(kept[0], STDIN_FILENO);
  dup2(kept[1], STDOUT_FILENO);
  for (const int fd : kept) close(fd);
  EXPECT_EQ(result.output, "0\n");
}

// A parent that ignores SIGCHLD hands that on, and the kernel then keeps no status for anybody.
TEST(SubprocessTest, HearsTheStatusWhereSigchldWasIgnored) {
  struct sigaction before {};
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGCHLD, &ignored, &before), 0);
  EXPECT_TRUE(RunOrFail(Shell("exit 0")).Succeeded());
  ignored.sa_handler = SIG_DFL;
  ignored.sa_flags = SA_NOCLDWAIT;
  ASSERT_EQ(sigaction(SIGCHLD, &ignored, nullptr), 0);
  EXPECT_EQ(RunOrFail(Shell("exit 3")).exit_status, 3);
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(SubprocessTest, DoesNotWaitForWhatItsChildLeftBehind) {
  // The pipe stays open in the background process, which the test then ends.
  const SubprocessResult result = RunOrFail(Shell("sleep 1000 & echo $!"));
  EXPECT_TRUE(result.Succeeded());
  const pid_t left = static_cast<pid_t>(std::stol(result.output));
  EXPECT_EQ(kill(left, SIGKILL), 0);
}

TEST(SubprocessTest, KeepsTheEndOfTooMuchOutput) {
  Subprocess subprocess = Shell("i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done");
  subprocess.most_output = 8;
  const SubprocessResult result = RunOrFail(subprocess);
  EXPECT_TRUE(result.Succeeded());
  EXPECT_TRUE(result.cut);
  EXPECT_EQ(result.output, "998\n999\n");
}

TEST(SubprocessTest, SaysWhatCannotBeRun) {
  Subprocess subprocess;
  subprocess.arguments = {"/no/such/program"};
  const Result<SubprocessResult> result = base::Run(subprocess);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(result.error().ToString(), "run /no/such/program: No such file or directory (errno 2)");
}

}  // namespace
}  // namespace partita::base
