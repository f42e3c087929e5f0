#include "config/toml/toml.h"

#include <gtest/gtest.h>

#include "config/toml/samples.h"

namespace partita::config {
namespace {

Toml ReadToml(std::string text) {
  base::Result<Toml> read = Toml::Parse(std::move(text), "f.toml");
  EXPECT_TRUE(read.ok()) << read.error().ToString();
  return *std::move(read);
}

std::string TomlError(std::string text) {
  const base::Result<Toml> read = Toml::Parse(std::move(text), "f.toml");
  return read.ok() ? "" : read.error().ToString();
}

TEST(Toml, ReadsEveryFormOfTheStandard) {
  for (const std::string_view text : samples::kGoodToml)
    EXPECT_EQ(TomlError(std::string(text)), "") << text;
}

TEST(Toml, RefusesWhatTheStandardRefuses) {
  for (const std::string_view text : samples::kBadToml)
    EXPECT_NE(TomlError(std::string(text)), "") << text;
}

TEST(Toml, ValuesReadAsTheyAreMeant) {
  const Toml toml = ReadToml(
      "s = \"a\\tb\\u00e4\"\nm = \"\"\"\none \\\n  two\"\"\"\ni = +1_000\nx = 0xDE_AD\n"
      "f = 1_0.5\nb = true\nd = 1979-05-27 07:32:00\nq = ''''x'''''\n");
  const auto text = [&](std::string_view key) { return toml.root().Find(key)->text; };
  EXPECT_EQ(text("s"), "a\tb\xC3\xA4");
  EXPECT_TRUE(toml.root().Find("s")->quoted);
  EXPECT_EQ(text("m"), "one two");
  EXPECT_EQ(text("i"), "1000");
  EXPECT_FALSE(toml.root().Find("i")->quoted);
  EXPECT_EQ(text("x"), "0xDEAD");
  EXPECT_EQ(text("f"), "10.5");
  EXPECT_EQ(text("b"), "true");
  EXPECT_EQ(text("d"), "1979-05-27 07:32:00");
  EXPECT_EQ(text("q"), "'x''");
}

TEST(Toml, TablesOfAllFormsAreOneTree) {
  const Toml toml =
      ReadToml("[a.b]\nx = 1\n[a]\ny = { z.w = 2 }\n[[c]]\nd = 1\n[[c]]\n[c.e]\nf = [1, [2]]\n");
  const Node& root = toml.root();
  EXPECT_EQ(root.Find("a")->Find("b")->Find("x")->text, "1");
  EXPECT_EQ(root.Find("a")->Find("y")->Find("z")->Find("w")->text, "2");
  ASSERT_EQ(root.Find("c")->items.size(), 2U);
  EXPECT_EQ(root.Find("c")->items[0].Find("d")->text, "1");
  const Node* list = root.Find("c")->items[1].Find("e")->Find("f");
  EXPECT_EQ(list->items[1].items[0].text, "2");
}

TEST(Toml, KnowsPlaces) {
  const Toml toml = ReadToml("# x\n[a]\n  \"\xC3\xA4\" = [1,\n    22]\n");
  const Node* list = toml.root().Find("a")->Find("\xC3\xA4");
  EXPECT_EQ(list->line, 3);
  EXPECT_EQ(list->column, 9);
  EXPECT_EQ(list->items[1].line, 4);
  EXPECT_EQ(list->items[1].column, 5);
  EXPECT_EQ(list->items[1].length, 2);
  EXPECT_EQ(toml.root().FindKey("a")->column, 2);
}

TEST(Toml, StatementsHaveTheirBytes) {
  const std::string text =
      "# top\nv = 2 # two\n\n[a.\"b.c\"]\n  d.e = [1,\n   22]\n  f = { g = 3 }\n";
  const Toml toml = ReadToml(text);
  const auto at = [&](TomlSpan span) { return text.substr(span.begin, span.end - span.begin); };
  const std::vector<TomlStatement>& all = toml.statements();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(at(all[0].lines), "v = 2 # two\n");
  EXPECT_EQ(at(all[0].value), "2");
  EXPECT_EQ(all[0].within, std::nullopt);
  EXPECT_EQ(all[1].kind, TomlStatement::Kind::kTable);
  EXPECT_EQ(all[1].path, (std::vector<std::string>{"a", "b.c"}));
  EXPECT_EQ(at(all[2].lines), "  d.e = [1,\n   22]\n");
  EXPECT_EQ(all[2].path, (std::vector<std::string>{"a", "b.c", "d", "e"}));
  EXPECT_EQ(all[2].key_parts, 2U);
  EXPECT_EQ(all[2].within, 1U);
  ASSERT_EQ(all[2].items.size(), 2U);
  EXPECT_EQ(at(all[2].items[1]), "22");
  EXPECT_EQ(at(all[3].value), "{ g = 3 }");
  EXPECT_EQ(all[4].kind, TomlStatement::Kind::kInlineKey);
  EXPECT_EQ(at(all[4].lines), "g = 3");
  EXPECT_EQ(all[4].within, 3U);
}

TEST(Toml, WhatIsBelowAListSaysSo) {
  const Toml toml = ReadToml("[[a]]\nb = 1\n[a.c]\nd = 1\n[e]\nf = [{ g = 1 }]\n");
  std::vector<bool> in_list;
  for (const TomlStatement& each : toml.statements()) in_list.push_back(each.in_list);
  EXPECT_EQ(in_list, (std::vector<bool>{true, true, true, true, false, false, true}));
}

TEST(Toml, ErrorsShowThePlace) {
  EXPECT_EQ(TomlError("a = 1\n\n[b]\na = 2\na = 3\n"),
            "f.toml:5:1: \"a\" is there already\n"
            "    5 | a = 3\n"
            "      | ^ it is in line 4");
  EXPECT_EQ(TomlError("version = two\n"),
            "f.toml:1:11: \"two\" is no value of TOML\n"
            "    1 | version = two\n"
            "      |           ^^^ text stands in quotes");
  EXPECT_EQ(TomlError("x = \"\xC3\xA4\\q\"\n"),
            "f.toml:1:7: an unknown escape\n"
            "    1 | x = \"\xC3\xA4\\q\"\n"
            "      |       ^ write \\\\ for a backslash, \\uHHHH for any character");
  // Of TOML 1.1.
  EXPECT_EQ(TomlError("x = 1\ny = \"a\\x0Ab\"\n"),
            "f.toml:2:7: an unknown escape\n"
            "    2 | y = \"a\\x0Ab\"\n"
            "      |       ^ write \\u000A for it");
  EXPECT_NE(TomlError("x = \"\\x").find("f.toml:1:6: an unknown escape"), std::string::npos);
}

TEST(Toml, IsBounded) {
  std::string deep = "a = ";
  for (int i = 0; i < 70; ++i) deep += '[';
  EXPECT_NE(TomlError(deep).find("nested deeper than 64 levels"), std::string::npos);
  std::string dotted = "a";
  for (int i = 0; i < 70; ++i) dotted += ".a";
  EXPECT_NE(TomlError(dotted + " = 1").find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(TomlError("[" + dotted + "]").find("nested deeper than 64 levels"), std::string::npos);
  std::string many = "a = [";
  for (int i = 0; i < 100'001; ++i) many += "1,";
  EXPECT_NE(TomlError(many + "]").find("more than 100000 values"), std::string::npos);
  EXPECT_NE(TomlError(std::string(5 << 20, '#')).find("bytes are too many"), std::string::npos);
}

}  // namespace
}  // namespace partita::config
