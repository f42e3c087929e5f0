#include "hw/sysfs/vgpu.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::sysfs {
namespace {

using std::string_literals::operator""s;

// A space whose list of capabilities begins at `at` with these bytes.
std::string Space(std::size_t at, const std::string& capability) {
  std::string space(256, '\0');
  space[0x06] = 0x10;
  space[0x34] = static_cast<char>(at);
  return space.replace(at, capability.size(), capability);
}

// The record of a host's driver: two texts of ten bytes.
std::string HostRecord(std::string version, std::string branch) {
  version.resize(10, '\0');
  branch.resize(10, '\0');
  return "\x00\x16"s + version + branch;
}

std::optional<model::VgpuHost> Parsed(const std::string& space) {
  const auto host = ParseVgpu(space);
  EXPECT_TRUE(host.ok());
  return host.ok() ? *host : std::nullopt;
}

TEST(ParseVgpu, ReadsTheHostsDriver) {
  EXPECT_EQ(Parsed(Space(0xd0, "\x09\x68\x1bVF" + HostRecord("460.16", "r460_00"))),
            (model::VgpuHost{"460.16", "r460_00"}));
}

TEST(ParseVgpu, PassesOverOtherCapabilitiesAndRecords) {
  std::string space = Space(0x60, "\x01\x70\x03\x00"s);
  space.replace(0x70, 31, "\x09\x00\x1fVF\x05\x04__"s + HostRecord("550.54.16", "r550_40"));
  EXPECT_EQ(Parsed(space), (model::VgpuHost{"550.54.16", "r550_40"}));
}

TEST(ParseVgpu, TextsMayFillTheirBytes) {
  EXPECT_EQ(Parsed(Space(0x40, "\x09\x00\x1bVF"s + HostRecord("0123456789", "abcdefghij"))),
            (model::VgpuHost{"0123456789", "abcdefghij"}));
}

TEST(ParseVgpu, AGpuThatIsPassedThroughIsNone) {
  EXPECT_EQ(Parsed(Space(0xb4, "\x09\x00\x14\x01"s + std::string(16, '\0'))), std::nullopt);
  EXPECT_EQ(Parsed(std::string(256, '\0')), std::nullopt);
  EXPECT_EQ(Parsed(std::string(4096, '\xff')), std::nullopt);
}

TEST(ParseVgpu, WithoutTheRecordItIsOneAllTheSame) {
  const std::string endless = "\x09\x00\x1bVF\x05\x00"s;  // a record of no length
  const std::string cut =
      "\x09\x00\x0aVF\x00\x16"
      "460"s;  // shorter than its record
  EXPECT_EQ(Parsed(Space(0x40, endless)), model::VgpuHost());
  EXPECT_EQ(Parsed(Space(0x40, cut)), model::VgpuHost());
  EXPECT_EQ(Parsed(Space(0xf8, "\x09\x00\xffVF\x07\xf0"s)), model::VgpuHost());
}

TEST(ParseVgpu, AListThatBendsBackEnds) {
  std::string space = Space(0x40, "\x01\x50\x02"s);
  space.replace(0x50, 3, "\x05\x40\x02"s);
  EXPECT_EQ(Parsed(space), std::nullopt);
}

TEST(ParseVgpu, SaysThatSomebodyElseWouldSeeMore) {
  const auto host = ParseVgpu(std::string(64, '\0'));
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.error().ToString(), "64 of its 256 bytes of PCI config space were read");
  EXPECT_EQ(host.error().hint(),
            "only root sees all of it; in a container it needs privileged: true");
}

TEST(ReadVgpu, LooksAtEveryFunctionOfNvidia) {
  const testing::Tree tree;
  const std::string vgpu = Space(0xd0, "\x09\x68\x1bVF" + HostRecord("460.16", "r460_00"));
  tree.PciDevice("pci0000:00/0000:00:03.0", "0x10de", "0x030000", "nvidia");
  tree.File("sys/devices/pci0000:00/0000:00:03.0/config", std::string(256, '\0'));
  tree.PciDevice("pci0000:00/0000:00:04.0", "0x1af4", "0x030000", "virtio-pci");
  EXPECT_EQ(ReadVgpu(tree.root()).value(), model::VgpuFacts());

  tree.PciDevice("pci0000:00/0000:00:05.0", "0x10de", "0x068000", "nvidia");
  tree.File("sys/devices/pci0000:00/0000:00:05.0/config", vgpu);
  EXPECT_EQ(ReadVgpu(tree.root()).value().host, (model::VgpuHost{"460.16", "r460_00"}));

  tree.PciDevice("pci0000:00/0000:00:06.0", "0x10de", "0x030000", "nvidia");
  tree.File("sys/devices/pci0000:00/0000:00:06.0/config", std::string(64, '\0'));
  EXPECT_EQ(ReadVgpu(tree.root()).error().ToString(),
            "0000:00:06.0: 64 of its 256 bytes of PCI config space were read");
}

}  // namespace
}  // namespace partita::hw::sysfs
