#include "model/health.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

const GpuUuid kGpu("GPU-1"), kOther("GPU-2");
const GpuInstanceId kInstance(3), kNeighbour(4);
const ComputeInstanceId kFirst(0), kSecond(1);

PartHealth Entry(HealthState state,
                 std::optional<GpuInstanceId> gpu_instance = {},
                 std::optional<ComputeInstanceId> compute_instance = {}) {
  return {.gpu = kGpu,
          .gpu_instance = gpu_instance,
          .compute_instance = compute_instance,
          .state = state,
          .reason = "XidCritical",
          .text = ""};
}

TEST(NodeHealth, IsWellWhereNothingIsSaid) {
  const NodeHealth health;
  EXPECT_EQ(health.Worst(kGpu), nullptr);
  EXPECT_TRUE(health.Usable(kGpu, kInstance, kFirst));
}

TEST(NodeHealth, AGpusEntryCountsForAllOfIt) {
  const NodeHealth health{{Entry(HealthState::kUnhealthy)}};
  EXPECT_FALSE(health.Usable(kGpu));
  EXPECT_FALSE(health.Usable(kGpu, kInstance));
  EXPECT_FALSE(health.Usable(kGpu, kNeighbour, kSecond));
  EXPECT_TRUE(health.Usable(kOther, kInstance, kFirst));
}

TEST(NodeHealth, AGpuInstancesEntryCountsForItsComputeInstancesAlone) {
  const NodeHealth health{{Entry(HealthState::kUnhealthy, kInstance)}};
  EXPECT_TRUE(health.Usable(kGpu));
  EXPECT_FALSE(health.Usable(kGpu, kInstance));
  EXPECT_FALSE(health.Usable(kGpu, kInstance, kFirst));
  EXPECT_FALSE(health.Usable(kGpu, kInstance, kSecond));
  EXPECT_TRUE(health.Usable(kGpu, kNeighbour, kFirst));
}

TEST(NodeHealth, AMigDevicesEntryCountsForItAlone) {
  const NodeHealth health{{Entry(HealthState::kUnhealthy, kInstance, kFirst)}};
  EXPECT_TRUE(health.Usable(kGpu));
  EXPECT_TRUE(health.Usable(kGpu, kInstance));
  EXPECT_FALSE(health.Usable(kGpu, kInstance, kFirst));
  EXPECT_TRUE(health.Usable(kGpu, kInstance, kSecond));
  EXPECT_TRUE(health.Usable(kGpu, kNeighbour, kFirst));
}

TEST(NodeHealth, GivesTheWorstOfPartAndParents) {
  const NodeHealth health{{Entry(HealthState::kUnmonitored),
                           Entry(HealthState::kRecovering, kInstance),
                           Entry(HealthState::kDegraded, kInstance, kFirst)}};
  EXPECT_EQ(health.Worst(kGpu)->state, HealthState::kUnmonitored);
  EXPECT_EQ(health.Worst(kGpu, kInstance, kFirst)->state, HealthState::kRecovering);
}

TEST(NodeHealth, WorkGoesToDegradedAndUnmonitoredPartsOnly) {
  const auto usable = [](HealthState state) { return NodeHealth{{Entry(state)}}.Usable(kGpu); };
  EXPECT_TRUE(usable(HealthState::kDegraded));
  EXPECT_TRUE(usable(HealthState::kUnmonitored));
  EXPECT_FALSE(usable(HealthState::kUnhealthy));
  EXPECT_FALSE(usable(HealthState::kRecovering));
}

TEST(HealthState, HasAnOrderAndWords) {
  EXPECT_TRUE(Worse(HealthState::kHealthy, HealthState::kUnmonitored));
  EXPECT_TRUE(Worse(HealthState::kUnmonitored, HealthState::kDegraded));
  EXPECT_TRUE(Worse(HealthState::kDegraded, HealthState::kRecovering));
  EXPECT_TRUE(Worse(HealthState::kRecovering, HealthState::kUnhealthy));
  EXPECT_FALSE(Worse(HealthState::kUnhealthy, HealthState::kUnhealthy));
  EXPECT_EQ(Word(HealthState::kRecovering), "recovering");
}

}  // namespace
}  // namespace partita::model
