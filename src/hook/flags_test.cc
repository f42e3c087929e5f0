#include "hook/flags.h"

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

constexpr Flag kTable[] = {
    {"folder", Takes::kValues}, {"path", Takes::kValue}, {"debug", Takes::kNothing}};
using Words = std::vector<std::string>;

std::string FlagsError(const Words& words) {
  const base::Result<Flags> flags = Flags::Parse(words, kTable);
  return flags.ok() ? "(no error)" : flags.error().ToString();
}

TEST(Flags, AreReadInEverySpelling) {
  const Words words{"--folder", "/a,b", "-folder=/c", "--path=/x=y", "--path", "-z", "--debug"};
  const Flags flags = *Flags::Parse(words, kTable);
  EXPECT_EQ(flags.Values("folder"), (Words{"/a,b", "/c"}));
  EXPECT_EQ(flags.Value("path"), "-z");
  EXPECT_TRUE(flags.Has("debug"));
  EXPECT_EQ(Flags::Parse(Words{}, kTable)->Value("path", "/default"), "/default");
}

TEST(Flags, UnknownOnesAreErrors) {
  EXPECT_EQ(FlagsError({"--bogus"}), "there is no flag \"--bogus\"");
  EXPECT_EQ(FlagsError({"--path"}), "the flag --path needs a value");
  EXPECT_EQ(FlagsError({"word"}), "\"word\" is no flag");
  EXPECT_EQ(FlagsError({"--"}), "\"--\" is no flag");
}

}  // namespace
}  // namespace partita::hook
