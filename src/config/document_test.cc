#include "config/document.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::config {
namespace {

Document GoodYaml(const std::string& text) {
  base::Result<Document> document = Document::Parse(text, "f.yaml");
  EXPECT_TRUE(document.ok()) << document.error().ToString();
  return *std::move(document);
}

std::string YamlError(const std::string& text) {
  const base::Result<Document> document = Document::Parse(text, "f.yaml");
  if (document.ok()) return "no error";
  EXPECT_EQ(document.error().code(), base::ErrorCode::kInvalid);
  return document.error().ToString() + "\n";
}

TEST(Document, KnowsWhereEverythingIs) {
  const Document document = GoodYaml("gpus:\n  - product: \"a b\"\n    slices: [1, 2]\nempty:\n");
  const Node& root = document.root();
  ASSERT_TRUE(root.IsMap());
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key.text, "gpus");
  EXPECT_EQ(root.entries[0].key.length, 4);
  const Node& gpu = root.Find("gpus")->items.at(0);
  const Node& product = *gpu.Find("product");
  EXPECT_EQ(product.text, "a b");
  EXPECT_TRUE(product.quoted);
  EXPECT_EQ(product.line, 2);
  EXPECT_EQ(product.column, 14);
  EXPECT_EQ(product.length, 5);
  const Node& slice = gpu.Find("slices")->items.at(1);
  EXPECT_EQ(slice.text, "2");
  EXPECT_FALSE(slice.quoted);
  EXPECT_EQ(slice.line, 3);
  EXPECT_EQ(slice.column, 17);
  EXPECT_TRUE(root.Find("empty")->IsNull());
  EXPECT_EQ(root.Find("absent"), nullptr);
  EXPECT_EQ(root.FindKey("empty")->line, 4);
  EXPECT_EQ(product.Find("x"), nullptr);
}

TEST(Document, CountsColumnsInCharacters) {
  EXPECT_EQ(GoodYaml("grüße: x\n").root().Find("grüße")->column, 8);
}

TEST(Document, TellsNullFromText) {
  const Document document = GoodYaml("a: ~\nb: null\nc: 'null'\nd: ''\ne: |\n  x\nf: nil\n");
  EXPECT_TRUE(document.root().Find("a")->IsNull());
  EXPECT_TRUE(document.root().Find("b")->IsNull());
  EXPECT_TRUE(document.root().Find("c")->IsScalar());
  EXPECT_TRUE(document.root().Find("d")->IsScalar());
  EXPECT_EQ(document.root().Find("e")->text, "x\n");
  EXPECT_TRUE(document.root().Find("e")->quoted);
  EXPECT_TRUE(document.root().Find("f")->IsScalar());
}

TEST(Document, OfNothingIsNull) {
  for (const char* text : {"", "# only a comment\n", "---\n"}) {
    EXPECT_TRUE(GoodYaml(text).root().IsNull()) << text;
  }
}

TEST(Document, MayBeginWithAByteOrderMark) {
  const Document document = GoodYaml(
      "\xEF\xBB\xBF"
      "a: 1\nb: 2\n");
  ASSERT_NE(document.root().Find("a"), nullptr);
  EXPECT_EQ(document.root().Find("b")->text, "2");
}

TEST(Document, ExpandsAliasesAndKeepsTheirPositions) {
  const Document document = GoodYaml("base: &b {memory: 40}\nother: *b\n");
  const Node& memory = *document.root().Find("other")->Find("memory");
  EXPECT_EQ(memory.text, "40");
  EXPECT_EQ(memory.line, 1);
}

TEST(Document, MergesMapsBehindTheKeysThatAreWritten) {
  const Document document = GoodYaml(
      "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\nd:\n  <<: *a\n");
  const Node& merged = *document.root().Find("c");
  EXPECT_EQ(merged.Find("x")->text, "3");
  EXPECT_EQ(merged.Find("y")->text, "1");
  EXPECT_EQ(merged.Find("z")->text, "2");
  EXPECT_EQ(merged.entries.size(), 3u);
  EXPECT_EQ(document.root().Find("d")->Find("y")->text, "1");
}

TEST(Document, RefusesDuplicateKeys) {
  EXPECT_EQ(YamlError("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: duplicate key \"a\"\n"
            "    3 | a: 3\n"
            "      | ^ it is already in line 1\n");
}

TEST(Document, RefusesKeysThatAreNoText) {
  EXPECT_EQ(YamlError("? [1, 2]\n: x\n"),
            "f.yaml:1:3: a key must be a single word or a quoted text, not a list\n"
            "    1 | ? [1, 2]\n"
            "      |   ^\n");
}

TEST(Document, RefusesASecondDocument) {
  EXPECT_EQ(YamlError("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: a second YAML document begins here\n"
            "    2 | ---\n"
            "      | ^ keep one document per file\n");
}

TEST(Document, RefusesTags) {
  EXPECT_EQ(YamlError("a: !!binary eA==\n"),
            "f.yaml:1:4: tag \"tag:yaml.org,2002:binary\" is not supported\n"
            "    1 | a: !!binary eA==\n"
            "      |    ^^^^^^^^^^^^^ remove it\n");
}

TEST(Document, RefusesUnknownAnchorsAlsoInsideTheirOwnNode) {
  EXPECT_EQ(YamlError("a: &first 1\nb: *frist\n"),
            "f.yaml:2:4: unknown anchor \"frist\"\n"
            "    2 | b: *frist\n"
            "      |    ^^^^^^ did you mean \"first\"?\n");
  EXPECT_EQ(YamlError("a: &a [*a]\n"),
            "f.yaml:1:8: unknown anchor \"a\"\n"
            "    1 | a: &a [*a]\n"
            "      |        ^^\n");
}

TEST(Document, RefusesMergesOfAnythingButMaps) {
  EXPECT_EQ(YamlError("a:\n  <<: [1]\n"),
            "f.yaml:2:3: \"<<\" merges a map or a list of maps, not a list\n"
            "    2 |   <<: [1]\n"
            "      |   ^^\n");
}

TEST(Document, ShowsWhereTheSyntaxBreaks) {
  EXPECT_EQ(YamlError("a: [1, 2\nb: 3\n"),
            "f.yaml:2:2: not YAML: did not find expected ',' or ']' while parsing a flow sequence "
            "that begins in line 1\n"
            "    2 | b: 3\n"
            "      |  ^\n");
  EXPECT_EQ(YamlError("a:\n\tb: 1\n"),
            "f.yaml:2:1: not YAML: found character that cannot start any token while scanning for "
            "the next token that begins in line 2\n"
            "    2 | \tb: 1\n"
            "      | ^\n");
}

TEST(Document, ShowsWhereTheTextIsNoText) {
  EXPECT_EQ(YamlError("a: 1\nb: \xFF\n"),
            "f.yaml:2:4: not text: invalid leading UTF-8 octet (0xff)\n"
            "    2 | b: ?\n"
            "      |    ^\n");
  EXPECT_EQ(YamlError(std::string("a: \0b\n", 6)),
            std::string("f.yaml:1:4: not text: control characters are not allowed (0x00)\n"
                        "    1 | a: ?b\n"
                        "      |    ^\n"));
}

TEST(Document, BoundsItsDepth) {
  EXPECT_TRUE(Document::Parse(std::string(64, '[') + std::string(64, ']'), "f").ok());
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  EXPECT_NE(YamlError(deep).find("f.yaml:1:65: nested deeper than 64 levels\n"), std::string::npos);
  // By an alias: 40 levels inside 40.
  const std::string inner = "a: &a " + std::string(40, '[') + std::string(40, ']') + "\n";
  const std::string outer = "b: " + std::string(40, '[') + "*a" + std::string(40, ']') + "\n";
  EXPECT_NE(YamlError(inner + outer).find("f.yaml:2:44: nested deeper than 64 levels\n"),
            std::string::npos);
}

TEST(Document, BoundsWhatAliasesExpandTo) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      laughs += std::string(j > 0 ? ", " : "") + "*a" + std::to_string(i - 1);
    laughs += "]\n";
  }
  EXPECT_NE(YamlError(laughs).find(": more than 100000 values\n"), std::string::npos);
}

TEST(Document, BoundsItsSize) {
  const std::string text(Document::kMaxBytes + 1, ' ');
  EXPECT_EQ(YamlError(text), "f.yaml: 4194305 bytes are too many: the limit is 4 MiB\n");
}

TEST(Document, LoadsAFileUnderItsName) {
  const std::string path = testing::TempDir() + "/partita-document-test.yaml";
  ASSERT_TRUE(base::WriteFile(path, "a: [\n", 0600).ok());
  const base::Result<Document> document = Document::Load(path);
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().ToString().rfind(path + ":2:1: not YAML: ", 0), 0u);
  ASSERT_TRUE(base::RemoveTree(path).ok());
  EXPECT_EQ(Document::Load(path).error().code(), base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace partita::config
