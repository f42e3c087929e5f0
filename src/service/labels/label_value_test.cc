#include "service/labels/label_value.h"

#include <gtest/gtest.h>

namespace partita::service::labels {
namespace {

TEST(LabelValue, IsMadeOfNamesAsTheReferenceMakesIt) {
  EXPECT_EQ(Sanitised("NVIDIA A100-SXM4-40GB"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(Sanitised("NVIDIA TITAN X (Pascal)"), "NVIDIA-TITAN-X-Pascal");
  EXPECT_EQ(Sanitised(" input  with multiple   spaces   "), "input-with-multiple-spaces");
  EXPECT_EQ(Sanitised("some [ / thing / ]else"), "some-thing-else");
  EXPECT_EQ(Sanitised("X9SRA/X9SRA-3"), "X9SRAX9SRA-3");
  EXPECT_EQ(Sanitised("tab\there\n\xc3\xa4"), "tabhere");
  EXPECT_EQ(Sanitised(""), "");
}

TEST(LabelValue, OfOursHasDashesForOtherCharacters) {
  EXPECT_EQ(Dashed("NVIDIA TITAN X (Pascal)"), "NVIDIA-TITAN-X--Pascal");
  EXPECT_EQ(Dashed("(/)"), "");
}

TEST(LabelValue, IsCutToWhatKubernetesTakes) {
  EXPECT_EQ(Fitting("-_.a-_.b-_."), "a-_.b");
  EXPECT_EQ(Fitting(std::string(62, 'a') + "--b"), std::string(62, 'a'));
  EXPECT_EQ(Fitting("..."), "");
}

TEST(LabelValue, IsJudged) {
  for (const char* good : {"", "a", "A-_.9", "1g.5gb.me"}) EXPECT_TRUE(IsLabelValue(good)) << good;
  for (const char* bad : {"-a", "a.", "a b", "a+b", "\xc3\xa4"})
    EXPECT_FALSE(IsLabelValue(bad)) << bad;
  EXPECT_TRUE(IsLabelValue(std::string(63, 'a')));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
  EXPECT_TRUE(IsLabelKey("nvidia.com/mig-1g.5gb.product"));
  for (const char* bad : {"nvidia.com/", "/a", "a", "nvidia.com/a+b"})
    EXPECT_FALSE(IsLabelKey(bad)) << bad;
}

}  // namespace
}  // namespace partita::service::labels
