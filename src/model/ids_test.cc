#include "model/ids.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

TEST(PciAddress, ReadsEverySpelling) {
  const PciAddress expected{.domain = 0, .bus = 0x0F, .device = 0, .function = 0};
  for (const char* text :
       {"0000:0f:00.0", "00000000:0F:00.0", "0f:00.0", "0000:0f:00", "f:0.0", "00000:0f:00.0"}) {
    const base::Result<PciAddress> parsed = PciAddress::Parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(PciAddress, KeepsWideDomainsAndFunctions) {
  const base::Result<PciAddress> parsed = PciAddress::Parse("00010A00:81:1F.7");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, (PciAddress{.domain = 0x10A00, .bus = 0x81, .device = 31, .function = 7}));
  EXPECT_EQ(parsed->ToString(), "10a00:81:1f.7");
  EXPECT_EQ(parsed->NvmlBusId(), "00010A00:81:1F.7");
}

TEST(PciAddress, PrintsAsSysfsAndAsNvml) {
  const PciAddress address{.domain = 0, .bus = 0x4E, .device = 0, .function = 0};
  EXPECT_EQ(address.ToString(), "0000:4e:00.0");
  EXPECT_EQ(address.NvmlBusId(), "00000000:4E:00.0");
}

TEST(PciAddress, RefusesWhatIsNotAnAddress) {
  for (const char* text : {"", ":", "07", "0000:07:00.8", "0000:07:20.0", "000:07:00.0",
                           "123456789:07:00.0", "0000:107:00.0", "0000:07:00.", "0000:0g:00.0",
                           "0000:-7:00.0", " 07:00.0", "a:b:c:d.0", "0000::00.0", "0000:07:.0"}) {
    EXPECT_FALSE(PciAddress::Parse(text).ok()) << text;
  }
  const base::Result<PciAddress> parsed = PciAddress::Parse("GPU-1");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().ToString(), R"("GPU-1" is not a PCI address)");
  EXPECT_EQ(parsed.error().hint(), "write it as sysfs does, for example 0000:07:00.0");
}

TEST(PciAddress, OrdersByDomainBusDevice) {
  const PciAddress low{.domain = 0, .bus = 7, .device = 0, .function = 0};
  const PciAddress high{.domain = 0, .bus = 0x0F, .device = 0, .function = 0};
  const PciAddress other_domain{.domain = 1, .bus = 0, .device = 0, .function = 0};
  EXPECT_LT(low, high);
  EXPECT_LT(high, other_domain);
}

}  // namespace
}  // namespace partita::model
