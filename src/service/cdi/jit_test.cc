#include "service/cdi/jit.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

using partita::cdi::DeviceRow;
using partita::cdi::NodeDevices;
using Texts = std::vector<std::string>;

NodeFiles SampleNodeFiles() { return {testing::SampleFiles(), testing::SampleNodes(), {}}; }

Texts RowsOf(const NodeDevices& node) {
  Texts rows;
  for (const DeviceRow& row : node.rows) {
    rows.push_back(fmt::format("{}{} {}", row.index, row.mig ? ":" : "",
                               row.cdi_name.empty() ? "-" : row.cdi_name));
  }
  return rows;
}

Texts SpecNames(const NodeDevices& node) {
  Texts names;
  for (const auto& device : node.spec.devices) names.push_back(device.name);
  return names;
}

TEST(NodeDevicesOf, AGpuWithItsFiles) {
  model::Inventory inventory = testing::SampleNode();
  inventory.gpus[0].brand = 13;
  inventory.gpus[0].compute_major = 9;
  inventory.gpus[0].compute_minor = 0;
  const NodeDevices node = MakeNodeDevices(inventory, SampleNodeFiles(), testing::SampleHooks());
  EXPECT_EQ(node.driver_version, "550.90.07");
  EXPECT_EQ(node.cuda, "12.4");
  EXPECT_EQ(node.files.size(), 3U);
  EXPECT_EQ(node.control_nodes.size(), 3U);
  EXPECT_EQ(node.spec.kind, "runtime.nvidia.com/gpu");
  EXPECT_EQ(RowsOf(node), Texts{"0 0"});
  EXPECT_EQ(SpecNames(node), (Texts{"0", "all"}));
  EXPECT_EQ(node.rows[0].brand, "nvidiartx");
  EXPECT_EQ(node.rows[0].compute, "9.0");
  const auto back =
      partita::cdi::NodeDevicesFrom(*base::ParseJson(base::ToJson(partita::cdi::ToValue(node))));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, node);
}

TEST(NodeDevicesOf, AGpuInMigModeCanBeNamedButIsNotAmongAll) {
  model::Inventory inventory = testing::SampleNode();
  NodeFiles files = SampleNodeFiles();
  testing::Slice(inventory, files.devices);
  std::reverse(inventory.gpus[0].mig->instances.begin(), inventory.gpus[0].mig->instances.end());
  const NodeDevices node = MakeNodeDevices(inventory, files, testing::SampleHooks());
  EXPECT_EQ(RowsOf(node), (Texts{"0 0", "0: 0:0", "0: 0:3"}));
  EXPECT_EQ(SpecNames(node), (Texts{"0", "0:0", "0:3", "all"}));
  EXPECT_EQ(node.rows[2].mig->gi_cap, 48U);
}

TEST(NodeDevicesOf, WhatIsBrokenIsThereWithoutAName) {
  model::Inventory inventory = testing::SampleNode();
  inventory.gpus[0].faults = {{model::FaultKind::kLost, "it is lost"}};
  const NodeDevices node = MakeNodeDevices(inventory, SampleNodeFiles(), testing::SampleHooks());
  EXPECT_EQ(RowsOf(node), Texts{"0 -"});
  EXPECT_EQ(SpecNames(node), Texts());
  const auto back =
      partita::cdi::NodeDevicesFrom(*base::ParseJson(base::ToJson(partita::cdi::ToValue(node))));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, node);
}

}  // namespace
}  // namespace partita::service::cdi
