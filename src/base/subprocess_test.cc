#include "base/subprocess.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

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

TEST(SubprocessTest, EndsWhatTakesTooLongWithItsChildren) {
  Subprocess subprocess = Shell("echo begun; sleep 1000 & wait");
  subprocess.limit = milliseconds(200);
  const SubprocessResult result = RunOrFail(subprocess);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.Succeeded());
  EXPECT_EQ(result.output, "begun\n");
  EXPECT_EQ(result.Describe(), "took longer than 0.2 s and was killed");
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
