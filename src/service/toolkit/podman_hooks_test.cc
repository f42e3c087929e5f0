#include <gtest/gtest.h>

#include "service/toolkit/engine.h"

namespace partita::service::toolkit {
namespace {

ConfigureOrder PodmanOrder(std::string hook) {
  return {.runtime_path = std::move(hook), .config = "/h/oci-nvidia-hook.json"};
}

TEST(Podman, PathHasHookFolder) {
  const base::Result<EnginePlan> plan = PlanPodman(std::nullopt, PodmanOrder("/opt/x/hook"));
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->changes.size(), 1U);
  EXPECT_EQ(*plan->changes[0].after, R"({
  "version": "1.0.0",
  "hook": {
    "path": "/opt/x/hook",
    "args": [
      "hook",
      "prestart"
    ],
    "env": [
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/x"
    ]
  },
  "when": {
    "always": true,
    "commands": [
      ".*"
    ]
  },
  "stages": [
    "prestart"
  ]
}
)");
  const base::Result<EnginePlan> usual =
      PlanPodman(std::nullopt, PodmanOrder("/usr/bin/nvidia-container-runtime-hook"));
  EXPECT_NE(usual->changes[0].after->find(":/sbin:/bin\""), std::string::npos);
}

TEST(Podman, SecondRunIsNoChange) {
  const base::Result<EnginePlan> once = PlanPodman("{}", PodmanOrder("/opt/x/hook"));
  ASSERT_TRUE(once.ok());
  const base::Result<EnginePlan> again =
      PlanPodman(once->changes[0].after, PodmanOrder("/opt/x/hook"));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->changes.empty());
}

TEST(Podman, UndoRemovesTheFile) {
  ConfigureOrder order = PodmanOrder("");
  order.undo = true;
  EngineMemory memory;
  EXPECT_TRUE(PlanPodman("{}", order, memory)->changes.empty());
  memory.config = {.written = true, .created = true};
  base::Result<EnginePlan> plan = PlanPodman("{}", order, memory);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->changes.size(), 1U);
  EXPECT_EQ(plan->changes[0].after, std::nullopt);
  memory.config = {.written = true, .original = "{ }"};
  plan = PlanPodman("{}", order, memory);
  ASSERT_EQ(plan->changes.size(), 1U);
  EXPECT_EQ(plan->changes[0].after, "{ }");
  EXPECT_TRUE(PlanPodman(std::nullopt, order)->changes.empty());
}

TEST(Podman, HasNoDefaultAndNoSwitch) {
  ConfigureOrder order = PodmanOrder("/opt/x/hook");
  order.set_as_default = true;
  EXPECT_FALSE(PlanPodman(std::nullopt, order).ok());
  EXPECT_FALSE(PlanPodman(std::nullopt, PodmanOrder("hook")).ok());
}

}  // namespace
}  // namespace partita::service::toolkit
