#include "cli/status/status_document.h"

#include <gtest/gtest.h>

#include "model/testing/sample_inventories.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

TEST(StatusDocument, HoldsEverythingThatIsKnownOfAnH200) {
  golden::ExpectGolden("status/h200-idle.json",
                       base::ToJson(StatusDocument(model::testing::H200Idle())));
  golden::ExpectGolden("status/h200-idle.yaml",
                       base::ToYaml(StatusDocument(model::testing::H200Idle())));
}

TEST(StatusDocument, HoldsSlicesProcessesAndLinks) {
  golden::ExpectGolden("status/dgx-mixed.json",
                       base::ToJson(StatusDocument(model::testing::DgxA100Mixed())));
}

TEST(StatusDocument, NamesPodsAndContainers) {
  golden::ExpectGolden("status/kubernetes.json",
                       base::ToJson(StatusDocument(model::testing::KubernetesNode())));
}

TEST(StatusDocument, LeavesOutWhatAFaultyGpuDoesNotSay) {
  golden::ExpectGolden("status/faulty.json",
                       base::ToJson(StatusDocument(model::testing::FaultyNode())));
}

TEST(StatusDocument, SaysWhyThereIsNoDriver) {
  golden::ExpectGolden("status/no-driver.json",
                       base::ToJson(StatusDocument(model::testing::NoDriver())));
}

TEST(StatusDocument, ListsGpusBoundToVfio) {
  golden::ExpectGolden("status/vfio.json",
                       base::ToJson(StatusDocument(model::testing::VfioNode())));
}

TEST(StatusDocument, HasNoAddressForAGpuThatNobodyCanPlace) {
  model::NodeReport report = model::testing::FaultyNode();
  report.inventory.gpus[1].pci = {};
  const base::Value document = StatusDocument(report);
  const base::Value& gpu = document.Find("gpus")->items()[1];
  EXPECT_EQ(gpu.Find("pciAddress"), nullptr);
  EXPECT_EQ(gpu.Find("pciBusId"), nullptr);
}

TEST(StatusDocument, SaysHowOldAGpuIsThatDoesNotAnswer) {
  model::NodeReport report = model::testing::FaultyNode();
  report.stale = {{report.inventory.gpus[0].pci, {12, "it hangs"}},
                  {report.inventory.gpus[1].pci, {std::nullopt, "it wakes up"}}};
  golden::ExpectGolden("status/stale.json", base::ToJson(StatusDocument(report)));
}

TEST(StatusDocument, HasDomainsOfMpsWhereThereAreSome) {
  model::NodeReport report = model::testing::H200Idle();
  EXPECT_EQ(StatusDocument(report).Find("mps"), nullptr);
  report.mps = {{.name = "a", .devices = {"GPU-a"}, .problem = "why", .kept = true}};
  EXPECT_EQ(*StatusDocument(report).Find("mps"), ToValue(report.mps));
}

TEST(StatusDocument, KeepsNumbersThatTheTablesDoNotKnow) {
  model::NodeReport report = model::testing::H200Idle();
  report.inventory.gpus[0].brand = 99;
  const base::Value document = StatusDocument(report);
  EXPECT_EQ(document.Find("gpus")->items()[0].Find("brand")->AsString(), "unknown-99");
}

}  // namespace
}  // namespace partita::cli
