#include "service/labels/clearing.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::service::labels {
namespace {

using base::Value;

const Taint kPresent{"nvidia.com/gpu", "present"};

Value ClearedNode(const std::string& managers) {
  return *base::ParseJson(R"({"metadata": {"name": "n1", "resourceVersion": "7",
      "labels": {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.deploy.x": "true", "other": "1"},
      "managedFields": [)" +
                          managers + R"(]},
    "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
    "status": {"conditions": [{"type": "Ready"}, {"type": "partita.dev/GPUConfigApplied"},
                              {"type": 3}]}})");
}
constexpr const char* kApplied =
    R"({"manager": "partita-labels", "operation": "Apply", "fieldsV1": {"f:metadata": {
        "f:labels": {"f:nvidia.com/gpu.count": {}}, "f:annotations": {"f:partita.dev/a": {}}}}})";
constexpr const char* kOthers =
    R"({"manager": "gpu-operator", "operation": "Update", "fieldsV1": {"f:metadata": {
        "f:labels": {"f:nvidia.com/gpu.deploy.x": {}}}, "f:spec": {"f:taints": {}}}})";
constexpr const char* kTainted =
    R"({"manager": "partita-labels", "operation": "Update", "fieldsV1": {"f:spec": {"f:taints": {}}}})";

TEST(ClearingTest, IsWhatOurFieldManagerAppliedAndConditionsByTheirName) {
  const Clearing clearing =
      WhatIsOurs(ClearedNode(std::string(kApplied) + "," + kOthers), kPresent);
  EXPECT_EQ(
      clearing,
      (Clearing{{"nvidia.com/gpu.count"}, {"partita.dev/a"}, {"partita.dev/GPUConfigApplied"}}));
  EXPECT_EQ(ToString(clearing), "1 label, 1 annotation, condition partita.dev/GPUConfigApplied");
}

TEST(ClearingTest, TakesTheTaintOnlyWhereWeHaveWrittenTaints) {
  const Value ours = ClearedNode(std::string(kOthers) + "," + kTainted);
  EXPECT_EQ(WhatIsOurs(ours, kPresent).taint, kPresent);
  EXPECT_EQ(WhatIsOurs(ours, Taint{"nvidia.com/gpu", "other"}).taint, std::nullopt);
  EXPECT_EQ(WhatIsOurs(ours, std::nullopt).taint, std::nullopt);
  EXPECT_EQ(WhatIsOurs(ClearedNode(kOthers), kPresent).taint, std::nullopt) << "somebody else's";
}

TEST(ClearingTest, FindsNothingOnAnObjectThatSaysNothing) {
  EXPECT_TRUE(WhatIsOurs(Value::Map(), kPresent).empty());
  EXPECT_EQ(ToString(Clearing{}), "nothing");
}

TEST(ClearingTest, RemovesConditionsByTypeAlone) {
  EXPECT_EQ(base::ToJsonLine(WithoutConditions({"partita.dev/a"})),
            R"({"status":{"conditions":[{"type":"partita.dev/a","$patch":"delete"}]}})");
}

TEST(ClearingTest, ReadsTaintsAsKubectlWritesThem) {
  EXPECT_EQ(*ReadTaintWord("nvidia.com/gpu=present:NoSchedule"), kPresent);
  EXPECT_EQ(*ReadTaintWord("nvidia.com/gpu=present"), kPresent);
  EXPECT_EQ(*ReadTaintWord("a:NoExecute"), (Taint{"a", "", "NoExecute"}));
  for (const char* wrong : {"", "=x", ":NoSchedule", "a=b:"})
    EXPECT_EQ(ReadTaintWord(wrong).error().code(), base::ErrorCode::kInvalid) << wrong;
}

}  // namespace
}  // namespace partita::service::labels
