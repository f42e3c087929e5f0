#include "config/json_text.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::config {
namespace {

using Path = std::vector<std::string_view>;

JsonText ReadJson(std::string text) {
  base::Result<JsonText> read = JsonText::Parse(std::move(text));
  EXPECT_TRUE(read.ok()) << read.error().ToString();
  return *std::move(read);
}

std::string_view At(const JsonText& json, JsonSpan span) {
  return std::string_view(json.text()).substr(span.begin, span.end - span.begin);
}

TEST(JsonText, FindsValuesAndItems) {
  const JsonText json = ReadJson(R"( {"a": {"b\u0062": [1, {"c": "]}"} , "x"]}, "d":null} )");
  EXPECT_EQ(At(json, *json.Find(Path{"d"})), "null");
  EXPECT_EQ(At(json, *json.Find(Path{"a", "bb", "1"})), R"({"c": "]}"})");
  EXPECT_EQ(At(json, *json.Find(Path{"a", "bb", "1", "c"})), R"("]}")");
  EXPECT_EQ(json.Find(Path{"a", "b"}), std::nullopt);
  EXPECT_EQ(json.Find(Path{"a", "bb", "3"}), std::nullopt);
  EXPECT_EQ(json.Find(Path{"d", "e"}), std::nullopt);
  const std::vector<JsonSpan> items = json.Items(Path{"a", "bb"});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(At(json, items[2]), "\"x\"");
  EXPECT_TRUE(json.Items(Path{"a"}).empty());
}

TEST(JsonText, RefusesWhatParseJsonRefuses) {
  EXPECT_FALSE(JsonText::Parse("").ok());
  EXPECT_FALSE(JsonText::Parse("{\"a\": 1, \"a\": 2}").ok());
  EXPECT_FALSE(JsonText::Parse("{} x").ok());
}

struct JsonSetCase {
  std::string name, before;
  Path path;
  std::string value, after;
};

class JsonTextSets : public testing::TestWithParam<JsonSetCase> {};

TEST_P(JsonTextSets, WithEveryOtherByteKept) {
  const JsonSetCase& the = GetParam();
  JsonText json = ReadJson(the.before);
  const base::Result<base::Value> value = base::ParseJson(the.value);
  ASSERT_TRUE(value.ok());
  const base::Result<void> set = json.Set(the.path, *value, 4);
  ASSERT_TRUE(set.ok()) << set.error().ToString();
  EXPECT_EQ(json.text(), the.after);
  EXPECT_EQ(json.value(), *base::ParseJson(the.after));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    JsonTextSets,
    testing::Values(
        JsonSetCase{"InPlace",
                    "{\n\t\"a\" : 1,\n\t\"b\":2 }\n",
                    {"a"},
                    "3",
                    "{\n\t\"a\" : 3,\n\t\"b\":2 }\n"},
        JsonSetCase{"Empty", "{}", {"a"}, "true", "{\n    \"a\": true\n}"},
        JsonSetCase{"EmptyDeep",
                    "{ }\n",
                    {"a", "b"},
                    "[]",
                    "{\n    \"a\": {\n        \"b\": []\n    }\n}\n"},
        JsonSetCase{"AsNeighbours",
                    "{\n  \"a\": 1\n}\n",
                    {"b"},
                    "{\"c\": [1]}",
                    "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      1\n    ]\n  }\n}\n"},
        JsonSetCase{"Tabs",
                    "{\n\t\"a\": 1\n}",
                    {"b"},
                    "{\"c\": 1}",
                    "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 1\n\t}\n}"},
        JsonSetCase{"Returns",
                    "{\r\n  \"a\": 1\r\n}\r\n",
                    {"b"},
                    "2",
                    "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"},
        JsonSetCase{"OneLine", "{\"a\": 1}", {"b"}, "{\"c\": 2}", "{\"a\": 1, \"b\": {\"c\":2}}"},
        JsonSetCase{"Compact", "{\"a\":1,\"b\":2}", {"c"}, "3", "{\"a\":1,\"b\":2,\"c\": 3}"},
        JsonSetCase{"FillsAnEmptyMap",
                    "{\n  \"a\": {}\n}",
                    {"a", "b"},
                    "1",
                    "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
        JsonSetCase{"Root", "[1]", {}, "2", "2"},
        JsonSetCase{"KeyWithQuotes", "{}", {"a\"b"}, "1", "{\n    \"a\\\"b\": 1\n}"},
        JsonSetCase{"Item", "{\"a\": [1, 2]}", {"a", "1"}, "3", "{\"a\": [1, 3]}"}),
    [](const testing::TestParamInfo<JsonSetCase>& the) { return the.param.name; });

TEST(JsonText, SetsNothingInWhatIsNoMap) {
  JsonText json = ReadJson("{\"a\": [1], \"b\": 2}");
  const base::Result<void> list = json.Set(Path{"a", "x"}, 1, 2);
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().ToString(), "a is no map, so a.x cannot be set in it");
  EXPECT_EQ(list.error().code(), base::ErrorCode::kConflict);
  EXPECT_FALSE(json.Set(Path{"b", "x"}, 1, 2).ok());
  EXPECT_EQ(json.text(), "{\"a\": [1], \"b\": 2}");
}

TEST(JsonText, SetsRawTextAsItIs) {
  JsonText json = ReadJson("{\n  \"a\": [ 1 ]\n}");
  ASSERT_TRUE(json.SetRaw(Path{"a"}, "[ 1,2 ]").ok());
  EXPECT_EQ(json.text(), "{\n  \"a\": [ 1,2 ]\n}");
  ASSERT_TRUE(json.SetRaw(Path{"b", "c"}, "{ }").ok());
  EXPECT_EQ(json.text(), "{\n  \"a\": [ 1,2 ],\n  \"b\": {\n    \"c\": { }\n  }\n}");
  EXPECT_FALSE(json.SetRaw(Path{"d"}, "[").ok());
  EXPECT_EQ(json.text(), "{\n  \"a\": [ 1,2 ],\n  \"b\": {\n    \"c\": { }\n  }\n}");
}

TEST(JsonText, RemovesAMemberWithItsComma) {
  const std::string text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": {\"d\": 1}\n}";
  JsonText first = ReadJson(text), last = ReadJson(text), only = ReadJson(text);
  ASSERT_TRUE(first.Remove(Path{"a"}).ok());
  EXPECT_EQ(first.text(), "{\n  \"b\": 2,\n  \"c\": {\"d\": 1}\n}");
  ASSERT_TRUE(last.Remove(Path{"c"}).ok());
  EXPECT_EQ(last.text(), "{\n  \"a\": 1,\n  \"b\": 2\n}");
  ASSERT_TRUE(only.Remove(Path{"c", "d"}).ok());
  EXPECT_EQ(only.text(), "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": {}\n}");
  ASSERT_TRUE(only.Remove(Path{"x", "y"}).ok());
}

}  // namespace
}  // namespace partita::config
