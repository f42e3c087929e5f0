#include "base/json.h"

#include <string>

#include <gtest/gtest.h>

namespace partita::base {
namespace {

TEST(ParseJson, ReadsWhatWeWrite) {
  const Value document =
      Value::Map()
          .Set("null", nullptr)
          .Set("true", true)
          .Set("negative", -5)
          .Set("largest", UINT64_MAX)
          .Set("smallest", INT64_MIN)
          .Set("real", 0.25)
          .Set("text", "ü \"\\\n\x01 😀")
          .Set("list", Value::List().Add(1U).Add(Value::Map()).Add(Value::List()))
          .Set("", "");
  for (const std::string& text : {ToJson(document), ToJsonLine(document)}) {
    const Result<Value> read = ParseJson(text);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(*read, document) << ToJsonLine(*read);
  }
}

TEST(ParseJson, ReadsEscapes) {
  const Result<Value> read = ParseJson(R"( ["A\u00fc\ud83d\ude00\/\t", 1e3, -0.5E-1] )");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->items()[0].AsString(), "Aü😀/\t");
  EXPECT_EQ(read->items()[1].AsDouble(), 1000.0);
  EXPECT_EQ(read->items()[2].AsDouble(), -0.05);
}

TEST(ParseJson, HasOneZero) {
  const auto read = ParseJson("[-0, -0.0, -0e999, 0.0]");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(ToJsonLine(*read), "[0,0,0,0]");
}

TEST(ParseJson, SaysWhereItWentWrong) {
  struct Row {
    std::string text, problem;
  };
  const Row rows[] = {
      {"", "at byte 0: a value is expected"},
      {"tru", "at byte 0: a value is expected"},
      {"1 2", "at byte 2: something stands after the value"},
      {"01", "at byte 1: something stands after the value"},
      {"-", "at byte 1: a value is expected"},
      {"1.", "at byte 2: a digit is expected"},
      {"1e", "at byte 2: a digit is expected"},
      {"1e999", "at byte 5: a number that is too large"},
      {"[1,]", "at byte 3: a value is expected"},
      {"[1", "at byte 2: \",\" or \"]\" is expected"},
      {"{a:1}", "at byte 1: a key in quotes is expected"},
      {"{\"a\" 1}", "at byte 5: \":\" is expected"},
      {"{\"a\":1,}", "at byte 7: a key in quotes is expected"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "at byte 19: a key is there twice"},
      {"\"a", "at byte 2: a text without an end"},
      {"\"\n\"", "at byte 1: a control character in a text"},
      {"\"\xff\"", "at byte 1: a text that is not UTF-8"},
      {R"("\x")", "at byte 2: an unknown escape"},
      {R"("\u12g4")", "at byte 3: four hexadecimal digits are expected"},
      {R"("\ud800")", "at byte 7: half a surrogate pair"},
      {R"("\udc00")", "at byte 7: half a surrogate pair"},
      {R"("\ud800\u0041")", "at byte 13: half a surrogate pair"},
      {R"("\u00)", "at byte 3: four hexadecimal digits are expected"},
      {std::string("\"\\\0\"", 4), "at byte 2: an unknown escape"},
  };
  for (const Row& row : rows) {
    const Result<Value> read = ParseJson(row.text);
    ASSERT_FALSE(read.ok()) << row.text;
    EXPECT_EQ(read.error().ToString(), "no valid JSON " + row.problem) << row.text;
  }
}

TEST(ParseJson, EndsWhereItIsTooDeep) {
  const std::string right =
      std::string(kMostJsonDepth, '[') + "1" + std::string(kMostJsonDepth, ']');
  EXPECT_TRUE(ParseJson(right).ok());
  EXPECT_EQ(ParseJson("[" + right + "]").error().ToString(), "no valid JSON at byte 65: too deep");
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')).ok());
}

}  // namespace
}  // namespace partita::base
