#include "service/device_plugin/stock.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

// Boards, some sliced, some shared: every kind of id.
OfferedResource Everything() {
  model::Inventory node = testing::Boards(6);
  testing::LayOut(node, 1, {"1g.5gb", "1g.5gb", "1g.5gb"});
  testing::LayOut(node, 4, {"3g.20gb"});
  config::PluginConfig config = testing::With(config::MigStrategy::kMixed);
  config.time_slicing.emplace();
  config.time_slicing->resources = {testing::Shared("nvidia.com/mig-1g.5gb", 3)};
  OfferedResource all{"all", {}, false};
  for (const OfferedResource& resource : testing::OfferAll(node, config).resources)
    all.devices.insert(all.devices.end(), resource.devices.begin(), resource.devices.end());
  return all;
}

TEST(Stock, FindsWhatASearchFinds) {
  OfferedResource resource = Everything();
  std::mt19937 random(1);
  std::shuffle(resource.devices.begin(), resource.devices.end(), random);
  const Stock stock(resource);
  std::vector<std::string> ids = {"", "GPU", "GPU-99", "MIG-1-0", "MIG-1-0::3"};
  for (const OfferedDevice& device : resource.devices) ids.push_back(device.id);
  EXPECT_EQ(resource.devices.size(), 4U + 9U + 1U);
  for (const std::string& id : ids) {
    const auto found = std::find_if(resource.devices.begin(), resource.devices.end(),
                                    [&](const OfferedDevice& device) { return device.id == id; });
    const auto place = stock.Find(id);
    ASSERT_EQ(place.has_value(), found != resource.devices.end()) << id;
    if (!place) continue;
    EXPECT_EQ(&resource.devices[*place], &*found) << id;
  }
}

TEST(Stock, TellsDevicesApartByTheirGpuAndByWhatTheyAreSharesOf) {
  const OfferedResource resource = Everything();
  const Stock stock(resource);
  for (std::size_t a = 0; a < resource.devices.size(); ++a) {
    for (std::size_t b = 0; b < resource.devices.size(); ++b) {
      const OfferedDevice& one = resource.devices[a];
      const OfferedDevice& other = resource.devices[b];
      EXPECT_EQ(stock.spots()[a].gpu == stock.spots()[b].gpu, one.gpu == other.gpu);
      EXPECT_EQ(stock.spots()[a].device == stock.spots()[b].device, one.whole_id == other.whole_id);
    }
    EXPECT_FALSE(stock.spots()[a].free || stock.spots()[a].required);
  }
  EXPECT_TRUE(stock.has_mig());
}

TEST(Stock, OfNothingFindsNothing) {
  const OfferedResource nothing;
  EXPECT_FALSE(Stock(nothing).Find("GPU-0"));
  EXPECT_FALSE(Stock(nothing).has_mig());
}

}  // namespace
}  // namespace partita::service::device_plugin
