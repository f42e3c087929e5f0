#include "service/labels/taints.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::service::labels {
namespace {

base::Value NodeTainted(const std::string& taints) {
  auto node = base::ParseJson(
      R"({"metadata":{"name":"n","resourceVersion":"7"},"spec":{"taints":)" + taints + "}}");
  PARTITA_CHECK(node.ok());
  return *node;
}

// What the patch sends; "nothing" where there is none.
std::string PatchOf(const std::string& taints, const TaintsWish& wish) {
  const auto patch = TaintsPatch(NodeTainted(taints), wish);
  return patch ? ToJsonLine(*patch) : "nothing";
}
std::string Sends(const std::string& taints) {
  return R"({"metadata":{"resourceVersion":"7"},"spec":{"taints":)" + taints + "}}";
}

const Taint kOurTaint{"nvidia.com/gpu", "present"};
constexpr const char* kThere =
    R"({"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"})";
constexpr const char* kForeign =
    R"({"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"})";

std::string TaintList(const std::string& first, const std::string& second) {
  return "[" + first + "," + second + "]";
}

TEST(Taints, OursIsAddedBesideTheOthers) {
  EXPECT_EQ(PatchOf("null", {.add = kOurTaint}), Sends(std::string("[") + kThere + "]"));
  EXPECT_EQ(PatchOf(std::string("[") + kForeign + "]", {.add = kOurTaint}),
            Sends(TaintList(kForeign, kThere)));
  EXPECT_EQ(PatchOf(std::string("[") + kThere + "]", {.add = kOurTaint}), "nothing");
}

TEST(Taints, ASecondOfTheSameKeyAndEffectIsNone) {
  const std::string other = R"([{"key":"nvidia.com/gpu","value":"mine","effect":"NoSchedule"}])";
  EXPECT_EQ(PatchOf(other, {.add = kOurTaint}), "nothing");
  EXPECT_FALSE(HasTaint(NodeTainted(other), kOurTaint));
  EXPECT_TRUE(HasTaintLike(NodeTainted(other), kOurTaint));
  EXPECT_EQ(PatchOf(R"([{"key":"nvidia.com/gpu","effect":"NoExecute"}])", {.add = kOurTaint}),
            Sends(TaintList(R"({"key":"nvidia.com/gpu","effect":"NoExecute"})", kThere)));
}

TEST(Taints, OnlyTheVerySameIsTakenAway) {
  EXPECT_EQ(PatchOf(TaintList(kForeign, kThere), {.remove = kOurTaint}),
            Sends(std::string("[") + kForeign + "]"));
  EXPECT_EQ(PatchOf(R"([{"key":"nvidia.com/gpu","value":"mine","effect":"NoSchedule"}])",
                    {.remove = kOurTaint}),
            "nothing");
}

TEST(Taints, WhoIsReadyTakesTheStartersTaintAway) {
  const std::string starter = R"({"key":"partita.dev/agent-not-ready","effect":"NoExecute"})";
  EXPECT_EQ(PatchOf(TaintList(starter, kForeign), {.ready = true}),
            Sends(std::string("[") + kForeign + "]"));
  EXPECT_EQ(PatchOf(TaintList(starter, kForeign), {.ready = false}), "nothing");
  EXPECT_EQ(PatchOf("[" + starter + "]", {.add = kOurTaint, .ready = true}),
            Sends(std::string("[") + kThere + "]"));
}

}  // namespace
}  // namespace partita::service::labels
