#include "base/text.h"

#include <gtest/gtest.h>

namespace partita::base {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Trim, TakesBlanksFromBothSides) {
  EXPECT_EQ(Trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(Split("a,,b", ','), (Pieces{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (Pieces{""}));
  EXPECT_EQ(Split(",", ','), (Pieces{"", ""}));
}

TEST(SplitLines, CountsALastLineWithoutItsEnd) {
  EXPECT_EQ(SplitLines("a\r\nb\n"), (Pieces{"a", "b"}));
  EXPECT_EQ(SplitLines("a\n\nb"), (Pieces{"a", "", "b"}));
  EXPECT_EQ(SplitLines(""), Pieces{});
}

TEST(SplitWords, IgnoresRunsOfBlanks) {
  EXPECT_EQ(SplitWords("  a \t b"), (Pieces{"a", "b"}));
  EXPECT_EQ(SplitWords("  "), Pieces{});
}

TEST(JoinWithOr, ReadsAsASentence) {
  const std::vector<std::string> words = {"text", "json", "yaml"};
  EXPECT_EQ(JoinWithOr(words), "text, json or yaml");
  EXPECT_EQ(JoinWithOr(std::span(words).first(2)), "text or json");
  EXPECT_EQ(JoinWithOr(std::span(words).first(1)), "text");
  EXPECT_EQ(JoinWithOr({}), "");
}

TEST(WithoutPrefix, SaysWhetherItWasThere) {
  EXPECT_EQ(WithoutPrefix("GPU-1", "GPU-"), "1");
  EXPECT_EQ(WithoutPrefix("MIG-1", "GPU-"), std::nullopt);
}

TEST(ParseUnsigned, TakesDigitsOnly) {
  EXPECT_EQ(ParseUnsigned("0"), 0u);
  EXPECT_EQ(ParseUnsigned("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(ParseUnsigned("1f", 16), 31u);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x1", "1a", "18446744073709551616"})
    EXPECT_EQ(ParseUnsigned(bad), std::nullopt) << bad;
}

TEST(ParseInteger, TakesAMinus) {
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_EQ(ParseInteger("12"), 12);
  EXPECT_EQ(ParseInteger("--1"), std::nullopt);
  EXPECT_EQ(ParseInteger("9223372036854775808"), std::nullopt);
}

TEST(ParseSize, KnowsBothFamiliesOfUnits) {
  EXPECT_EQ(ParseSize("4096"), 4096u);
  EXPECT_EQ(ParseSize("4B"), 4u);
  EXPECT_EQ(ParseSize("4GiB"), 4294967296u);
  EXPECT_EQ(ParseSize("4Gi"), 4294967296u);
  EXPECT_EQ(ParseSize("40GB"), 40000000000u);
  EXPECT_EQ(ParseSize("1.5KiB"), 1536u);
  EXPECT_EQ(ParseSize("0.25TB"), 250000000000u);
  EXPECT_EQ(ParseSize("143771MiB"), 150754820096u);
}

TEST(ParseSize, RefusesWhatIsNotAWholeNumberOfBytes) {
  for (const char* bad : {"", "GiB", "-1GiB", "1 GiB", "1.GiB", ".5GiB", "1.5B", "1.2.3GB", "4gib",
                          "4m", "16777216TiB", "18446744073709551616", "1.0000000000001TiB"})
    EXPECT_EQ(ParseSize(bad), std::nullopt) << bad;
}

TEST(DidYouMean, FindsTheNearestWord) {
  const std::vector<std::string> profiles = {"1g.18gb", "1g.35gb", "3g.71gb", "7g.141gb"};
  EXPECT_EQ(DidYouMean("1g.18bg", profiles), "1g.18gb");
  EXPECT_EQ(DidYouMean("1G.18GB", profiles), "1g.18gb");
  EXPECT_EQ(DidYouMean("7g.14gb", profiles), "7g.141gb");
  EXPECT_EQ(DidYouMean("nonsense", profiles), "");
  EXPECT_EQ(DidYouMean("", profiles), "");
  EXPECT_EQ(DidYouMean(std::string(1000, 'a'), profiles), "");
}

TEST(DidYouMean, SuggestsNothingForWordsThatShareNothing) {
  const std::vector<std::string> words = {"a", "on"};
  EXPECT_EQ(DidYouMean("b", words), "");
  EXPECT_EQ(DidYouMean("A", words), "a");
}

TEST(CountCharacters, CountsCodePoints) {
  EXPECT_EQ(CountCharacters("Grüße"), 5u);
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("\x80"), 1u);
}

TEST(Wrap, BreaksAtSpacesAndKeepsNewlines) {
  EXPECT_EQ(Wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(Wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(Wrap("a\n\nb", 10, 2), "a\n\n  b");
  EXPECT_EQ(Wrap("unbreakable", 4), "unbreakable");
}

TEST(Quoted, ShowsMarksThatReorderAndBytesThatAreNoText) {
  EXPECT_EQ(Quoted("a\u202Eb"), "\"a\\xe2\\x80\\xaeb\"");
  EXPECT_EQ(Quoted("a\xFF"), "\"a\\xff\"");
  EXPECT_EQ(Quoted("gr\u00FC\u00DFe"), "\"gr\u00FC\u00DFe\"");
}

TEST(Quoted, ShowsWhatATerminalWouldSwallow) {
  EXPECT_EQ(Quoted("a\"b\\\n\t\x1b[0m"), R"("a\"b\\\n\t\x1b[0m")");
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(80, 'x') + "…\"");
  EXPECT_EQ(Quoted(std::string(79, 'x') + "ü"), "\"" + std::string(79, 'x') + "…\"");
}

TEST(Snippet, ShowsTheLineAndTheCarets) {
  const std::string text = "a:\n  b:\n    1g.18bg: 7\n";
  EXPECT_EQ(Snippet(text, 3, 5, 7, "did you mean \"1g.18gb\"?"),
            "    3 |     1g.18bg: 7\n"
            "      |     ^^^^^^^ did you mean \"1g.18gb\"?");
  EXPECT_EQ(Snippet(text, 1, 1, 1, ""), "    1 | a:\n      | ^");
}

TEST(Snippet, RepeatsTabsAndCountsCharacters) {
  EXPECT_EQ(Snippet("\tü: x\r\n", 1, 5, 1, "hint"), "    1 | \tü: x\n      | \t   ^ hint");
}

TEST(Snippet, CutsLongLinesAroundThePlace) {
  const std::string text = std::string(150, 'a') + "BAD" + std::string(150, 'c');
  EXPECT_EQ(Snippet(text, 1, 151, 3, ""), "    1 | …" + std::string(40, 'a') + "BAD" +
                                              std::string(57, 'c') + "…\n      | " +
                                              std::string(41, ' ') + "^^^");
}

TEST(Snippet, StaysInsideALineThatIsShorterThanThePlace) {
  EXPECT_EQ(Snippet("ab", 1, 5, 3, ""), "    1 | ab\n      |     ^");
  EXPECT_EQ(Snippet("ab", 9, 1, 3, ""), "    9 | \n      | ^");
  EXPECT_EQ(Snippet("a\x1b", 1, 1, 1, ""), "    1 | a?\n      | ^");
}

TEST(Shell, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellWord("/dev/nvidia-caps/nvidia-cap1"), "/dev/nvidia-caps/nvidia-cap1");
  EXPECT_EQ(ShellWord("a b;$(id)"), "'a b;$(id)'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("~root"), "'~root'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellQuoted("a"), "'a'");
}

}  // namespace
}  // namespace partita::base
