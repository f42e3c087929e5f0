#include "config/resource_name.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

TEST(ResourceName, GetsItsPrefix) {
  EXPECT_EQ(*FullResourceName("gpu"), "nvidia.com/gpu");
  EXPECT_EQ(*FullResourceName("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_EQ(*FullResourceName("mig-1g.10gb.me"), "nvidia.com/mig-1g.10gb.me");
}

TEST(ResourceName, IsADnsSubdomain) {
  for (const char* text : {"", "nvidia.com/", "$invalid$", "GPU", "gpu.", ".gpu", "-gpu", "gpu-",
                           "a..b", "a/b", "nvidia.com/nvidia.com/gpu", "gpu shared", "amd.com/gpu"})
    EXPECT_FALSE(FullResourceName(text).ok()) << text;
  EXPECT_EQ(FullResourceName("$invalid$").error().ToString(),
            "\"$invalid$\" is no name of a resource");
}

TEST(ResourceName, HasAtMost63BytesWithItsPrefix) {
  EXPECT_TRUE(FullResourceName(std::string(52, 'a')).ok());
  const auto longer = FullResourceName(std::string(53, 'a'));
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.error().ToString().find("has 64 bytes, more than 63"), std::string::npos);
}

}  // namespace
}  // namespace partita::config
