#include "service/device_plugin/report.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "service/device_plugin/testing/node.h"
#include "service/ledger/holds.h"
#include "service/ledger/plans.h"

namespace partita::service::device_plugin {
namespace {

using testing::At;
using testing::Boards;
using testing::LayOut;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    config_.mig_strategy = config::MigStrategy::kMixed;
    config_.list_strategies = {config::ListStrategy::kCdiCri};
  }
  void Do(const base::Result<ledger::Decision>& decision) {
    ASSERT_TRUE(decision.ok()) << decision.error().ToString();
    for (const ledger::Change& change : decision->changes) ledger::Apply(state_, change);
  }
  Report Make() {
    for (const ledger::Change& change : ledger::Observe(state_, node_, {}).changes)
      ledger::Apply(state_, change);
    offered_ = Offer(node_, config_, {}, true, {}, state_);
    return ReportOf(offered_, listings_.Next(offered_, state_, At(0)), state_, config_);
  }
  [[nodiscard]] const ledger::Device& Device(const std::string& id) const {
    for (const OfferedResource& resource : offered_.resources)
      for (const OfferedDevice& device : resource.devices)
        if (device.id == id) return device.device;
    ADD_FAILURE() << id;
    return offered_.resources.at(0).devices.at(0).device;
  }
  // "free", "held: …", "unhealthy: …".
  static std::string Of(const Report& report, const std::string& id) {
    for (const ReportedResource& resource : report.resources)
      for (const ReportedDevice& device : resource.devices) {
        if (device.id != id) continue;
        switch (device.standing) {
          case Standing::kFree: return "free";
          case Standing::kHeld: return "held: " + device.why;
          case Standing::kUnhealthy: return "unhealthy: " + device.why;
        }
      }
    return "not there";
  }

  model::Inventory node_ = Boards(2);
  config::PluginConfig config_;
  ledger::State state_;
  Offered offered_;
  Listings listings_;
};

TEST_F(ReportTest, SaysWhoHoldsADevice) {
  EXPECT_EQ(Of(Make(), "GPU-0"), "free");
  Do(ledger::Bind(state_, Device("GPU-0"),
                  ledger::Pod{"default", "train", "main", "nvidia.com/gpu"}, At(0)));
  EXPECT_EQ(Of(Make(), "GPU-0"), "held: pod default/train (main)");
  EXPECT_EQ(Of(Make(), "GPU-1"), "free");
}

TEST_F(ReportTest, SaysWhatIsWrongWithADevice) {
  node_.gpus[1].faults.push_back({model::FaultKind::kLost, "lost: reboot"});
  EXPECT_EQ(Of(Make(), "GPU-1"), "unhealthy: lost: reboot");
}

TEST_F(ReportTest, SaysThatAChangeOfMigHasIt) {
  (void)Make();
  Do(ledger::Withdraw(state_, "7", {Device("GPU-1")}, At(0)));
  EXPECT_EQ(Of(Make(), "GPU-1"), "unhealthy: a change of its MIG layout has taken it");
}

TEST_F(ReportTest, NamesTheHolderOfAPart) {
  config_.time_slicing.emplace();
  config_.time_slicing->resources = {testing::Shared("nvidia.com/gpu", 2)};
  (void)Make();
  const ledger::Device share = Device("GPU-0::0");
  Do(ledger::Bind(state_, share, ledger::Pod{"default", "a", "main", "nvidia.com/gpu"}, At(0)));
  config_.time_slicing.reset();
  EXPECT_EQ(Of(Make(), "GPU-0"), "held: pod default/a (main)");
}

TEST_F(ReportTest, TravelsWhole) {
  LayOut(node_, 0, {"1g.5gb", "3g.20gb"});
  config_.time_slicing.emplace();
  config_.time_slicing->resources = {testing::Shared("nvidia.com/gpu", 2)};
  Report report = Make();
  report.problems = {"something"};
  report.imex_channels = {0};
  report.cdi_classes = {"gds"};
  const auto json = base::ParseJson(base::ToJsonLine(ToWire(report)));
  ASSERT_TRUE(json.ok()) << json.error().ToString();
  const auto read = ReportFromWire(*json);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, report);
  const auto config = ConfigOf(*read);
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->mig_strategy, config::MigStrategy::kMixed);
  EXPECT_EQ(config->time_slicing->resources[0].replicas, 2U);
}

TEST_F(ReportTest, IsTheOfferWhereNobodyWasTold) {
  node_.gpus[1].faults.push_back({model::FaultKind::kLost, "lost: reboot"});
  (void)Make();
  const Report report = ReportOf(offered_, config_);
  EXPECT_EQ(Of(report, "GPU-0"), "free");
  EXPECT_EQ(Of(report, "GPU-1"), "unhealthy: lost: reboot");
}

}  // namespace
}  // namespace partita::service::device_plugin
