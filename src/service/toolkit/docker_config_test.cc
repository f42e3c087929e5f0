#include <gtest/gtest.h>

#include "service/toolkit/engine.h"

namespace partita::service::toolkit {
namespace {

ConfigureOrder DockerOrder() {
  return {.runtime_path = "nvidia-container-runtime", .config = "/etc/docker/daemon.json"};
}

std::string DaemonFileAfter(const std::optional<std::string>& before, const ConfigureOrder& order) {
  const base::Result<EnginePlan> plan = PlanDocker(before, order);
  if (!plan.ok()) return plan.error().ToString();
  if (plan->changes.empty()) return before.value_or("absent");
  EXPECT_EQ(plan->changes.size(), 1U);
  EXPECT_EQ(plan->changes[0].path, "/etc/docker/daemon.json");
  EXPECT_EQ(plan->changes[0].before, before);
  return plan->changes[0].after.value_or("removed");
}

constexpr std::string_view kFresh =
    "{\n"
    "    \"runtimes\": {\n"
    "        \"nvidia\": {\n"
    "            \"path\": \"nvidia-container-runtime\",\n"
    "            \"args\": []\n"
    "        }\n"
    "    }\n"
    "}\n";

TEST(Docker, MakesAFile) {
  EXPECT_EQ(DaemonFileAfter(std::nullopt, DockerOrder()), kFresh);
  EXPECT_EQ(DaemonFileAfter("", DockerOrder()), kFresh);
  EXPECT_EQ(DaemonFileAfter(" \n", DockerOrder()), kFresh);
}

TEST(Docker, MergesFeatures) {
  ConfigureOrder order = DockerOrder();
  order.enable_cdi = true;
  order.set_as_default = true;
  EXPECT_EQ(DaemonFileAfter("{\n  \"features\": {\"buildkit\": true}\n}\n", order),
            "{\n"
            "  \"features\": {\"buildkit\": true, \"cdi\": true},\n"
            "  \"runtimes\": {\n"
            "    \"nvidia\": {\n"
            "      \"path\": \"nvidia-container-runtime\",\n"
            "      \"args\": []\n"
            "    }\n"
            "  },\n"
            "  \"default-runtime\": \"nvidia\"\n"
            "}\n");
}

TEST(Docker, SecondRunIsNoChange) {
  for (const bool everything : {false, true}) {
    ConfigureOrder order = DockerOrder();
    order.set_as_default = order.enable_cdi = everything;
    const std::string once = DaemonFileAfter("{\"log-driver\": \"journald\"}", order);
    const base::Result<EnginePlan> again = PlanDocker(once, order);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->changes.empty());
  }
}

TEST(Docker, AnotherDefaultStays) {
  EXPECT_EQ(DaemonFileAfter("{\"default-runtime\": \"crun\"}", DockerOrder()),
            "{\"default-runtime\": \"crun\", "
            "\"runtimes\": {\"nvidia\":{\"path\":\"nvidia-container-runtime\",\"args\":[]}}}");
}

TEST(Docker, ArgumentsOfTheRuntimeStay) {
  EXPECT_EQ(DaemonFileAfter("{\"runtimes\": {\"nvidia\": {\"path\": \"/usr/bin/x\", "
                            "\"runtimeArgs\": [\"--a\"]}}}",
                            DockerOrder()),
            "{\"runtimes\": {\"nvidia\": {\"path\": \"nvidia-container-runtime\", "
            "\"runtimeArgs\": [\"--a\"]}}}");
}

TEST(Docker, TheMarkInFrontStays) {
  const std::string after = DaemonFileAfter("\xEF\xBB\xBF{}", DockerOrder());
  EXPECT_TRUE(after.starts_with("\xEF\xBB\xBF{\n    \"runtimes\""));
}

// Edited since: what every key was comes back.
std::string Undone(const std::string& before, ConfigureOrder order, const std::string& more) {
  base::Result<EnginePlan> plan = PlanDocker(before, order);
  EXPECT_TRUE(plan.ok());
  EngineMemory memory;
  memory.config = plan->changes[0].memory;
  memory.config.written = true;
  order.undo = true;
  plan = PlanDocker(*plan->changes[0].after + more, order, memory);
  EXPECT_TRUE(plan.ok());
  return plan->changes.empty() ? "unchanged" : plan->changes[0].after.value_or("absent");
}

TEST(Docker, PutsItsKeysBack) {
  ConfigureOrder order = DockerOrder();
  order.set_as_default = order.enable_cdi = true;
  for (const char* text :
       {"{}\n", "{\"runtimes\": {}, \"features\": {}}",
        "{\"default-runtime\": \"runc\", \"runtimes\": {\"kata\": {\"path\": \"k\"}}}",
        "{\"runtimes\": {\"nvidia\": {\"path\" : \"n\"}}, \"features\": {\"cdi\":  false}}"}) {
    EXPECT_EQ(Undone(text, order, "\n"), text + std::string("\n"));
  }
}

TEST(Docker, UndoLeavesWhatSomebodyChangedSince) {
  ConfigureOrder order = DockerOrder();
  order.set_as_default = true;
  const std::string text = "{\"default-runtime\": \"kata\"}";
  const base::Result<EnginePlan> plan = PlanDocker(text, order);
  ASSERT_TRUE(plan.ok());
  std::string edited = *plan->changes[0].after;
  edited.replace(edited.find("\"nvidia\""), 8, "\"crun\"");
  EngineMemory memory;
  memory.config = plan->changes[0].memory;
  memory.config.written = true;
  order.undo = true;
  const base::Result<EnginePlan> undone = PlanDocker(edited, order, memory);
  ASSERT_TRUE(undone.ok());
  ASSERT_EQ(undone->changes.size(), 1U);
  EXPECT_EQ(undone->changes[0].after, "{\"default-runtime\": \"crun\"}");
}

TEST(Docker, UndoLeavesWhatWasNeverOurs) {
  ConfigureOrder order = DockerOrder();
  order.undo = true;
  const base::Result<EnginePlan> plan = PlanDocker(std::string(kFresh), order);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->changes.empty());
  EXPECT_EQ(plan->notes.size(), 1U);
  EXPECT_EQ(DaemonFileAfter(std::nullopt, order), "absent");
  EXPECT_EQ(DaemonFileAfter("", order), "");
}

TEST(Docker, ABadFileIsAnError) {
  EXPECT_EQ(DaemonFileAfter("{\"a\": 1,}", DockerOrder()),
            "/etc/docker/daemon.json: no valid JSON at byte 8: a key in quotes is expected");
  EXPECT_EQ(DaemonFileAfter("[]", DockerOrder()),
            "/etc/docker/daemon.json: the document is no map");
  EXPECT_EQ(DaemonFileAfter("{\"runtimes\": []}", DockerOrder()),
            "/etc/docker/daemon.json: runtimes is no map, so runtimes.nvidia cannot be set in it");
  EXPECT_EQ(PlanDocker("[]", DockerOrder()).error().code(), base::ErrorCode::kInvalid);
}

TEST(Docker, NamesAndPathsAreChecked) {
  ConfigureOrder order = DockerOrder();
  order.runtime_name = "a/b";
  EXPECT_EQ(DaemonFileAfter("{}", order), "\"a/b\" cannot be a runtime's name");
  order.runtime_name = "runc";
  EXPECT_EQ(DaemonFileAfter("{}", order),
            "the runtime runc is the engine's own and stays what it is");
  order = DockerOrder();
  order.runtime_path = "bin/x";
  EXPECT_EQ(DaemonFileAfter("{}", order), "\"bin/x\" is no path that begins with \"/\"");
  order = DockerOrder();
  order.drop_in = "/x";
  EXPECT_EQ(DaemonFileAfter("{}", order), "docker reads one file and no drop-in files");
}

}  // namespace
}  // namespace partita::service::toolkit
