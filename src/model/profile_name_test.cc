#include "model/profile_name.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

struct Spelling {
  const char* name;
  const char* text;
  ProfileName expected;
  const char* printed;
  const char* label;
};

TEST(ProfileName, ReadsEverySpelling) {
  const Spelling spellings[] = {
      {"plain", "1g.5gb", {1, 1, 5, {}, {}}, "1g.5gb", "1g.5gb"},
      {"part of a GPU instance", "1c.3g.20gb", {1, 3, 20, {}, {}}, "1c.3g.20gb", "1c.3g.20gb"},
      {"all of it, spelled out", "1c.1g.5gb", {1, 1, 5, {}, {}}, "1g.5gb", "1g.5gb"},
      {"as the driver says", "MIG 1g.18gb", {1, 1, 18, {}, {}}, "1g.18gb", "1g.18gb"},
      {"driver, attribute", "MIG 1g.18gb+me", {1, 1, 18, {"me"}, {}}, "1g.18gb+me", "1g.18gb.me"},
      {"driver, compute", "MIG 1c.3g.40gb", {1, 3, 40, {}, {}}, "1c.3g.40gb", "1c.3g.40gb"},
      {"dotted attribute",
       "2g.48gb+me.all",
       {2, 2, 48, {"me.all"}, {}},
       "2g.48gb+me.all",
       "2g.48gb.me.all"},
      {"negative", "1g.24gb-me", {1, 1, 24, {}, {"me"}}, "1g.24gb-me", "1g.24gb-me"},
      {"several, any order",
       "1g.5gb+me,gfx",
       {1, 1, 5, {"gfx", "me"}, {}},
       "1g.5gb+gfx,me",
       "1g.5gb.gfx,me"},
      {"unified memory", "3g.0gb+gfx", {3, 3, 0, {"gfx"}, {}}, "3g.0gb+gfx", "3g.0gb.gfx"},
      {"all zero", "0g.0gb", {0, 0, 0, {}, {}}, "0g.0gb", "0g.0gb"},
      {"beyond any GPU",
       "10000g.500000gb",
       {10000, 10000, 500000, {}, {}},
       "10000g.500000gb",
       "10000g.500000gb"},
  };
  for (const Spelling& spelling : spellings) {
    const base::Result<ProfileName> parsed = ProfileName::Parse(spelling.text);
    ASSERT_TRUE(parsed.ok()) << spelling.name << ": " << parsed.error().ToString();
    EXPECT_EQ(*parsed, spelling.expected) << spelling.name;
    EXPECT_EQ(parsed->ToString(), spelling.printed) << spelling.name;
    EXPECT_EQ(parsed->ToLabel(), spelling.label) << spelling.name;
    const base::Result<ProfileName> again = ProfileName::ParseLabel(parsed->ToLabel());
    ASSERT_TRUE(again.ok()) << spelling.name;
    EXPECT_EQ(*again, *parsed) << spelling.name;
  }
}

TEST(ProfileName, RefusesWhatIsNotAName) {
  for (const char* text : {"",
                           "MIG",
                           "MIG ",
                           "1g",
                           "5gb",
                           "g.gb",
                           "1g.gb",
                           "g.5gb",
                           "1.5",
                           "1g5gb",
                           "1g.5GB",
                           "1G.5gb",
                           "-1g.5gb",
                           "1g.-5gb",
                           "+1g.5gb",
                           "1g. 5gb",
                           " 1g.5gb",
                           "1g.5gb ",
                           "1c.2c.3g.5gb",
                           "1g.3c.5gb",
                           "1g.5gb.me",
                           "1g.5gb+",
                           "1g.5gb-",
                           "1g.5gb+me,",
                           "1g.5gb+,me",
                           "1g.5gb+me,me",
                           "1g.5gb+me-gfx",
                           "1g.5gb-me+gfx",
                           "1g.5gb++me",
                           "1g.5gb+1me",
                           "1g.5gb+.me",
                           "1g.5gb+me.",
                           "1g.5gb+m e",
                           "1g.5gb+m_e",
                           "c.1g.5gb",
                           "1x.1g.5gb",
                           "MIG MIG 1g.5gb",
                           "4294967296g.5gb",
                           "1g.18446744073709551616gb"}) {
    EXPECT_FALSE(ProfileName::Parse(text).ok()) << text;
  }
}

TEST(ProfileName, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    return ProfileName::Parse(text).error().ToString();
  };
  EXPECT_EQ(message("1g.5"), R"("1g.5" is not a MIG profile name: it needs slices and memory)");
  EXPECT_EQ(message("1g.5gb+"), R"("1g.5gb+" is not a MIG profile name: "" is not an attribute)");
  EXPECT_EQ(message("1g.5gb+me,me"),
            R"("1g.5gb+me,me" is not a MIG profile name: attribute me is given twice)");
  EXPECT_EQ(ProfileName::Parse("x").error().hint(),
            "write it like 1g.5gb, 1c.3g.20gb or 1g.10gb+me");
}

TEST(ProfileName, ReadsResourceNames) {
  const base::Result<ProfileName> parsed = ProfileName::ParseLabel("mig-1c.4g.96gb.me.all");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, (ProfileName{1, 4, 96, {"me.all"}, {}}));
  for (const char* text :
       {"mig-", "mig-1g.10gb+me", "mig-1g.10gb.", "MIG 1g.10gb", "1g.10gb..me"}) {
    EXPECT_FALSE(ProfileName::ParseLabel(text).ok()) << text;
  }
}

struct Suffix {
  const char* board;
  std::uint64_t total_mib;
  std::uint64_t memory_mib;
  std::uint64_t expected;
};

// Totals and profile sizes that drivers were seen to report, and the number in nvidia-smi's name.
TEST(MemorySuffix, AgreesWithTheDriversNames) {
  const Suffix suffixes[] = {
      {"A100-40 1g", 40960, 4864, 5},
      {"A100-40 2g", 40960, 9856, 10},
      {"A100-40 3g", 40960, 19968, 20},
      {"A100-40 7g", 40960, 40192, 40},
      {"A100-80 1g", 81920, 9728, 10},
      {"A100-80 7g", 81920, 80896, 80},
      {"A30 1g", 24576, 5952, 6},
      {"A30 4g", 24576, 24000, 24},
      {"H100-80 1g", 81559, 9984, 10},
      {"H100-80 3g", 81559, 40448, 40},
      {"H100-80 7g", 81559, 81152, 80},
      {"H200 1g", 143771, 16384, 18},
      {"H200 2g", 143771, 33280, 35},
      {"H200 3g, half up", 143771, 71424, 71},
      {"H200 7g", 143771, 143360, 141},
      {"B200 1g, half up", 183359, 22528, 23},
      {"B200 2g", 183359, 45312, 45},
      {"RTX PRO 6000 1g", 97887, 24192, 24},
      {"RTX PRO 6000 2g", 97887, 48512, 48},
      {"RTX PRO 6000 4g", 97887, 97280, 96},
      {"Thor", 0, 0, 0},
      {"no memory of its own", 40960, 0, 0},
  };
  for (const Suffix& suffix : suffixes) {
    EXPECT_EQ(MemorySuffix(Mebibytes(suffix.memory_mib), Bytes(suffix.total_mib << 20U)),
              suffix.expected)
        << suffix.board;
  }
  EXPECT_EQ(MemorySuffix(Mebibytes(4864), Bytes(42949672960)), 5U);
  EXPECT_EQ(MemorySuffix(Mebibytes(16384), Bytes(150754820096)), 18U);
}

TEST(MemorySuffix, RoundsHalvesAwayFromZero) {
  // 94 GiB board: a quarter is 23.5.
  EXPECT_EQ(MemorySuffix(Mebibytes(22144), Bytes(94ULL << 30U)), 24U);
}

TEST(MemorySuffix, SurvivesNonsense) {
  EXPECT_EQ(MemorySuffix(Mebibytes(UINT64_MAX), Bytes(0)), 0U);
  (void)MemorySuffix(Mebibytes(UINT64_MAX), Bytes(UINT64_MAX));
  (void)MemorySuffix(Mebibytes(UINT64_MAX), Bytes(1));
}

TEST(NameGpuInstanceProfile, TakesAttributesFromTheConstant) {
  const auto name = [](std::uint32_t constant, std::uint32_t slices) {
    return NameGpuInstanceProfile(ProfileConstant(constant), slices, 24, "").ToString();
  };
  EXPECT_EQ(name(0, 1), "1g.24gb");
  EXPECT_EQ(name(7, 1), "1g.24gb+me");
  EXPECT_EQ(name(8, 2), "2g.24gb+me");
  EXPECT_EQ(name(9, 1), "1g.24gb");
  EXPECT_EQ(name(10, 1), "1g.24gb+gfx");
  EXPECT_EQ(name(12, 4), "4g.24gb+gfx");
  EXPECT_EQ(name(13, 1), "1g.24gb-me");
  EXPECT_EQ(name(14, 2), "2g.24gb-me");
  EXPECT_EQ(name(15, 1), "1g.24gb+me.all");
  EXPECT_EQ(name(16, 2), "2g.24gb+me.all");
  EXPECT_EQ(name(17, 3), "3g.24gb+gfx");
}

TEST(NameGpuInstanceProfile, KeepsConstantsItDoesNotKnow) {
  EXPECT_EQ(NameGpuInstanceProfile(ProfileConstant(18), 5, 60, "MIG 5g.60gb+new").ToString(),
            "5g.60gb+new");
  EXPECT_EQ(NameGpuInstanceProfile(ProfileConstant(18), 5, 60, "").ToString(), "5g.60gb");
}

}  // namespace
}  // namespace partita::model
