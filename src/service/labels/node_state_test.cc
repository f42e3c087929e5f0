#include "service/labels/node_state.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::service::labels {
namespace {

base::Value Json(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

// As the API server writes it.
base::Value SampleNode(const std::string& labels, const std::string& managed) {
  return Json(R"({"metadata":{"name":"n","labels":)" + labels + R"(,"managedFields":[)" + managed +
              "]}}");
}

constexpr const char* kOursOfA =
    R"({"manager":"partita-labels","operation":"Apply","fieldsType":"FieldsV1",)"
    R"("fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}},"f:annotations":{"f:x":{}}}}})";

TEST(NodeState, TellsWhatAManagerOwns) {
  const base::Value node = SampleNode(
      "{}",
      std::string(kOursOfA) +
          R"(,{"manager":"kubelet","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:b":{}}}}},)"
          R"({"manager":"partita-labels","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:c":{}}}}},)"
          R"({"manager":"partita-labels","operation":"Apply","subresource":"status","fieldsV1":{"f:metadata":{"f:labels":{"f:d":{}}}}})");
  EXPECT_EQ(OwnedBy(node, "partita-labels"), (OwnedKeys{{"a"}, {"x"}}));
  EXPECT_EQ(OwnedBy(base::Value(), "partita-labels"), OwnedKeys{});
  EXPECT_EQ(OwnedBy(Json(R"({"metadata":{"managedFields":[1,{"manager":2}]}})"), "m"), OwnedKeys{});
}

TEST(NodeState, AnApplyChangesNothingWhereAllIsOursAndSaysSo) {
  base::Value node = SampleNode(R"({"a":"1","foreign":"2"})", kOursOfA);
  base::Value metadata = *node.Find("metadata");
  metadata.Set("annotations", Json(R"({"x":"y"})"));
  node.Set("metadata", metadata);
  EXPECT_FALSE(ApplyChanges(node, {{"a", "1"}}, {{"x", "y"}}));
  EXPECT_TRUE(ApplyChanges(node, {{"a", "2"}}, {{"x", "y"}}));
  EXPECT_TRUE(ApplyChanges(node, {{"a", "1"}}, {{"x", "z"}}));
  EXPECT_TRUE(ApplyChanges(node, {{"a", "1"}, {"b", "1"}}, {{"x", "y"}}));
  // What is ours and not wanted any more.
  EXPECT_TRUE(ApplyChanges(node, {}, {{"x", "y"}}));
  EXPECT_TRUE(ApplyChanges(node, {{"a", "1"}}, {}));
  // It says so, but is another's alone: nobody would take it away with us.
  EXPECT_TRUE(ApplyChanges(node, {{"a", "1"}, {"foreign", "2"}}, {{"x", "y"}}));
  EXPECT_FALSE(ApplyChanges(Json(R"({"metadata":{"labels":{"foreign":"2"}}})"), {}, {}));
}

TEST(NodeState, NamesWhoSaysSomethingElse) {
  const base::Value node = SampleNode(
      R"({"a":"1","b":"2","c":"3"})",
      std::string(kOursOfA) +
          R"(,{"manager":"nfd-master","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:b":{},"f:c":{}}}}})");
  EXPECT_TRUE(Contenders(node, {{"a", "1"}, {"b", "2"}}).empty());
  EXPECT_EQ(Contenders(node, {{"a", "1"}, {"b", "x"}, {"c", "x"}, {"d", "x"}}),
            (std::vector<std::string>{"\"nfd-master\" (b, c)", "somebody (d)"}));
}

TEST(NodeState, FindsALabel) {
  const base::Value node = SampleNode(R"({"a":"1","b":2})", "");
  ASSERT_NE(FindLabel(node, "a"), nullptr);
  EXPECT_EQ(*FindLabel(node, "a"), "1");
  EXPECT_EQ(FindLabel(node, "b"), nullptr);
  EXPECT_EQ(FindLabel(base::Value(), "a"), nullptr);
}

}  // namespace
}  // namespace partita::service::labels
