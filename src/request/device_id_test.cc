#include "request/device_id.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace partita::request {
namespace {

using cdi::DeviceRow;

TEST(DeviceId, HasFiveForms) {
  EXPECT_EQ(*ParseDeviceId("3"), DeviceId(WholeGpu{3}));
  EXPECT_EQ(*ParseDeviceId("3:11"), DeviceId(Slice{3, 11}));
  EXPECT_EQ(*ParseDeviceId("GPU-C64f0aBE-1"), DeviceId(ByUuid{"gpu-c64f0abe-1"}));
  EXPECT_EQ(*ParseDeviceId("mig-c64f0abe-1"), DeviceId(ByUuid{"mig-c64f0abe-1"}));
  EXPECT_EQ(*ParseDeviceId("MIG-GPU-c64F-1/5/0"), DeviceId(ByInstance{"gpu-c64f-1", 5, 0}));
  EXPECT_EQ(*ParseDeviceId("0000:3B:00.0"), DeviceId(ByBus{{0, 0x3b, 0, 0}}));
  EXPECT_EQ(*ParseDeviceId("00010000:3b:1f.1"), DeviceId(ByBus{{0x10000, 0x3b, 0x1f, 1}}));
  EXPECT_EQ(*ParseDeviceId("7:0.0"), DeviceId(ByBus{{0, 7, 0, 0}}));
}

// GPU 0 of a DGX A100 is on bus 7.
TEST(DeviceId, ASliceIsNoPciAddress) {
  EXPECT_EQ(*ParseDeviceId("7:0"), DeviceId(Slice{7, 0}));
  EXPECT_EQ(*ParseDeviceId("07:00"), DeviceId(Slice{7, 0}));
  EXPECT_FALSE(ParseDeviceId("3b:00").ok());
  EXPECT_FALSE(ParseDeviceId("0000:07:00").ok());
}

TEST(DeviceId, RefusesEverythingElse) {
  for (const char* text : {"",
                           " 0",
                           "0 ",
                           "+1",
                           "-1",
                           "0x0",
                           "0:",
                           ":0",
                           "0:1:2",
                           "0:1:2:3",
                           "4294967296",
                           "0:4294967296",
                           "all",
                           "none",
                           "void",
                           "gpu",
                           "gpu-",
                           "GPU-",
                           "MIG-",
                           "GPU-a/0/0",
                           "GPU-../a",
                           "MIG-../0/0",
                           "MIG-GPU-/0/0",
                           "MIG-GPU-a/0",
                           "MIG-GPU-a/0/0/0",
                           "MIG-GPU-a/-1/0",
                           "MIG-GPU-a//0",
                           "MIG-a/0/0",
                           "../0",
                           "0/1",
                           "a\n",
                           "GPU-a\n",
                           "0000:3b:00.8",
                           "0000:3b:00.",
                           ".0",
                           "nvidia.com/gpu=0",
                           "GPU-\xc3\xa4"}) {
    const base::Result<DeviceId> id = ParseDeviceId(text);
    ASSERT_FALSE(id.ok()) << text;
    EXPECT_EQ(id.error().code(), base::ErrorCode::kInvalid);
    EXPECT_TRUE(id.error().message().starts_with("identifier is not a valid UUID or index: "))
        << id.error().ToString();
  }
  EXPECT_FALSE(ParseDeviceId(std::string_view("0\0", 2)).ok());
}

// GPU 0 whole; GPU 1 with slices in the slots 0 and 3; their UUIDs as drivers before R470 and as
// later ones give them.
std::vector<DeviceRow> Rows() {
  DeviceRow whole;
  whole.uuid = "GPU-aaaa";
  whole.pci = "0000:3b:00.0";
  DeviceRow parent;
  parent.index = 1;
  parent.minor = 5;
  parent.uuid = "GPU-BBBB";
  parent.pci = "10000:07:00.0";
  parent.mig_enabled = true;
  DeviceRow old = parent;
  old.mig = {.slot = 0, .gi = 1, .ci = 0, .gi_cap = 12, .ci_cap = 13, .uuid = "MIG-GPU-BBBB/1/0"};
  DeviceRow newer = parent;
  newer.mig = {.slot = 3, .gi = 5, .ci = 2, .gi_cap = 48, .ci_cap = 49, .uuid = "MIG-cccc"};
  return {whole, parent, old, newer};
}

std::string Resolved(const std::vector<std::string>& ids,
                     std::vector<cdi::Miscount> miscounts = {}) {
  cdi::NodeDevices node;
  node.rows = Rows();
  node.miscounts = std::move(miscounts);
  const base::Result<std::vector<const DeviceRow*>> found = Resolve(ids, node);
  if (!found.ok()) return found.error().ToString();
  std::string text;
  for (const DeviceRow* row : *found) {
    if (!text.empty()) text += ' ';
    text +=
        row->mig ? fmt::format("{}:{}", row->index, row->mig->slot) : fmt::format("{}", row->index);
  }
  return text;
}

TEST(DeviceId, NamesARowInEveryForm) {
  EXPECT_EQ(Resolved({"0"}), "0");
  EXPECT_EQ(Resolved({"1"}), "1");
  EXPECT_EQ(Resolved({"1:0"}), "1:0");
  EXPECT_EQ(Resolved({"1:3"}), "1:3");
  EXPECT_EQ(Resolved({"gpu-AAAA"}), "0");
  EXPECT_EQ(Resolved({"GPU-bbbb"}), "1");
  EXPECT_EQ(Resolved({"MIG-CCCC"}), "1:3");
  EXPECT_EQ(Resolved({"MIG-GPU-bbbb/1/0"}), "1:0");
  EXPECT_EQ(Resolved({"mig-gpu-bbbb/5/2"}), "1:3");
  EXPECT_EQ(Resolved({"00000000:3B:00.0"}), "0");
  EXPECT_EQ(Resolved({"3b:0.0"}), "0");
  EXPECT_EQ(Resolved({"00010000:07:00.0"}), "1");
}

TEST(DeviceId, ANumberThatMayBeAnothersIsRefused) {
  const std::vector<cdi::Miscount> gpus = {{std::nullopt, 0, "/dev/nvidia0 is missing", ""}};
  EXPECT_EQ(Resolved({"0"}, gpus), "0: its number may be another's now: /dev/nvidia0 is missing");
  EXPECT_EQ(Resolved({"1:0"}, gpus),
            "1:0: its number may be another's now: /dev/nvidia0 is missing");
  EXPECT_EQ(Resolved({"GPU-aaaa", "MIG-CCCC", "MIG-GPU-bbbb/1/0", "3b:0.0"}, gpus), "0 1:3 1:0");
  const std::vector<cdi::Miscount> slices = {{1, 0, "nvidia-cap12 is missing", ""}};
  EXPECT_EQ(Resolved({"1:3"}, slices),
            "1:3: its number may be another's now: nvidia-cap12 is missing");
  EXPECT_EQ(Resolved({"0", "1", "MIG-cccc"}, slices), "0 1 1:3");
  const std::vector<cdi::Miscount> others = {{0, 0, "nvidia-cap2 is missing", ""}};
  EXPECT_EQ(Resolved({"1:3"}, others), "1:3");
  const std::vector<cdi::Miscount> behind = {{std::nullopt, 1, "/dev/nvidia1 is missing", ""}};
  EXPECT_EQ(Resolved({"0"}, behind), "0");
  EXPECT_EQ(Resolved({"1"}, behind), "1: its number may be another's now: /dev/nvidia1 is missing");
}

TEST(DeviceId, KeepsTheOrderAndDropsRepetitions) {
  EXPECT_EQ(Resolved({}), "");
  EXPECT_EQ(Resolved({"1:3", "0", "MIG-cccc", "0", "GPU-aaaa", "1:0"}), "1:3 0 1:0");
}

TEST(DeviceId, UnknownOnesAreNamed) {
  EXPECT_EQ(Resolved({"0", "2"}), "2: unknown device");
  EXPECT_EQ(Resolved({"0:0"}), "0:0: unknown device");
  EXPECT_EQ(Resolved({"1:1"}), "1:1: unknown device");
  EXPECT_EQ(Resolved({"7:0"}), "7:0: unknown device");
  EXPECT_EQ(Resolved({"07:00.0"}), "07:00.0: unknown device");
  EXPECT_EQ(Resolved({"GPU-cccc"}), "GPU-cccc: unknown device");
  EXPECT_EQ(Resolved({"MIG-GPU-aaaa/1/0"}), "MIG-GPU-aaaa/1/0: unknown device");
  EXPECT_EQ(Resolved({"MIG-GPU-bbbb/1/1"}), "MIG-GPU-bbbb/1/1: unknown device");
  EXPECT_EQ(Resolved({"0", "x"}), "identifier is not a valid UUID or index: \"x\"");
}

}  // namespace
}  // namespace partita::request
