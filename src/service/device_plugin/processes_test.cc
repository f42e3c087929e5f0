#include "service/device_plugin/processes.h"

#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using testing::Boards;
using testing::LayOut;

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() {
    node_.driver.emplace();
    LayOut(node_, 1, {"1g.5gb", "1g.5gb"});
    const Offered offered = testing::OfferAll(node_, testing::With(config::MigStrategy::kMixed));
    gpu_ = offered.resources[0].devices[0].device;
    first_ = offered.resources[1].devices[0].device;
    second_ = offered.resources[1].devices[1].device;
  }
  void Run(std::size_t gpu, std::optional<std::uint32_t> instance, const std::string& pod = "") {
    model::Process process;
    if (instance) {
      process.gpu_instance = model::GpuInstanceId(*instance);
      process.compute_instance = model::ComputeInstanceId(0);
    }
    if (!pod.empty()) {
      process.container.emplace();
      process.container->pod_uid = "uid";
      process.container->pod_namespace = "default";
      process.container->pod_name = pod == "?" ? "" : pod;
    }
    node_.gpus[gpu].processes = {process};
  }
  [[nodiscard]] bool Used(const ledger::Device& device) const { return MayBeInUse(device, node_); }
  [[nodiscard]] bool UsedByTrain(const ledger::Device& device) const {
    return MayBeUsedBy({device, ledger::Pod{"default", "train", "main", "r"}, true, {}}, node_);
  }

  model::Inventory node_ = Boards(2);
  ledger::Device gpu_, first_, second_;
};

TEST_F(ProcessesTest, AreOnTheirPartOfAGpu) {
  EXPECT_FALSE(Used(gpu_));
  Run(0, {});
  EXPECT_TRUE(Used(gpu_));
  EXPECT_FALSE(Used(first_));
  Run(1, 2);
  EXPECT_FALSE(Used(first_));
  EXPECT_TRUE(Used(second_));
  Run(1, {});
  EXPECT_TRUE(Used(first_)) << "nobody says where on the GPU it is";
}

TEST_F(ProcessesTest, AnMpsServerUsesNothingByItself) {
  Run(0, {});
  for (const char* name : {"nvidia-cuda-mps-server", "/usr/bin/nvidia-cuda-mps-server"}) {
    node_.gpus[0].processes[0].name = name;
    EXPECT_FALSE(Used(gpu_)) << name;
  }
  node_.gpus[0].processes[0].name = "my-nvidia-cuda-mps-server";
  EXPECT_TRUE(Used(gpu_));
}

TEST_F(ProcessesTest, ThatNobodyCanListMayBeAnywhere) {
  node_.gpus[1].processes_error = base::Error(base::ErrorCode::kDenied, "no");
  EXPECT_TRUE(Used(first_));
  EXPECT_FALSE(Used(gpu_));
  node_.gpus.erase(node_.gpus.begin());
  EXPECT_FALSE(Used(gpu_)) << "a GPU that is gone has no processes";
  node_.driver.reset();
  EXPECT_TRUE(Used(gpu_)) << "without a driver nobody can say";
}

TEST_F(ProcessesTest, ThatAreHiddenCountWhereTheirMemoryIs) {
  node_.gpus[1].hidden_holders = {{model::GpuInstanceId(1), model::Bytes(1)}};
  EXPECT_TRUE(Used(first_));
  EXPECT_FALSE(Used(second_));
}

TEST_F(ProcessesTest, AreTheHoldersWhereTheirPodIs) {
  Run(1, 1, "train");
  EXPECT_TRUE(UsedByTrain(first_));
  EXPECT_FALSE(UsedByTrain(second_));
  Run(1, 1, "other");
  EXPECT_FALSE(UsedByTrain(first_));
  Run(1, 1, "?");
  EXPECT_TRUE(UsedByTrain(first_)) << "a pod without a name may be it";
  Run(1, 1);
  EXPECT_FALSE(UsedByTrain(first_)) << "a process of the host";
}

}  // namespace
}  // namespace partita::service::device_plugin
