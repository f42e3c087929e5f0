#include "agent/mps/runner_choice.h"

#include <gtest/gtest.h>

namespace partita::agent::mps {
namespace {

std::string Chosen(const std::string& word, bool in_container, bool under_systemd) {
  const base::Result<RunnerKind> kind = ChooseRunner(word, in_container, under_systemd);
  if (!kind.ok()) return kind.error().ToString();
  if (*kind == RunnerKind::kPod) return "pod";
  return *kind == RunnerKind::kChild ? "child" : "systemd";
}

TEST(ChooseRunner, SystemdWhereItRunsTheMachine) {
  EXPECT_EQ(Chosen("auto", false, true), "systemd");
  EXPECT_EQ(Chosen("systemd", false, true), "systemd");
  EXPECT_EQ(Chosen("child", false, true), "child");
  EXPECT_EQ(Chosen("child", false, false), "child");
}

TEST(ChooseRunner, TheOneInAPodWhereverTheAgentIs) {
  EXPECT_EQ(Chosen("pod", true, true), "pod");
  EXPECT_EQ(Chosen("pod", false, false), "pod");
}

TEST(ChooseRunner, ElseItSaysWhatToSet) {
  EXPECT_EQ(Chosen("auto", false, false),
            "systemd does not run this machine, and so nobody keeps MPS daemons over the agent's "
            "end: set mps.runner: child to have them as its processes");
  EXPECT_EQ(Chosen("systemd", false, false),
            "mps.runner is systemd, and systemd does not run this machine: set mps.runner: child");
  EXPECT_EQ(Chosen("off", false, true),
            "sharing.mps needs a runner of daemons, and mps.runner is off: set it to auto");
}

TEST(ChooseRunner, AContainerIsNoPlaceForDaemons) {
  for (const char* word : {"auto", "systemd", "child"}) {
    EXPECT_EQ(Chosen(word, true, true),
              "an agent in a container does not run MPS daemons itself: install partita's chart "
              "with mps.enabled, which sets mps.runner: pod; or run the agent on the host");
  }
}

}  // namespace
}  // namespace partita::agent::mps
