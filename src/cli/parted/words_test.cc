#include "cli/parted/words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/parted/parted.h"

namespace partita::cli::parted {
namespace {

using Words = std::vector<std::string>;

base::Result<Understood> Read(const Words& words) {
  static const base::Program program = MakeMigPartedProgram();
  return Understand(program, words);
}

// The command first, then its flags in the order of their names.
Words Plain(const Words& words) { return Read(words).value().words; }

TEST(MigPartedWords, TakesOneDashOrTwoBeforeEveryName) {
  const Words wanted = {"assert", "--config-file=a", "--selected-config=b"};
  EXPECT_EQ(Plain({"assert", "--config-file", "a", "--selected-config", "b"}), wanted);
  EXPECT_EQ(Plain({"assert", "-config-file", "a", "-selected-config=b"}), wanted);
  EXPECT_EQ(Plain({"assert", "-f", "a", "--c=b"}), wanted);
}

TEST(MigPartedWords, TakesLettersTogether) {
  EXPECT_EQ(Plain({"assert", "-ma"}), (Words{"assert", "--mode-only", "--valid-config"}));
}

TEST(MigPartedWords, LetsTheLastOfTwoFlagsCount) {
  EXPECT_EQ(Plain({"assert", "-f", "a", "-f", "b"}), (Words{"assert", "--config-file=b"}));
}

TEST(MigPartedWords, TakesTheNextWordForAValueWhateverItIs) {
  EXPECT_EQ(Plain({"assert", "-f", "-"}), (Words{"assert", "--config-file=-"}));
  EXPECT_EQ(Plain({"assert", "-c", "-m"}), (Words{"assert", "--selected-config=-m"}));
  EXPECT_EQ(Plain({"assert", "-c", ""}), (Words{"assert", "--selected-config="}));
}

TEST(MigPartedWords, ReadsTruthValuesAsGoDoes) {
  EXPECT_EQ(Plain({"assert", "--mode-only=T"}), (Words{"assert", "--mode-only"}));
  const Understood off = Read({"assert", "--mode-only=0"}).value();
  EXPECT_EQ(off.words, Words{"assert"});
  EXPECT_EQ(off.overruled, Words{"MIG_PARTED_MODE_CHANGE_ONLY"});
  EXPECT_EQ(Read({"assert", "--mode-only=yes"}).error().ToString(),
            "flag -mode-only takes true or false, not \"yes\"");
}

TEST(MigPartedWords, FindsTheWayToHelp) {
  EXPECT_EQ(Read({}).value().words, Words{"--help"});
  EXPECT_EQ(Read({"h"}).value().words, Words{"--help"});
  EXPECT_EQ(Read({"help", "apply"}).value().words, (Words{"apply", "--help"}));
  EXPECT_EQ(Read({"apply", "help"}).value().words, (Words{"apply", "--help"}));
  EXPECT_EQ(Read({"apply", "-help"}).value().words, (Words{"apply", "--help"}));
  EXPECT_EQ(Read({"-v"}).value().words, Words{"--version"});
}

TEST(MigPartedWords, NamesATopicThatDoesNotExist) {
  EXPECT_EQ(Read({"bogus"}).value().unknown_topic, "bogus");
  EXPECT_EQ(Read({"help", "bogus"}).value().unknown_topic, "bogus");
}

TEST(MigPartedWords, EndsFlagsAtTwoDashes) {
  EXPECT_EQ(Read({"--", "export"}).value().words, Words{"export"});
  EXPECT_EQ(Read({"export", "--", "x"}).value().ignored, Words{"x"});
}

TEST(MigPartedWords, IgnoresWordsButNoFlagsBehindThem) {
  EXPECT_EQ(Read({"export", "x", "y"}).value().ignored, (Words{"x", "y"}));
  EXPECT_EQ(Read({"apply", "x", "--mode-only"}).error().ToString(),
            "flag --mode-only stands behind \"x\", which is no flag");
}

TEST(MigPartedWords, SaysWhatIsWrongWithAFlag) {
  EXPECT_EQ(Read({"--bogus"}).error().ToString(), "unknown flag --bogus");
  EXPECT_EQ(Read({"apply", "-fx"}).error().ToString(), "unknown flag -fx");
  EXPECT_EQ(Read({"apply", "-f"}).error().ToString(), "flag -f needs a value: FILE");
}

}  // namespace
}  // namespace partita::cli::parted
