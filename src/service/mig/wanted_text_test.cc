#include "service/mig/wanted_text.h"

#include <gtest/gtest.h>

#include "config/products.h"

namespace partita::service::mig {
namespace {

TEST(WantedText, TakesEverySpelling) {
  const WantedText wanted = WantedText::Parse("1g.5gb:7,id:19,id:9/1c:2,1g*2").value();
  ASSERT_EQ(wanted.entries.size(), 4U);
  EXPECT_EQ(wanted.entries[0].count, 7U);
  EXPECT_EQ(wanted.entries[1].profile, "id:19");
  EXPECT_EQ(wanted.entries[1].count, 1U);
  EXPECT_EQ(wanted.entries[2].profile, "id:9/1c");
  EXPECT_EQ(wanted.entries[2].count, 2U);
  EXPECT_FALSE(WantedText::Parse("off")->enabled);
  EXPECT_TRUE(WantedText::Parse("none")->enabled);
}

TEST(WantedText, PointsAtWhatIsWrong) {
  EXPECT_EQ(WantedText::Parse("1g.5gb:7,,2g:x").error().message(),
            "--want:1:10: a profile is missing\n"
            "    1 | 1g.5gb:7,,2g:x\n"
            "      |          ^ write PROFILE:COUNT, as 1g.5gb:7; several with commas\n"
            "--want:1:14: \"x\" is no count\n"
            "    1 | 1g.5gb:7,,2g:x\n"
            "      |              ^ a whole number, as in 1g.5gb:7");
  const model::Gpu gpu = config::ProductGpu("H200").value();
  EXPECT_EQ(ResolveWanted(WantedText::Parse("2g.35gb,1g.20gb:2").value(), gpu).error().message(),
            "--want:1:9: NVIDIA H200: unknown MIG profile \"1g.20gb\"\n"
            "    1 | 2g.35gb,1g.20gb:2\n"
            "      |         ^^^^^^^ did you mean \"1g.18gb\"?");
}

}  // namespace
}  // namespace partita::service::mig
