#include "model/unread.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

TEST(UnreadTest, IsSilentOfAGpuThatToldEverything) {
  Gpu gpu;
  EXPECT_EQ(WhyMigUnknown(gpu), std::nullopt) << "one that cannot do MIG";
  gpu.mig.emplace();
  gpu.faults.push_back({FaultKind::kResetRequired, "a reset is pending"});
  EXPECT_EQ(WhyMigUnknown(gpu), std::nullopt) << "it was read all the same";
  EXPECT_EQ(WhyHoldersUnknown(gpu), std::nullopt);
}

TEST(UnreadTest, GivesTheFaultOfAGpuThatCannotBeAsked) {
  Gpu gpu;
  gpu.faults.push_back({FaultKind::kLost, "fell off the bus"});
  ASSERT_TRUE(WhyMigUnknown(gpu));
  EXPECT_EQ(WhyMigUnknown(gpu)->ToString(), "fell off the bus");
  EXPECT_EQ(WhyMigUnknown(gpu)->hint(), "leave it out of the selection");
}

TEST(UnreadTest, GivesTheErrorOfTheCallThatFailed) {
  Gpu gpu;
  gpu.mig.emplace();
  gpu.mig_error = base::Error(base::ErrorCode::kInternal, "instances: Unknown Error");
  gpu.processes_error = base::Error(base::ErrorCode::kTimeout, "processes: no answer");
  ASSERT_TRUE(WhyMigUnknown(gpu));
  EXPECT_EQ(WhyMigUnknown(gpu)->ToString(),
            "what MIG has made of it cannot be read: instances: Unknown Error");
  ASSERT_TRUE(WhyHoldersUnknown(gpu));
  EXPECT_EQ(WhyHoldersUnknown(gpu)->ToString(), "who uses it cannot be read: processes: no answer");
}

TEST(WhyNoDriverTest, IsOneReasonWhateverTheDriverSays) {
  Inventory node;
  EXPECT_EQ(WhyNoDriver(node).code(), base::ErrorCode::kNoDriver);
  node.driver_error = base::Error(base::ErrorCode::kDenied, "open it").WithHint("be root");
  EXPECT_EQ(WhyNoDriver(node).code(), base::ErrorCode::kNoDriver);
  EXPECT_EQ(WhyNoDriver(node).ToString(), "open it");
  EXPECT_EQ(WhyNoDriver(node).hint(), "be root");
}

}  // namespace
}  // namespace partita::model
