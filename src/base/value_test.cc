#include "base/value.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "base/member_reader.h"

namespace partita::base {
namespace {

Value Sample() {
  return Value::Map()
      .Set("version", 1)
      .Set("driver", "580.159.04")
      .Set("ratio", 0.5)
      .Set("lost", false)
      .Set("serial", nullptr)
      .Set("gpus",
           Value::List()
               .Add(Value::Map().Set("index", 0u).Set("bus", "0000:07:00.0"))
               .Add(Value::Map().Set("index", 1u).Set("slices", Value::List().Add(1).Add(2))))
      .Set("problems", Value::List())
      .Set("labels", Value::Map());
}

TEST(ToJson, IndentsByTwoAndKeepsTheOrder) {
  EXPECT_EQ(ToJson(Sample()), R"({
  "version": 1,
  "driver": "580.159.04",
  "ratio": 0.5,
  "lost": false,
  "serial": null,
  "gpus": [
    {
      "index": 0,
      "bus": "0000:07:00.0"
    },
    {
      "index": 1,
      "slices": [
        1,
        2
      ]
    }
  ],
  "problems": [],
  "labels": {}
}
)");
}

TEST(ToJsonLine, StaysOnOneLine) {
  EXPECT_EQ(ToJsonLine(Value::Map().Set("a", Value::List().Add(1).Add("x")).Set("b", nullptr)),
            R"({"a":[1,"x"],"b":null})");
}

TEST(ToYaml, QuotesOnlyWhatWouldBeReadAsSomethingElse) {
  EXPECT_EQ(ToYaml(Sample()), R"(version: 1
driver: 580.159.04
ratio: 0.5
lost: false
serial: null
gpus:
  - index: 0
    bus: "0000:07:00.0"
  - index: 1
    slices:
      - 1
      - 2
problems: []
labels: {}
)");
}

TEST(ToGoYaml, IndentsByFourAndByTwoInAnItem) {
  const Value nodes = Value::List().Add(Value::Map().Set("path", "/dev/x").Set("major", 195));
  const Value edits = Value::Map().Set("deviceNodes", nodes).Set("env", Value::List().Add("A=1"));
  EXPECT_EQ(ToGoYaml(Value::Map()
                         .Set("devices",
                              Value::List().Add(Value::Map().Set("name", "0").Set("edits", edits)))
                         .Set("edits", edits)),
            R"(devices:
    - name: "0"
      edits:
        deviceNodes:
            - path: /dev/x
              major: 195
        env:
            - A=1
edits:
    deviceNodes:
        - path: /dev/x
          major: 195
    env:
        - A=1
)");
}

TEST(ToYaml, WritesListsInListsAndBareScalars) {
  EXPECT_EQ(ToYaml(Value::List().Add(Value::List().Add(1).Add(2)).Add("x")), "- - 1\n  - 2\n- x\n");
  EXPECT_EQ(ToYaml("x"), "x\n");
  EXPECT_EQ(ToYaml(Value::Map()), "{}\n");
}

TEST(ToYaml, DecidesAboutQuotesPerString) {
  struct Case {
    const char* text;
    const char* yaml;
  };
  const Case cases[] = {
      {"", "\"\"\n"},
      {"1g.18gb", "1g.18gb\n"},
      {"GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1", "GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1\n"},
      {"NVIDIA H200", "NVIDIA H200\n"},
      {"yes", "\"yes\"\n"},
      {"Off", "\"Off\"\n"},
      {"null", "\"null\"\n"},
      {"~", "\"~\"\n"},
      {"12", "\"12\"\n"},
      {"1_000", "\"1_000\"\n"},
      {"0x1f", "\"0x1f\"\n"},
      {"1e3", "\"1e3\"\n"},
      {".5", "\".5\"\n"},
      {"-7", "\"-7\"\n"},
      {".inf", "\".inf\"\n"},
      {"2026-11-15", "\"2026-11-15\"\n"},
      {"12:30", "\"12:30\"\n"},
      {"1.2.3", "1.2.3\n"},
      {"12abc", "12abc\n"},
      {"a: b", "\"a: b\"\n"},
      {"a:b", "a:b\n"},
      {"a:", "\"a:\"\n"},
      {"a #b", "\"a #b\"\n"},
      {"a#b", "a#b\n"},
      {"- a", "\"- a\"\n"},
      {"-a", "-a\n"},
      {"[a", "\"[a\"\n"},
      {"*a", "\"*a\"\n"},
      {"@a", "\"@a\"\n"},
      {" a", "\" a\"\n"},
      {"a\nb", "\"a\\nb\"\n"},
      {"Grüße", "Grüße\n"},
      {"a\xE2\x80\xA8"
       "b",
       "\"a\\u2028b\"\n"},
      {"---", "\"---\"\n"},
      {"<<", "\"<<\"\n"},
  };
  for (const Case& each : cases) EXPECT_EQ(ToYaml(each.text), each.yaml) << each.text;
}

TEST(ToYaml, WritesVeryLongKeysInTheirOwnLine) {
  const std::string key(1001, 'k');
  EXPECT_EQ(ToYaml(Value::List().Add(Value::Map().Set(key, 1).Set("b", 2))),
            "- ? " + key + "\n  : 1\n  b: 2\n");
}

TEST(JsonString, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(JsonString("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(JsonString("\b\f\n\r\t\x01\x7f"), R"("\b\f\n\r\t\u0001\u007f")");
  EXPECT_EQ(JsonString("\uFFFF\uFEFF"), R"("\uffff\ufeff")");
  EXPECT_EQ(JsonString("Grüße 🙂"), "\"Grüße 🙂\"");
}

TEST(JsonString, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(JsonString("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(JsonString("\xC0\x80"), "\"\uFFFD\uFFFD\"");            // overlong NUL
  EXPECT_EQ(JsonString("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");  // a surrogate
  EXPECT_EQ(JsonString("\xF0\x9F"), "\"\uFFFD\uFFFD\"");            // cut short
}

TEST(ToJson, KnowsTheLimitsOfNumbers) {
  EXPECT_EQ(ToJsonLine(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(ToJsonLine(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(ToJsonLine(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(ToJsonLine(0.1), "0.1");
}

TEST(Value, SettingAgainKeepsThePlace) {
  Value map = Value::Map().Set("a", 1).Set("b", 2);
  map.Set("a", 3);
  EXPECT_EQ(ToJsonLine(map), R"({"a":3,"b":2})");
}

TEST(Value, FindsMembersAndComparesByContent) {
  const Value map = Value::Map().Set("a", "x");
  ASSERT_NE(map.Find("a"), nullptr);
  EXPECT_EQ(map.Find("a")->AsString(), "x");
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_EQ(Value("x").Find("a"), nullptr);
  EXPECT_EQ(map, Value::Map().Set("a", "x"));
  EXPECT_FALSE(map == Value::Map());
  EXPECT_EQ(Value(true).kind(), Value::Kind::kBool);
  EXPECT_EQ(Value(7).kind(), Value::Kind::kInteger);
  EXPECT_EQ(Value(7u).kind(), Value::Kind::kUnsigned);
  EXPECT_TRUE(Value(nullptr).IsNull());
}

constexpr std::array<std::string_view, 2> kColours = {"red", "green"};

class MemberReaderTest : public ::testing::Test {
 protected:
  const Value map_ = Value::Map()
                         .Set("number", std::uint64_t{7})
                         .Set("text", "green")
                         .Set("flag", true)
                         .Set("list", Value::List());
  std::string wrong_;
  const MemberReader reader_{map_, wrong_};
};

TEST_F(MemberReaderTest, ReadsWhatIsThereWithItsKind) {
  EXPECT_EQ(reader_.Number("number"), 7U);
  EXPECT_EQ(reader_.Number("number", 7), 7U);
  EXPECT_EQ(reader_.Text("text"), "green");
  EXPECT_EQ(reader_.Word("text", kColours), 1U);
  EXPECT_TRUE(reader_.Flag("flag"));
  EXPECT_NE(reader_.Find("list", Value::Kind::kList), nullptr);
  EXPECT_TRUE(reader_.Has("list"));
  EXPECT_FALSE(reader_.Has("absent"));
  EXPECT_EQ(wrong_, "");
}

TEST_F(MemberReaderTest, WhatIsAbsentOrOfAnotherKindIsNothingAndItsKeyIsKept) {
  EXPECT_EQ(reader_.Number("absent"), 0U);
  EXPECT_EQ(wrong_, "absent");
  wrong_.clear();
  EXPECT_EQ(reader_.Text("number"), "");
  EXPECT_EQ(wrong_, "number");
  wrong_.clear();
  EXPECT_FALSE(reader_.Flag("text"));
  EXPECT_EQ(wrong_, "text");
}

TEST_F(MemberReaderTest, WhatIsTooMuchOrNoneOfTheWordsIsWrong) {
  EXPECT_EQ(reader_.Number("number", 6), 0U);
  EXPECT_EQ(wrong_, "number");
  wrong_.clear();
  const std::array<std::string_view, 1> others = {"blue"};
  EXPECT_EQ(reader_.Word("text", others), 0U);
  EXPECT_EQ(wrong_, "text");
}

TEST_F(MemberReaderTest, TheFirstThatIsWrongIsTheOneThatIsTold) {
  (void)reader_.Text("first");
  const Value other = Value::Map();
  (void)MemberReader(other, wrong_).Text("second");
  reader_.Wrong("third");
  EXPECT_EQ(wrong_, "first");
}

}  // namespace
}  // namespace partita::base
