#include "service/mig/layout_check.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "model/testing/sample_inventories.h"

namespace partita::service::mig {
namespace {

class LayoutCheckTest : public ::testing::Test {
 protected:
  LayoutCheckTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-layout-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    node_.gpus[7].mig->pending_enabled = false;
  }
  ~LayoutCheckTest() override { (void)base::RemoveTree(directory_); }

  LayoutCheck Check(const std::string& devices) {
    const std::string path = directory_ + "/mig.yaml";
    PARTITA_CHECK(base::WriteFile(path, "version: v1\nmig-configs:\n  c:\n" + devices, 0644).ok());
    return CheckLayout(node_, {path, "c", directory_});
  }

  std::string directory_;
  model::Inventory node_ = model::testing::DgxA100Mixed().inventory;
};

TEST_F(LayoutCheckTest, NothingIsWantedWhereNothingWasApplied) {
  const LayoutCheck check = CheckLayout(node_, {"", "", directory_});
  EXPECT_EQ(check.wanted, "");
  EXPECT_TRUE(check.differences.empty());
  EXPECT_FALSE(check.lost);
}

TEST_F(LayoutCheckTest, SaysWhatIsThereAndWhatIsWanted) {
  const LayoutCheck check =
      Check("    - {devices: [7], mig-enabled: true, mig-devices: {1g.5gb: 7}}\n");
  ASSERT_EQ(check.differences.size(), 1U);
  EXPECT_EQ(check.differences[0], "GPU 7: has MIG off, wanted MIG on: 7 x 1g.5gb");
  EXPECT_TRUE(check.lost);
}

TEST_F(LayoutCheckTest, WhatIsAsWantedDoesNotDiffer) {
  const LayoutCheck check = Check("    - {devices: [7], mig-enabled: false}\n");
  EXPECT_TRUE(check.differences.empty());
  EXPECT_FALSE(check.lost);
}

TEST_F(LayoutCheckTest, WhatSomebodyMadeInsteadIsNotLost) {
  // GPU 5 has instances.
  const LayoutCheck check =
      Check("    - {devices: [5, 7], mig-enabled: true, mig-devices: {7g.40gb: 1}}\n");
  EXPECT_EQ(check.differences.size(), 2U);
  EXPECT_FALSE(check.lost);
}

TEST_F(LayoutCheckTest, AFileThatCannotBeReadIsADifference) {
  const LayoutCheck check = CheckLayout(node_, {directory_ + "/none.yaml", "c", directory_});
  ASSERT_EQ(check.differences.size(), 1U);
  EXPECT_NE(check.differences[0].find("none.yaml"), std::string::npos);
  EXPECT_FALSE(check.lost);
}

}  // namespace
}  // namespace partita::service::mig
