#include "hook/legacy/order.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::hook {
namespace {

using request::Kind;

cdi::NodeDevices OrderedNode() {
  cdi::NodeDevices node;
  node.rows.resize(3);
  node.rows[0].uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
  node.rows[1].index = node.rows[2].index = 1;
  node.rows[1].uuid = node.rows[2].uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000";
  node.rows[1].minor = node.rows[2].minor = 5;
  node.rows[2].mig = cdi::DeviceRow::Mig{
      .slot = 2, .gi = 3, .ci = 0, .uuid = "MIG-cccccccc-0000-0000-0000-000000000000"};
  return node;
}

// "0, 1:2", or why not.
std::string Found(Kind kind, std::vector<std::string> devices) {
  const cdi::NodeDevices node = OrderedNode();
  request::Request request;
  request.kind = kind;
  request.devices = std::move(devices);
  const auto rows = FindDevices(request, node);
  if (!rows.ok()) return rows.error().ToString();
  std::vector<std::string> words;
  for (const cdi::DeviceRow* row : *rows)
    words.push_back(row->mig ? fmt::format("{}:{}", row->index, row->mig->slot)
                             : fmt::format("{}", row->index));
  return base::Join(words, ", ");
}

TEST(FindDevices, ByEveryName) {
  EXPECT_EQ(Found(Kind::kAll, {}), "0, 1, 1:2");
  EXPECT_EQ(Found(Kind::kNone, {}), "");
  EXPECT_EQ(Found(Kind::kDevices, {"1:2", "0"}), "1:2, 0");
  EXPECT_EQ(Found(Kind::kDevices, {"mig-CCCCCCCC-0000-0000-0000-000000000000"}), "1:2");
  EXPECT_EQ(Found(Kind::kDevices, {"MIG-GPU-bbbbbbbb-0000-0000-0000-000000000000/3/0"}), "1:2");
}

TEST(FindDevices, OfNvidiasKindsAlone) {
  EXPECT_EQ(Found(Kind::kDevices, {"nvidia.com/gpu=0", "runtime.nvidia.com/gpu=1:2"}), "0, 1:2");
  EXPECT_EQ(Found(Kind::kDevices, {"nvidia.com/gpu=all"}), "0, 1, 1:2");
  EXPECT_EQ(Found(Kind::kDevices, {"nvidia.com/gds=all"}),
            "\"nvidia.com/gds=all\": the prestart hook has no devices of nvidia.com/gds");
}

TEST(FindDevices, UnknownOnesAreNamed) {
  EXPECT_EQ(Found(Kind::kDevices, {"0", "7"}), "7: unknown device");
  EXPECT_EQ(Found(Kind::kDevices, {"nvidia.com/gpu=7"}), "7: unknown device");
}

TEST(OrderFor, TakesEverythingOver) {
  const cdi::NodeDevices node = OrderedNode();
  request::Request request;
  request.capabilities = {cdi::Capability::kVideo};
  request.mig_monitor = true;
  request.imex_channels = {"3", "4294967295"};
  const LegacyOrder order = OrderFor(request, {&node.rows[2]}, "9 nvidia-caps-imex-channels\n");
  EXPECT_EQ(order.devices, std::vector<cdi::DeviceRow>{node.rows[2]});
  EXPECT_EQ(order.capabilities, request.capabilities);
  EXPECT_TRUE(order.mig_monitor && !order.mig_config && order.bind_nodes);
  EXPECT_EQ(order.imex_channels, (std::vector<std::uint32_t>{3, 4294967295}));
  EXPECT_EQ(order.imex_major, 9);
}

}  // namespace
}  // namespace partita::hook
