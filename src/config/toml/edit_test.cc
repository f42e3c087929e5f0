#include "config/toml/edit.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

TomlText ReadTomlText(std::string text) {
  base::Result<TomlText> read = TomlText::Parse(std::move(text), "f.toml");
  EXPECT_TRUE(read.ok()) << read.error().ToString();
  return *std::move(read);
}

struct TomlSetCase {
  std::string name, before;
  TomlPath path;
  std::string value, after;
};

class TomlEditSets : public testing::TestWithParam<TomlSetCase> {};

TEST_P(TomlEditSets, KeepsEveryOtherByte) {
  const TomlSetCase& the = GetParam();
  TomlText toml = ReadTomlText(the.before);
  const base::Result<void> set = toml.Set(the.path, the.value);
  ASSERT_TRUE(set.ok()) << set.error().ToString();
  EXPECT_EQ(toml.text(), the.after);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    TomlEditSets,
    testing::Values(
        TomlSetCase{"InPlace", "# c\na = 1 # one\nb=2\n", {"a"}, "3", "# c\na = 3 # one\nb=2\n"},
        TomlSetCase{"Empty", "", {"version"}, "2", "version = 2\n"},
        TomlSetCase{"OnlyComments", "# c", {"a"}, "1", "# c\na = 1\n"},
        TomlSetCase{"Returns", "a = 1\r\n", {"b"}, "2", "a = 1\r\nb = 2\r\n"},
        TomlSetCase{"NoLastNewline", "[t]\na = 1", {"t", "b"}, "2", "[t]\na = 1\nb = 2\n"},
        TomlSetCase{"BehindTheLastOfItsTable",
                    "[t]\n    a = 1\n\n# about u\n[u]\n",
                    {"t", "b"},
                    "2",
                    "[t]\n    a = 1\n    b = 2\n\n# about u\n[u]\n"},
        TomlSetCase{"BeforeTheFirstTable",
                    "# head\n\n# about t\n[t]\n",
                    {"a"},
                    "1",
                    "# head\n\na = 1\n# about t\n[t]\n"},
        TomlSetCase{"BehindTheMark",
                    "\xEF\xBB\xBF[t]\n",
                    {"a"},
                    "1",
                    "\xEF\xBB\xBF"
                    "a = 1\n[t]\n"},
        TomlSetCase{"InAnEmptyTable",
                    "[t]\n\n[u]\n  x = 1\n",
                    {"t", "a"},
                    "1",
                    "[t]\n  a = 1\n\n[u]\n  x = 1\n"},
        TomlSetCase{
            "NewTableBesideItsSibling",
            "[p]\n  [p.r]\n\n    [p.r.a]\n      x = 1\n\n    [p.r.a.o]\n      y = 1\n\n[q]\n",
            {"p", "r", "b", "x"},
            "2",
            "[p]\n  [p.r]\n\n    [p.r.a]\n      x = 1\n\n    [p.r.a.o]\n      y = 1\n\n"
            "    [p.r.b]\n      x = 2\n\n[q]\n"},
        TomlSetCase{"NewTableBelowItsParent",
                    "[p]\n  a = 1\n[q]\n",
                    {"p", "r", "b"},
                    "2",
                    "[p]\n  a = 1\n[p.r]\n  b = 2\n[q]\n"},
        TomlSetCase{
            "NewTableAtTheEnd", "a = 1\n", {"p", "x.y"}, "2", "a = 1\n\n[p]\n  \"x.y\" = 2\n"},
        TomlSetCase{"ImpliedTableAboveWhatImpliesIt",
                    "[a.b.c]\nx = 1\n",
                    {"a", "b", "y"},
                    "2",
                    "[a.b]\ny = 2\n[a.b.c]\nx = 1\n"},
        TomlSetCase{"DottedTable",
                    "[p]\n  r.a = 1\n  z = 1\n",
                    {"p", "r", "b"},
                    "2",
                    "[p]\n  r.a = 1\n  r.b = 2\n  z = 1\n"},
        TomlSetCase{
            "DottedAtTheRoot", "p.r.a = 1\n", {"p", "r", "b"}, "2", "p.r.a = 1\np.r.b = 2\n"},
        TomlSetCase{
            "Inline", "[p]\no = { a = 1 }\n", {"p", "o", "b"}, "2", "[p]\no = { a = 1, b = 2 }\n"},
        TomlSetCase{"InlineEmpty", "o = {}\n", {"o", "b", "c"}, "2", "o = { b.c = 2 }\n"},
        TomlSetCase{"InlineInPlace",
                    "o = { a = { b = 1 } }\n",
                    {"o", "a", "b"},
                    "2",
                    "o = { a = { b = 2 } }\n"},
        TomlSetCase{"InlineDeep",
                    "o = { a = { b = 1 } }\n",
                    {"o", "a", "c"},
                    "2",
                    "o = { a = { b = 1, c = 2 } }\n"}),
    [](const testing::TestParamInfo<TomlSetCase>& the) { return the.param.name; });

TEST(TomlEdit, SetsNothingInWhatIsNoTable) {
  TomlText toml = ReadTomlText("a = 1\nb = [{ c = 1 }]\n[d]\n");
  const base::Result<void> scalar = toml.Set({"a", "b"}, "1");
  ASSERT_FALSE(scalar.ok());
  EXPECT_EQ(scalar.error().ToString(), "a is no table, so a.b cannot be set");
  EXPECT_FALSE(toml.Set({"b", "c"}, "1").ok());
  const base::Result<void> table = toml.Set({"d"}, "1");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().ToString(), "d is a table, so it cannot have a value");
  EXPECT_EQ(toml.text(), "a = 1\nb = [{ c = 1 }]\n[d]\n");
}

TEST(TomlEdit, AValueThatIsNoTomlChangesNothing) {
  TomlText toml = ReadTomlText("a = 1\n");
  EXPECT_FALSE(toml.Set({"a"}, "x").ok());
  EXPECT_EQ(toml.text(), "a = 1\n");
}

struct AppendCase {
  std::string before, after;
};

TEST(TomlEdit, AppendsAsTheListIsWritten) {
  const std::vector<AppendCase> cases = {
      {"", "l = [9]\n"},
      {"l = []\n", "l = [9]\n"},
      {"l = [1, 2] # c\n", "l = [1, 2, 9] # c\n"},
      {"l = [1, ]\n", "l = [1, 9, ]\n"},
      {"l = [\n  1, # one\n  2 # two\n]\n", "l = [\n  1, # one\n  2, # two\n  9\n]\n"},
      {"l = [\n  1,\n  2, # two\n]\n", "l = [\n  1,\n  2, # two\n  9,\n]\n"},
      {"l = [1,\n  2]\n", "l = [1,\n  2, 9]\n"},
      {"l = [\n  # none\n]\n", "l = [9\n  # none\n]\n"}};
  for (const AppendCase& the : cases) {
    TomlText toml = ReadTomlText(the.before);
    const base::Result<void> appended = toml.Append({"l"}, "9");
    ASSERT_TRUE(appended.ok()) << appended.error().ToString();
    EXPECT_EQ(toml.text(), the.after);
  }
  TomlText toml = ReadTomlText("l = 1\n");
  EXPECT_FALSE(toml.Append({"l"}, "9").ok());
}

struct RemoveCase {
  std::string before;
  TomlPath path;
  std::string after;
};

TEST(TomlEdit, RemovesKeysAndTables) {
  const std::vector<RemoveCase> cases = {
      {"a = 1 # c\nb = 2\n", {"a"}, "b = 2\n"},
      {"a = 1\n", {"b"}, "a = 1\n"},
      {"[a]\nx = 1\n\n[a.b]\ny = 1\n\n# about c\n[c]\n",
       {"a", "b"},
       "[a]\nx = 1\n\n# about c\n[c]\n"},
      {"[a.b]\ny = 1\n[c]\n[a.b.d]\nz = 1\n", {"a", "b"}, "[c]\n"},
      {"[a]\nb.c = 1\nb.d = 2\nx = 1\n", {"a", "b"}, "[a]\nx = 1\n"},
      {"o = { a = 1, b = 2, c = 3 }\n", {"o", "a"}, "o = { b = 2, c = 3 }\n"},
      {"o = { a = 1, b = 2, c = 3 }\n", {"o", "c"}, "o = { a = 1, b = 2 }\n"},
      {"o = { a = 1 }\n", {"o", "a"}, "o = {  }\n"},
      {"[[l]]\na = 1\n", {"l", "a"}, "[[l]]\na = 1\n"},
      {"[[l]]\na = 1\n[[l]]\n[x]\n", {"l"}, "[x]\n"}};
  for (const RemoveCase& the : cases) {
    TomlText toml = ReadTomlText(the.before);
    const base::Result<void> removed = toml.Remove(the.path);
    ASSERT_TRUE(removed.ok()) << removed.error().ToString();
    EXPECT_EQ(toml.text(), the.after) << the.before;
  }
}

TEST(TomlEdit, WhatWasAddedIsTakenOutAgain) {
  const std::string text = "[p]\n  [p.r.a]\n    x = 1\n\n  [p.r.b]\n    x = 2\n\n[q]\n  z = 1\n";
  TomlText toml = ReadTomlText(text);
  ASSERT_TRUE(toml.Set({"p", "r", "n", "x"}, "1").ok());
  ASSERT_TRUE(toml.Set({"p", "r", "n", "o", "y"}, "1").ok());
  ASSERT_NE(toml.Find({"p", "r", "n", "o", "y"}), nullptr);
  ASSERT_TRUE(toml.Remove({"p", "r", "n"}).ok());
  EXPECT_EQ(toml.text(), text);
}

TEST(TomlEdit, CopiesATableWithItsComments) {
  const TomlText toml = ReadTomlText(
      "version = 2\n[p]\n  [p.\"c.d\"]\n    # why\n    a = 1 # one\n\n  # below\n"
      "  [p.\"c.d\".e]\n    b = 1\n  [p.x]\n    c = 1\n  [[p.\"c.d\".l]]\n    d = 1\n");
  EXPECT_EQ(toml.TextOf({"p", "c.d"}),
            "  [p.\"c.d\"]\n    # why\n    a = 1 # one\n\n  # below\n  [p.\"c.d\".e]\n    b = 1\n"
            "  [[p.\"c.d\".l]]\n    d = 1\n");
  EXPECT_EQ(toml.TextOf({"p", "none"}), "");
}

TEST(TomlEdit, CopiesATableOfEveryForm) {
  EXPECT_EQ(ReadTomlText("p.c.a = 1\nx = 1\n[p.c.d]\nb = 1\n").TextOf({"p", "c"}),
            "p.c.a = 1\n[p.c.d]\nb = 1\n");
  EXPECT_EQ(ReadTomlText("[p]\nc.a = 1\nx = 1\nc.b = 2\n").TextOf({"p", "c"}),
            "[p]\nc.a = 1\nc.b = 2\n");
  EXPECT_EQ(ReadTomlText("p = { c = { a = 'x' }, b = 1 }\n").TextOf({"p", "c"}),
            "p.c = { a = \"x\" }\n");
}

TEST(TomlEdit, WritesValues) {
  const TomlText toml = ReadTomlText("a = { b = [1, 'x\"y'], \"c d\" = {}, e = 1979-05-27 }\n");
  EXPECT_EQ(TomlValue(*toml.Find({"a"})), "{ b = [1, \"x\\\"y\"], \"c d\" = {}, e = 1979-05-27 }");
  EXPECT_EQ(TomlDotted({"plugins", "io.containerd.grpc.v1.cri", "a-b"}),
            "plugins.\"io.containerd.grpc.v1.cri\".a-b");
}

}  // namespace
}  // namespace partita::config
