#include "cdi/name.h"

#include <gtest/gtest.h>

namespace partita::cdi {
namespace {

TEST(CdiName, IsSplitAtTheFirstEqualsAndSlash) {
  const auto name = ParseName("nvidia.com/gpu=0:1");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(*name, (QualifiedName{"nvidia.com", "gpu", "0:1"}));
  EXPECT_EQ(name->ToString(), "nvidia.com/gpu=0:1");
}

TEST(CdiName, SaysWhyATextIsNone) {
  struct Case {
    const char* text;
    const char* why;
  };
  const Case cases[] = {
      {"", "\"\" is no CDI device: there is no \"=\" in it"},
      {"0", "\"0\" is no CDI device: there is no \"=\" in it"},
      {"/dev/x=y", "\"/dev/x=y\" is no CDI device: it begins with \"/\", as a path does"},
      {"gpu=0", "\"gpu=0\" is no CDI device: there is no vendor/class before \"=\""},
      {"nvidia.com/=0",
       "\"nvidia.com/=0\" is no CDI device: there is no vendor/class before \"=\""},
      {"1vidia/gpu=0", "\"1vidia/gpu=0\" is no CDI device: the vendor is malformed"},
      {"nvidia.com/gpu/x=0", "\"nvidia.com/gpu/x=0\" is no CDI device: the class is malformed"},
      {"nvidia.com/gpu=", "\"nvidia.com/gpu=\" is no CDI device: the device's name is malformed"},
      {"nvidia.com/gpu=a=b",
       "\"nvidia.com/gpu=a=b\" is no CDI device: the device's name is malformed"},
      {"nvidia.com/gpu=../x",
       "\"nvidia.com/gpu=../x\" is no CDI device: the device's name is malformed"},
  };
  for (const Case& each : cases) {
    const auto name = ParseName(each.text);
    ASSERT_FALSE(name.ok()) << each.text;
    EXPECT_EQ(name.error().message(), each.why);
    EXPECT_EQ(name.error().hint(), "write vendor/class=name, as in nvidia.com/gpu=0");
  }
}

TEST(CdiName, KnowsWhatPartsMayHold) {
  for (const char* good : {"a", "nvidia.com", "runtime.nvidia.com", "A-b_c.9"}) {
    EXPECT_TRUE(IsVendor(good)) << good;
    EXPECT_TRUE(IsClass(good)) << good;
  }
  for (const char* bad : {"", "9a", "-a", "a-", "a b", "a/b", "a:b", "\xC3\xA4"}) {
    EXPECT_FALSE(IsVendor(bad)) << bad;
    EXPECT_FALSE(IsClass(bad)) << bad;
  }
  for (const char* good : {"0", "0:1", "all", "gpu0", "GPU-11111111-2222", "a_b.c"})
    EXPECT_TRUE(IsDeviceName(good)) << good;
  for (const char* bad : {"", ":", "0:", "-1", "a/b", "a b", "..", "a\n"})
    EXPECT_FALSE(IsDeviceName(bad)) << bad;
}

TEST(CdiName, OfAnOldMigUuidHasNoSlash) {
  EXPECT_EQ(DeviceNameFor("MIG-GPU-1111-22/7/0"), "MIG-GPU-1111-22_7_0");
  EXPECT_EQ(DeviceNameFor("GPU-1111-22"), "GPU-1111-22");
  EXPECT_TRUE(IsDeviceName(DeviceNameFor("MIG-GPU-1111-22/7/0")));
}

}  // namespace
}  // namespace partita::cdi
