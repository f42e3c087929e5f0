#include "service/health/document.h"

#include <gtest/gtest.h>

#include "service/health/testing/ward_inventory.h"

namespace partita::service::health {
namespace {

using testing::Ward;

// The other has no name.
model::Inventory OneDivided() {
  model::Inventory node = testing::WardInventory();
  node.gpus[1] = {};
  return node;
}

TEST(HealthDocument, SaysOfEachDeviceWhatIsWrong) {
  Ward ward;
  ward.Xid(92);
  ward.Xid(95, Ward::Device(2, 0));
  const base::Value document = HealthDocument(OneDivided(), ward.health_, ward.facts_.now);
  EXPECT_EQ(base::ToJsonLine(*document.Find("usable")), "false");
  const std::vector<base::Value>& devices = document.Find("devices")->items();
  ASSERT_EQ(devices.size(), 3U) << "one that nobody can name is not there";
  EXPECT_EQ(devices[0].Find("state")->AsString(), "degraded");
  EXPECT_EQ(devices[1].Find("state")->AsString(), "degraded");
  EXPECT_EQ(devices[2].Find("state")->AsString(), "unhealthy");
  EXPECT_EQ(devices[2].Find("mig")->AsString(), "MIG-2");
  EXPECT_FALSE(devices[2].Find("usable")->AsBool());
  const std::vector<base::Value>& faults = devices[2].Find("faults")->items();
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].Find("scope")->AsString(), "mig-device");
  EXPECT_EQ(faults[0].Find("xid")->AsUnsigned(), 95U);
  EXPECT_EQ(faults[0].Find("since")->AsString(), "2027-01-15T08:00:00Z");
  EXPECT_EQ(faults[1].Find("scope")->AsString(), "gpu");
}

TEST(HealthDocument, IsUsableWhereAllIsWell) {
  const base::Value document = HealthDocument(OneDivided(), {}, Time());
  EXPECT_TRUE(document.Find("usable")->AsBool());
  for (const base::Value& device : document.Find("devices")->items()) {
    EXPECT_EQ(device.Find("state")->AsString(), "healthy");
    EXPECT_TRUE(device.Find("faults")->items().empty());
  }
}

TEST(HealthDocument, NamesDomainsOfMpsThatGiveNoShares) {
  const base::Value document = HealthDocument(
      OneDivided(), {}, Time(),
      {{.name = "GPU-a", .devices = {"GPU-a"}, .problem = "", .kept = true},
       {.name = "GPU-b", .devices = {"GPU-b"}, .problem = "its daemon has ended", .kept = false}});
  EXPECT_FALSE(document.Find("usable")->AsBool());
  const std::vector<base::Value>& domains = document.Find("mps")->items();
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_EQ(domains[0].Find("name")->AsString(), "GPU-b");
  EXPECT_EQ(domains[0].Find("problem")->AsString(), "its daemon has ended");
  EXPECT_EQ(HealthDocument(OneDivided(), {}, Time()).Find("mps"), nullptr);
}

TEST(HealthDocument, NamesDomainsOfMpsWhoseGpusAreNotAsTheyShouldBe) {
  const base::Value document =
      HealthDocument(OneDivided(), {}, Time(),
                     {{.name = "GPU-a", .devices = {"GPU-a"}, .problem = "", .warning = "why"}});
  EXPECT_TRUE(document.Find("usable")->AsBool());
  const std::vector<base::Value>& domains = document.Find("mps")->items();
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_EQ(domains[0].Find("warning")->AsString(), "why");
}

}  // namespace
}  // namespace partita::service::health
