#include "hw/pci_mig.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "hw/testing/tree.h"

namespace partita::hw {
namespace {

using base::ErrorCode;

constexpr model::PciAddress kGpu{0, 7, 0, 0};
constexpr const char* kDirectory = "sys/bus/pci/devices/0000:07:00.0";

// A GPU as files: its registers, and a reset that leaves a trace.
class Device {
 public:
  explicit Device(std::uint32_t identity) : bar_(std::size_t{16} << 20, '\0') {
    Set(0x0, identity);
    Set(0x118234, 0x3FF);
    Write();
    tree_.File(std::string(kDirectory) + "/reset", "");
  }
  void Set(std::size_t offset, std::uint32_t value) {
    std::memcpy(bar_.data() + offset, &value, sizeof value);
  }
  void Write() const { tree_.File(Path("resource0"), bar_); }
  [[nodiscard]] std::uint32_t Get(std::size_t offset) const {
    const auto bytes = base::ReadFile(tree_.root() + "/" + Path("resource0"));
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.value().data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string ResetText() const {
    return base::ReadFile(tree_.root() + "/" + Path("reset")).value();
  }
  [[nodiscard]] base::Result<PciMig> Open() {
    return PciMig::Open(kGpu, {.root = tree_.root(), .boot_polls = 5, .pause = [this] {
                                 pauses_ += 1;
                                 if (on_pause_) on_pause_();
                               }});
  }
  static std::string Path(const std::string& name) { return std::string(kDirectory) + "/" + name; }
  testing::Tree tree_;
  std::function<void()> on_pause_;
  int pauses_ = 0;

 private:
  std::string bar_;
};

TEST(PciMig, ReadsNowAndPendingFromTheirRegisters) {
  struct Case {
    std::uint32_t current, request;
    PciMigMode mode;
  };
  for (const Case& c : {Case{0, 0, {false, false}}, Case{0x8000, 0, {true, true}},
                        Case{0x8000, 0x4000, {true, true}}, Case{0, 0xC000, {false, true}},
                        Case{0x8000, 0x8000, {true, false}}, Case{0x8000, 0xC000, {true, true}},
                        Case{0x7FFF, 0x8000, {false, false}}}) {
    Device device(0x170000A1);
    device.Set(0x1404, c.current);
    device.Set(0x118F78, c.request);
    device.Write();
    const auto gpu = device.Open();
    ASSERT_TRUE(gpu.ok()) << gpu.error().ToString();
    EXPECT_EQ(gpu->support(), PciMigSupport::kYes);
    EXPECT_EQ(gpu->ReadMode().value(), c.mode) << c.current << " " << c.request;
  }
}

TEST(PciMig, RequestLeavesTheOtherBitsAlone) {
  Device device(0x170000A1);
  device.Set(0x118F78, 0x12345678);
  device.Write();
  auto gpu = device.Open();
  ASSERT_TRUE(gpu.ok());
  ASSERT_TRUE(gpu->Request(true).ok());
  EXPECT_EQ(device.Get(0x118F78), 0x1234D678U);
  ASSERT_TRUE(gpu->Request(false).ok());
  EXPECT_EQ(device.Get(0x118F78), 0x12349678U);
  EXPECT_EQ(device.Get(0x1404), 0U);
  EXPECT_EQ(device.ResetText(), "");
}

TEST(PciMig, ResetWritesOneAndWaitsForTheFirmware) {
  Device device(0x170000A1);
  auto gpu = device.Open();
  ASSERT_TRUE(gpu.ok());
  device.Set(0x118234, 0);
  device.Write();
  device.on_pause_ = [&device] {
    if (device.pauses_ < 3) return;
    device.Set(0x118234, 0x3FF);
    device.Write();
  };
  ASSERT_TRUE(gpu->Reset().ok());
  EXPECT_EQ(device.ResetText(), "1");
  EXPECT_EQ(device.pauses_, 3);
}

TEST(PciMig, ADeviceThatAnswersWithOnesIsStillInItsReset) {
  Device device(0x170000A1);
  auto gpu = device.Open();
  ASSERT_TRUE(gpu.ok());
  device.Set(0x0, 0xFFFFFFFF);
  device.Write();
  device.on_pause_ = [&device] {
    if (device.pauses_ < 2) return;
    device.Set(0x0, 0x170000A1);
    device.Write();
  };
  EXPECT_TRUE(gpu->ReadMode().ok());
  EXPECT_EQ(device.pauses_, 2);
}

TEST(PciMig, FirmwareThatNeverComesUpIsATimeoutWithTheFile) {
  Device device(0x170000A1);
  device.Set(0x118234, 0x1FF);
  device.Write();
  auto gpu = device.Open();
  ASSERT_TRUE(gpu.ok());
  const auto mode = gpu->ReadMode();
  ASSERT_FALSE(mode.ok());
  EXPECT_EQ(mode.error().code(), ErrorCode::kTimeout);
  EXPECT_NE(mode.error().message().find("resource0"), std::string::npos);
  EXPECT_NE(mode.error().hint().find("/reset"), std::string::npos);
  EXPECT_EQ(device.pauses_, 4);  // between five polls
}

TEST(PciMig, OtherChipsAreToldApartAndNeverWrittenTo) {
  for (const auto& [identity, support] : {std::pair{0x180000A1U, PciMigSupport::kInDriver},
                                          std::pair{0x1A0000A1U, PciMigSupport::kInDriver},
                                          std::pair{0x164000A1U, PciMigSupport::kNone},
                                          std::pair{0x140000A1U, PciMigSupport::kNone}}) {
    Device device(identity);
    auto gpu = device.Open();
    ASSERT_TRUE(gpu.ok());
    EXPECT_EQ(gpu->support(), support) << std::hex << identity;
    device.Set(0x118234, 0);  // not even a register that means something else is waited for
    device.Write();
    EXPECT_EQ(gpu->Request(true).error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(device.Get(0x118F78), 0U);
    EXPECT_EQ(device.pauses_, 0);
  }
}

TEST(PciMig, ErrorsNameTheFileAndWhatToDo) {
  const auto problem = [](Device& device) {
    const auto gpu = device.Open();
    EXPECT_FALSE(gpu.ok());
    EXPECT_FALSE(gpu.error().hint().empty());
    EXPECT_NE(gpu.error().message().find("resource0"), std::string::npos);
    return gpu.error().code();
  };
  Device silent(0xFFFFFFFF);
  EXPECT_EQ(problem(silent), ErrorCode::kUnavailable);
  Device small(0x170000A1);
  for (const std::size_t size : {std::size_t{4096}, std::size_t{0x118FFF}}) {
    small.tree_.File(Device::Path("resource0"), std::string(size, '\0'));
    EXPECT_EQ(problem(small), ErrorCode::kUnsupported) << size;
  }
  Device absent(0x170000A1);
  ASSERT_TRUE(base::RemoveTree(absent.tree_.root() + "/" + Device::Path("resource0")).ok());
  EXPECT_EQ(problem(absent), ErrorCode::kNotFound);
  Device fixed(0x170000A1);
  ASSERT_TRUE(base::RemoveTree(fixed.tree_.root() + "/" + Device::Path("reset")).ok());
  const auto reset = fixed.Open().value().Reset();
  ASSERT_FALSE(reset.ok());
  EXPECT_NE(reset.error().message().find("/reset"), std::string::npos);
}

TEST(IsDriverLoaded, AsksForTheModuleByName) {
  const testing::Tree tree;
  EXPECT_FALSE(IsDriverLoaded(tree.root()));
  tree.File("sys/module/nvidia/version", "580\n");
  EXPECT_TRUE(IsDriverLoaded(tree.root()));
  tree.File("proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidiafb 1 0 - Live 0x0\n");
  EXPECT_FALSE(IsDriverLoaded(tree.root()));
  tree.File("proc/modules", "ext4 1 0 - Live 0x0\nnvidia 1 1 nvidia_uvm, Live 0x0\n");
  EXPECT_TRUE(IsDriverLoaded(tree.root()));
}

}  // namespace
}  // namespace partita::hw
