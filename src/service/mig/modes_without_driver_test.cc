#include "service/mig/modes_without_driver.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "hw/testing/tree.h"
#include "service/mig/testing/targets.h"

namespace partita::service::mig {
namespace {

constexpr std::uint32_t kGa100 = 0x170000A1, kHopper = 0x180000A1, kTuring = 0x164000A1;

// A machine without a driver. Its reset files do nothing: modes stay pending.
class Machine {
 public:
  void Gpu(const std::string& address, std::uint32_t chip, std::uint32_t mode, bool on_bus = true) {
    const std::string path = "pci0000:00/" + address;
    tree_.PciDevice(path, "0x10de", "0x030200", on_bus ? "" : "vfio-pci");
    std::string bar(std::size_t{16} << 20, '\0');
    const auto set = [&bar](std::size_t at, std::uint32_t value) {
      std::memcpy(bar.data() + at, &value, sizeof value);
    };
    set(0x0, chip);
    set(0x1404, mode);
    set(0x118234, 0x3FF);
    tree_.File("sys/devices/" + path + "/resource0", bar);
    tree_.File("sys/devices/" + path + "/reset", "");
  }
  [[nodiscard]] bool WasReset(const std::string& address) const {
    const std::string path = tree_.root() + "/sys/bus/pci/devices/" + address + "/reset";
    return base::ReadFile(path).value() == "1";
  }
  [[nodiscard]] hw::PciMigOptions options() const {
    return {.root = tree_.root(), .boot_polls = 1, .pause = [] {}};
  }
  [[nodiscard]] model::Inventory Look() const { return LookWithoutDriver(options()).value(); }
  [[nodiscard]] ApplyReport Apply(const NodeGoal& goal, bool skip_reset) const {
    const std::atomic<bool> stop = false;
    return ApplyModesWithoutDriver(Look(), goal, skip_reset, options(), {}, stop).value();
  }
  hw::testing::Tree tree_;
};

base::Result<NodeGoal> Resolve(const std::string& entries, const model::Inventory& node) {
  const auto file =
      config::MigConfigFile::Parse("version: v1\nmig-configs:\n  x:\n" + entries, "test");
  EXPECT_TRUE(file.ok()) << file.error().ToString();
  return ResolveModes(*file, *file->Select("x").value(), node);
}

TEST(LookWithoutDriver, NumbersByAddressAndLeavesOthersGpusOut) {
  Machine machine;
  machine.Gpu("0000:47:00.0", kGa100, 0x8000);
  machine.Gpu("0000:07:00.0", kHopper, 0);
  machine.Gpu("0000:0f:00.0", kGa100, 0x8000, false);
  machine.Gpu("0000:90:00.0", kTuring, 0);
  const model::Inventory node = machine.Look();
  ASSERT_EQ(node.gpus.size(), 3U);
  EXPECT_EQ(node.gpus[0].pci.ToString(), "0000:07:00.0");
  EXPECT_FALSE(node.gpus[0].mig->enabled);
  EXPECT_EQ(node.gpus[0].faults.size(), 1U);
  EXPECT_EQ(node.gpus[1].index, model::GpuIndex(1));
  EXPECT_TRUE(node.gpus[1].mig->enabled);
  EXPECT_TRUE(node.gpus[1].faults.empty());
  EXPECT_FALSE(node.gpus[2].mig.has_value());
}

TEST(ResolveModes, TakesNoNoticeOfDevicesAndRefusesWhatOnlyADriverTells) {
  Machine machine;
  machine.Gpu("0000:07:00.0", kGa100, 0);
  machine.Gpu("0000:0f:00.0", kTuring, 0);
  const model::Inventory node = machine.Look();
  const auto all = Resolve(
      "    - devices: all\n      mig-enabled: true\n      mig-devices: {1g.5gb: 7}\n", node);
  ASSERT_TRUE(all.ok()) << all.error().ToString();
  EXPECT_EQ(*all, (NodeGoal{Mode(node, 0, true)}));
  for (const std::string name : {"GPU-12345678-1234-1234-1234-123456789abc", "A100-SXM4-40GB"}) {
    const auto named = Resolve("    - devices: [" + name + "]\n      mig-enabled: false\n", node);
    ASSERT_FALSE(named.ok());
    EXPECT_NE(named.error().ToString().find("without the driver"), std::string::npos);
  }
  EXPECT_FALSE(
      Resolve("    - devices: [1]\n      mig-enabled: true\n      mig-devices: {}\n", node).ok());
}

TEST(ApplyModesWithoutDriver, ChangesOnlyGpusWhoseModeIsWrong) {
  Machine machine;
  machine.Gpu("0000:07:00.0", kGa100, 0);
  machine.Gpu("0000:0f:00.0", kGa100, 0x8000);
  const ApplyReport report =
      machine.Apply({Mode(machine.Look(), 0, true), Mode(machine.Look(), 1, true)}, false);
  EXPECT_FALSE(report.Failed());
  EXPECT_TRUE(machine.WasReset("0000:07:00.0"));
  EXPECT_FALSE(machine.WasReset("0000:0f:00.0"));
  // This machine's reset does nothing, and the report says what is there.
  EXPECT_FALSE(report.applied);
  EXPECT_TRUE(report.reset_required);
  EXPECT_TRUE(report.after.gpus[0].mig->pending_enabled);
}

TEST(ApplyModesWithoutDriver, LeavesTheResetToOthersWhenToldTo) {
  Machine machine;
  machine.Gpu("0000:07:00.0", kGa100, 0x8000);
  const ApplyReport report = machine.Apply({Mode(machine.Look(), 0, false)}, true);
  EXPECT_FALSE(machine.WasReset("0000:07:00.0"));
  EXPECT_TRUE(report.reset_required);
  EXPECT_FALSE(report.after.gpus[0].mig->pending_enabled);
}

TEST(ApplyModesWithoutDriver, SaysWhichGpusAreOutOfReachAndChangesTheOthers) {
  Machine machine;
  machine.Gpu("0000:07:00.0", kHopper, 0);
  machine.Gpu("0000:0f:00.0", kGa100, 0);
  machine.Gpu("0000:47:00.0", 0xFFFFFFFF, 0);
  const NodeGoal on = {Mode(machine.Look(), 0, true), Mode(machine.Look(), 1, true),
                       Mode(machine.Look(), 2, true)};
  const ApplyReport report = machine.Apply(on, false);
  const std::vector<std::string> errors = ErrorTexts(report);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_NE(errors[0].find("Hopper and later keep the MIG mode"), std::string::npos);
  EXPECT_NE(errors[1].find("0000:47:00.0"), std::string::npos);
  EXPECT_TRUE(machine.WasReset("0000:0f:00.0"));
  EXPECT_FALSE(machine.WasReset("0000:07:00.0"));
  // Off is what a Hopper GPU will be; of a silent one nobody knows.
  const NodeGoal off = {Mode(machine.Look(), 0, false), Mode(machine.Look(), 2, false)};
  EXPECT_EQ(OutOfReach(machine.Look(), off).size(), 1U);
}

}  // namespace
}  // namespace partita::service::mig
