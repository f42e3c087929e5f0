#include "kube/conditions.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::kube {
namespace {

base::Value NodeWith(const std::string& conditions) {
  auto node = base::ParseJson(R"({"status":{"conditions":)" + conditions + "}}");
  PARTITA_CHECK(node.ok());
  return *node;
}

constexpr base::Clock::Wall kNow{std::chrono::sys_days{std::chrono::January / 2 / 2026}};

TEST(Conditions, OneIsThereWhenItSaysTheSame) {
  const Condition wanted{"a/B", "True", "Fine", "all is well"};
  const auto has = [&](const std::string& conditions) {
    return HasCondition(NodeWith(conditions), wanted);
  };
  EXPECT_TRUE(has(R"([{"type":"Ready"},
      {"type":"a/B","status":"True","reason":"Fine","message":"all is well","lastHeartbeatTime":"x"}])"));
  EXPECT_FALSE(has("[]"));
  EXPECT_FALSE(has("null"));
  EXPECT_FALSE(has(R"([{"type":"a/B","status":"False","reason":"Fine","message":"all is well"}])"));
  EXPECT_FALSE(has(R"([{"type":"a/B","status":"True","reason":"Other","message":"all is well"}])"));
  EXPECT_FALSE(has(R"([{"type":"a/B","status":"True","reason":"Fine"}])"));
  EXPECT_FALSE(HasCondition(base::Value(), wanted));
  EXPECT_TRUE(HasCondition(NodeWith(R"([{"type":"a/B","status":"True","reason":"Fine"}])"),
                           {"a/B", "True", "Fine", ""}));
}

TEST(Conditions, APatchHasOursAndTheTimeOfTheirTransition) {
  const std::vector<Condition> wanted = {{"a/B", "True", "Fine", "m"},
                                         {"a/C", "False", "Bad", "n"}};
  const base::Value node = NodeWith(
      R"([{"type":"a/B","status":"True","reason":"Old","lastTransitionTime":"2025-01-01T00:00:00Z"},
          {"type":"a/C","status":"True"},{"type":"Ready","status":"True"}])");
  EXPECT_EQ(
      ToJsonLine(ConditionsPatch(node, wanted, kNow)),
      R"({"status":{"conditions":[)"
      R"({"type":"a/B","status":"True","reason":"Fine","message":"m","lastHeartbeatTime":"2026-01-02T00:00:00Z"},)"
      R"({"type":"a/C","status":"False","reason":"Bad","message":"n","lastHeartbeatTime":"2026-01-02T00:00:00Z",)"
      R"("lastTransitionTime":"2026-01-02T00:00:00Z"}]}})");
}

}  // namespace
}  // namespace partita::kube
