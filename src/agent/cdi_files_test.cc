#include "agent/cdi_files.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "cdi/node_devices.h"
#include "service/cdi/testing/driver_tree.h"
#include "service/cdi/testing/sample_node.h"

namespace partita::agent {
namespace {

using service::cdi::testing::SampleNode;

class CdiFiles : public ::testing::Test {
 protected:
  CdiFiles() {
    service::cdi::testing::MakeSmallDriver(tree_);
    tree_.Folder("/run/partita");
    options_.host_root = tree_.root();
    options_.directory = Path("/run/cdi");
    options_.run_directory = Path("/run/partita");
    options_.hook_path = "/usr/bin/partita-hook";
  }
  [[nodiscard]] std::string Path(const std::string& path) const { return tree_.root() + path; }
  // A node without device nodes: a GPU in MIG mode that has none.
  static model::Inventory Empty() {
    model::Inventory node = SampleNode();
    node.gpus[0].mig = model::Mig();
    node.gpus[0].mig->enabled = true;
    return node;
  }

  service::cdi::testing::DriverTree tree_;
  CdiOptions options_;
};

TEST_F(CdiFiles, WithoutADeviceTheOldFileStays) {
  tree_.File("/run/cdi/nvidia.yaml", "old");
  const CdiOutcome outcome = PublishCdi(options_, Empty());
  ASSERT_TRUE(outcome.problem.has_value());
  EXPECT_EQ(outcome.problem->ToString(),
            "no device to describe: GPU 0 is in MIG mode and has no MIG device");
  EXPECT_EQ(*base::ReadFile(Path("/run/cdi/nvidia.yaml")), "old");
  // What the hook is told is of now all the same.
  const auto devices = base::ParseJson(*base::ReadFile(Path("/run/partita/devices.json")));
  ASSERT_TRUE(devices.ok());
  const auto node = partita::cdi::NodeDevicesFrom(*devices);
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  EXPECT_EQ(node->rows.size(), 1U);
  struct stat about {};
  ASSERT_EQ(stat(Path("/run/partita/devices.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0644U);
}

TEST_F(CdiFiles, WithoutADriverNothingIsTouched) {
  const CdiOutcome outcome = PublishCdi(options_, {});
  ASSERT_TRUE(outcome.problem.has_value());
  EXPECT_EQ(outcome.problem->code(), base::ErrorCode::kNoDriver);
  EXPECT_FALSE(base::Exists(Path("/run/partita/devices.json")));
}

TEST_F(CdiFiles, ManagementThatIsNoLongerWantedGoesIfItIsOurs) {
  const std::string path = Path("/run/cdi/management.nvidia.com-gpu.yaml");
  tree_.File("/run/cdi/management.nvidia.com-gpu.yaml", "theirs");
  (void)PublishCdi(options_, {});
  EXPECT_TRUE(base::Exists(path));
  // It was ours, and somebody wrote another.
  tree_.File("/run/partita/management.sha256",
             base::Sha256Hex("ours") + "\n" + base::Sha256Hex("before") + "\n");
  EXPECT_EQ(PublishCdi(options_, {}).news,
            std::vector<std::string>{path + " is not what was written here last: it stays"});
  EXPECT_TRUE(base::Exists(path));
  EXPECT_TRUE(PublishCdi(options_, {}).news.empty());
  for (const char* text : {"ours", "before"}) {
    tree_.File("/run/cdi/management.nvidia.com-gpu.yaml", text);
    tree_.File("/run/partita/management.sha256",
               base::Sha256Hex("ours") + "\n" + base::Sha256Hex("before") + "\n");
    EXPECT_TRUE(PublishCdi(options_, {}).written);
    EXPECT_FALSE(base::Exists(path)) << text;
    EXPECT_FALSE(base::Exists(Path("/run/partita/management.sha256")));
  }
}

TEST_F(CdiFiles, NeverTheHostsMps) {
  tree_.Folder("/tmp/nvidia-mps");
  (void)PublishCdi(options_, Empty());
  EXPECT_EQ(base::ReadFile(Path("/run/partita/devices.json"))->find("nvidia-mps\""),
            std::string::npos);
}

TEST_F(CdiFiles, ABadVersionIsAProblem) {
  options_.version_max = "1.2.3";
  const CdiOutcome outcome = PublishCdi(options_, Empty());
  ASSERT_TRUE(outcome.problem.has_value());
  EXPECT_TRUE(outcome.problem->ToString().starts_with("cdi.versionMax: "));
}

}  // namespace
}  // namespace partita::agent
