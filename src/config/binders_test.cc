#include "config/binders.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

Document Good(const std::string& text, const std::string& name = "f.yaml") {
  base::Result<Document> document = Document::Parse(text, name);
  EXPECT_TRUE(document.ok()) << document.error().ToString();
  return *std::move(document);
}

TEST(Problems, HaveTheFormOfTheStyle) {
  const Document document = Good(
      "version: v1\nmig-configs:\n  all:\n    - devices: all\n      mig-enabled: true\n"
      "      mig-devices:\n        1g.18bg: 7\n",
      "/etc/partita/mig.yaml");
  const Node& slices =
      *document.root().Find("mig-configs")->Find("all")->items.at(0).Find("mig-devices");
  Problems problems(document);
  problems.Add(slices.entries.at(0).key, "unknown MIG profile \"1g.18bg\" for H200 (141 GB)",
               "did you mean \"1g.18gb\"?");
  EXPECT_EQ(problems.Render(),
            "/etc/partita/mig.yaml:7:9: unknown MIG profile \"1g.18bg\" for H200 (141 GB)\n"
            "    7 |         1g.18bg: 7\n"
            "      |         ^^^^^^^ did you mean \"1g.18gb\"?\n");
}

TEST(Problems, AreShownInTheOrderOfTheFileAndNoMoreThanTwenty) {
  std::string text = "list:\n";
  for (int i = 0; i < 23; ++i) text += "  - x\n";
  const Document document = Good(text);
  Problems problems(document);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(problems.ToResult().ok());
  EXPECT_EQ(problems.Render(), "");
  const std::vector<Node>& items = document.root().Find("list")->items;
  for (auto item = items.rbegin(); item != items.rend(); ++item) problems.Add(*item, "bad");
  EXPECT_EQ(problems.size(), 23u);
  const std::string shown = problems.Render();
  EXPECT_EQ(shown.rfind("f.yaml:2:5: bad\n    2 |   - x\n      |     ^\nf.yaml:3:5: bad\n", 0), 0u);
  EXPECT_TRUE(
      shown.ends_with("f.yaml:21:5: bad\n   21 |   - x\n      |     ^\nf.yaml: 3 more problems\n"));
  EXPECT_EQ(problems.ToResult().error().ToString() + "\n", shown);
}

TEST(Readers, ReadWhatIsThere) {
  const Document document = Good(
      "number: 42\nhex: 0x1f\noctal: 0o17\nnegative: -3\nreal: 2.5e3\nyes: Yes\nno: off\n"
      "text: a b\nquoted: '007'\nempty: ''\nsize: 40GB\nbytes: 4096\nchoice: json\n"
      "names: [a, 'b']\nnumbers: [1, 0x2]\n");
  const Node& root = document.root();
  Problems problems(document);
  EXPECT_EQ(ReadUnsigned(*root.Find("number"), problems), 42u);
  EXPECT_EQ(ReadUnsigned(*root.Find("hex"), problems), 31u);
  EXPECT_EQ(ReadUnsigned(*root.Find("octal"), problems), 15u);
  EXPECT_EQ(ReadInteger(*root.Find("negative"), problems), -3);
  EXPECT_EQ(ReadNumber(*root.Find("real"), problems), 2500.0);
  EXPECT_EQ(ReadBool(*root.Find("yes"), problems), true);
  EXPECT_EQ(ReadBool(*root.Find("no"), problems), false);
  EXPECT_EQ(ReadString(*root.Find("text"), problems), "a b");
  EXPECT_EQ(ReadString(*root.Find("quoted"), problems), "007");
  EXPECT_EQ(ReadString(*root.Find("empty"), problems), "");
  EXPECT_EQ(ReadString(*root.Find("number"), problems), "42");
  EXPECT_EQ(ReadSize(*root.Find("size"), problems), 40'000'000'000u);
  EXPECT_EQ(ReadSize(*root.Find("bytes"), problems), 4096u);
  const std::vector<std::string> words = {"text", "json"};
  EXPECT_EQ(ReadChoice(*root.Find("choice"), problems, words), 1u);
  EXPECT_EQ(ReadStrings(*root.Find("names"), problems), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ReadUnsigneds(*root.Find("numbers"), problems), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(problems.Render(), "");
}

// The first value of a one-line document, read with `read`, gives exactly this problem.
template <typename Read>
std::string ProblemOf(const std::string& text, Read read) {
  const Document document = Good(text);
  Problems problems(document);
  read(document.root().entries.at(0).value, problems);
  return problems.Render();
}

TEST(Readers, SayWhatTheyExpected) {
  const auto port = [](const Node& node, Problems& problems) {
    EXPECT_EQ(ReadUnsigned(node, problems, {1, 65535}), std::nullopt);
  };
  EXPECT_EQ(ProblemOf("port: 70000", port),
            "f.yaml:1:7: expected a number from 1 to 65535, not \"70000\"\n"
            "    1 | port: 70000\n"
            "      |       ^^^^^\n");
  EXPECT_EQ(ProblemOf("port: '80'", port),
            "f.yaml:1:7: expected a number from 1 to 65535, not \"80\"\n"
            "    1 | port: '80'\n"
            "      |       ^^^^ write it without quotes\n");
  EXPECT_EQ(ProblemOf("port:", port),
            "f.yaml:1:6: expected a number from 1 to 65535, not nothing\n"
            "    1 | port:\n"
            "      |      ^\n");
  EXPECT_EQ(ProblemOf("port: [1]", port),
            "f.yaml:1:7: expected a number from 1 to 65535, not a list\n"
            "    1 | port: [1]\n"
            "      |       ^\n");
  EXPECT_EQ(ProblemOf("count: -1",
                      [](const Node& node, Problems& problems) {
                        EXPECT_EQ(ReadUnsigned(node, problems), std::nullopt);
                      }),
            "f.yaml:1:8: expected a number, not \"-1\"\n"
            "    1 | count: -1\n"
            "      |        ^^\n");
  EXPECT_EQ(ProblemOf("on: maybe",
                      [](const Node& node, Problems& problems) {
                        EXPECT_EQ(ReadBool(node, problems), std::nullopt);
                      }),
            "f.yaml:1:5: expected true or false, not \"maybe\"\n"
            "    1 | on: maybe\n"
            "      |     ^^^^^\n");
  EXPECT_EQ(ProblemOf("memory: 40gb",
                      [](const Node& node, Problems& problems) {
                        EXPECT_EQ(ReadSize(node, problems), std::nullopt);
                      }),
            "f.yaml:1:9: expected a size, not \"40gb\"\n"
            "    1 | memory: 40gb\n"
            "      |         ^^^^ write it like 512MiB, 40GB or 4096\n");
  EXPECT_EQ(ProblemOf("output: jsn",
                      [](const Node& node, Problems& problems) {
                        const std::vector<std::string> words = {"text", "json", "yaml"};
                        EXPECT_EQ(ReadChoice(node, problems, words), std::nullopt);
                      }),
            "f.yaml:1:9: expected text, json or yaml, not \"jsn\"\n"
            "    1 | output: jsn\n"
            "      |         ^^^ did you mean \"json\"?\n");
  EXPECT_EQ(ProblemOf("name: {a: b}",
                      [](const Node& node, Problems& problems) {
                        EXPECT_EQ(ReadString(node, problems), std::nullopt);
                      }),
            "f.yaml:1:7: expected a text, not a map\n"
            "    1 | name: {a: b}\n"
            "      |       ^\n");
  EXPECT_EQ(ProblemOf("ratio: nan",
                      [](const Node& node, Problems& problems) {
                        EXPECT_EQ(ReadNumber(node, problems), std::nullopt);
                        EXPECT_EQ(ReadInteger(node, problems), std::nullopt);
                      }),
            "f.yaml:1:8: expected a number, not \"nan\"\n"
            "    1 | ratio: nan\n"
            "      |        ^^^\n"
            "f.yaml:1:8: expected a whole number, not \"nan\"\n"
            "    1 | ratio: nan\n"
            "      |        ^^^\n");
}

TEST(RejectUnknownKeys, SuggestsTheNearestOrListsThem) {
  const Document document = Good("gpus: []\nnmae: x\nzzz: 1\n");
  Problems problems(document);
  RejectUnknownKeys(document.root(), std::vector<std::string>{"name", "gpus"}, problems);
  EXPECT_EQ(problems.Render(),
            "f.yaml:2:1: unknown key \"nmae\"\n"
            "    2 | nmae: x\n"
            "      | ^^^^ did you mean \"name\"?\n"
            "f.yaml:3:1: unknown key \"zzz\"\n"
            "    3 | zzz: 1\n"
            "      | ^^^ known here: name, gpus\n");
}

TEST(Expect, NamesWhatIsMissing) {
  const Document document = Good("gpus: 3\nboard: [1]\n");
  Problems problems(document);
  EXPECT_TRUE(ExpectMap(document.root(), problems, "a node"));
  EXPECT_FALSE(ExpectList(*document.root().Find("gpus"), problems, "a list of GPUs"));
  EXPECT_FALSE(ExpectMap(*document.root().Find("board"), problems, "a board"));
  EXPECT_NE(Require(document.root(), "gpus", problems), nullptr);
  EXPECT_EQ(Require(document.root(), "driver", problems), nullptr);
  EXPECT_EQ(problems.Render(),
            "f.yaml:1:1: missing key \"driver\"\n"
            "    1 | gpus: 3\n"
            "      | ^\n"
            "f.yaml:1:7: expected a list of GPUs, not \"3\"\n"
            "    1 | gpus: 3\n"
            "      |       ^ write it as \"- item\" lines or [a, b]\n"
            "f.yaml:2:8: expected a board, not a list\n"
            "    2 | board: [1]\n"
            "      |        ^ write it as \"key: value\" lines\n");
}

}  // namespace
}  // namespace partita::config
