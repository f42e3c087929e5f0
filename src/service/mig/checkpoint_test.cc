#include "service/mig/checkpoint.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/value.h"
#include "model/testing/sample_inventories.h"
#include "service/mig/node_plan.h"
#include "tests/golden/golden.h"

namespace partita::service::mig {
namespace {

// The sample node with the profile ids that drivers give compute instances, which it leaves out.
model::Inventory RecordableNode() {
  model::Inventory node = model::testing::DgxA100Mixed().inventory;
  for (model::Gpu& gpu : node.gpus) {
    if (!gpu.mig) continue;
    for (model::GpuInstance& instance : gpu.mig->instances) {
      for (model::ComputeInstance& compute : instance.compute_instances) {
        compute.profile = compute.slice_count == 7 ? 4 : compute.slice_count - 1;
      }
    }
  }
  return node;
}

TEST(Checkpoint, LooksAsReviewed) {
  golden::ExpectGolden("mig/checkpoint-dgx.json",
                       base::ToJson(CheckpointDocument(RecordableNode()).value()));
}

TEST(Checkpoint, IsInForceWhereItWasTaken) {
  const model::Inventory node = RecordableNode();
  const std::string text = base::ToJson(CheckpointDocument(node).value());
  const Checkpoint checkpoint = Checkpoint::Parse(text, "checkpoint.json").value();
  const NodeGoal goal = checkpoint.Resolve(node).value();
  ASSERT_EQ(goal.size(), node.gpus.size());
  for (const GpuTarget& target : goal) {
    EXPECT_EQ(target, AsItIs(*FindGpu(node, target.gpu))) << target.gpu.Name();
  }
}

TEST(Checkpoint, FindsGpusByUuidWhereverTheyAre) {
  model::Inventory node = RecordableNode();
  const Checkpoint checkpoint =
      Checkpoint::Parse(base::ToJson(CheckpointDocument(node).value()), "checkpoint.json").value();
  std::swap(node.gpus[0], node.gpus[3]);
  EXPECT_FALSE(checkpoint.Resolve(node)->front().exact->empty());
  node.gpus.pop_back();
  const base::Result<NodeGoal> goal = checkpoint.Resolve(node);
  ASSERT_FALSE(goal.ok());
  EXPECT_EQ(goal.error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(goal.error().hint(),
            "restore it where it was taken, or take their entries out of \"Devices\"");
}

TEST(Checkpoint, RefusesWhatAGpuDoesNotOffer) {
  const model::Inventory node = RecordableNode();
  std::string text = base::ToJson(CheckpointDocument(node).value());
  const std::size_t start = text.find("\"Start\": 4");
  ASSERT_NE(start, std::string::npos);
  text.replace(start, 10, "\"Start\": 9");
  const base::Result<NodeGoal> goal = Checkpoint::Parse(text, "checkpoint.json")->Resolve(node);
  ASSERT_FALSE(goal.ok());
  EXPECT_NE(goal.error().message().find("at slice 9"), std::string::npos);
}

TEST(Checkpoint, KeepsComputeProfilesThatAreNewerThanThisProgram) {
  model::Inventory node = RecordableNode();
  std::uint32_t changed = 0;
  for (model::Gpu& gpu : node.gpus) {
    for (model::GpuInstance& instance : gpu.mig->instances) {
      for (model::ComputeInstance& compute : instance.compute_instances) {
        compute.profile = 9;
        ++changed;
      }
    }
  }
  ASSERT_GT(changed, 0U);
  const std::string text = base::ToJson(CheckpointDocument(node).value());
  const base::Result<Checkpoint> checkpoint = Checkpoint::Parse(text, "checkpoint.json");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().ToString();
  const NodeGoal goal = checkpoint->Resolve(node).value();
  for (const GpuTarget& target : goal) {
    EXPECT_EQ(target, AsItIs(*FindGpu(node, target.gpu))) << target.gpu.Name();
  }
  const std::string again = base::ToJson(checkpoint->ToDocument());
  EXPECT_NE(again.find("\"ProfileID\": 9"), std::string::npos) << again;
}

// The second would destroy what the first made.
TEST(Checkpoint, RefusesInstancesUnderMigOff) {
  const auto parsed = Checkpoint::Parse(
      R"({"Version":"v1","MigState":{"Devices":[{"UUID":"GPU-1","MigMode":0,"GpuInstances":[
{"ProfileID":0,"Placement":{"Start":0},"ComputeInstances":null}]}]}})",
      "file");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().ToString().find("file:2:1: a GPU instance under MIG off"),
            std::string::npos)
      << parsed.error().ToString();
}

TEST(Checkpoint, RefusesOneGpuTwice) {
  const base::Result<Checkpoint> checkpoint = Checkpoint::Parse(
      R"({"Version": "v1", "MigState": {"Devices": [
  {"UUID": "GPU-x", "MigMode": 1, "GpuInstances": null},
  {"UUID": "GPU-y", "MigMode": 0, "GpuInstances": null},
  {"UUID": "GPU-x", "MigMode": 0, "GpuInstances": null}]}})",
      "checkpoint.json");
  ASSERT_FALSE(checkpoint.ok());
  EXPECT_EQ(
      checkpoint.error().message(),
      "checkpoint.json:4:12: \"GPU-x\" is in \"Devices\" twice\n"
      "    4 |   {\"UUID\": \"GPU-x\", \"MigMode\": 0, \"GpuInstances\": null}]}}\n"
      "      |            ^^^^^^^ the other is in line 2: take out the one that does not hold");
}

TEST(Checkpoint, TellsEveryProblemWithItsPlace) {
  const base::Result<Checkpoint> checkpoint = Checkpoint::Parse(
      R"({"Version": "v2", "MigState": {"Devices": [{"UUID": "GPU-x", "MigMode": 2,
  "GpuInstances": [{"ProfileID": 0, "Placement": {"Start": 0}, "ComputeInstances":
    [{"ProfileID": 99}]}]}]}})",
      "checkpoint.json");
  ASSERT_FALSE(checkpoint.ok());
  const std::string& message = checkpoint.error().message();
  EXPECT_NE(message.find("checkpoint.json:1:13: unknown version"), std::string::npos) << message;
  EXPECT_NE(message.find("checkpoint.json:1:73:"), std::string::npos) << message;
  EXPECT_NE(message.find("checkpoint.json:3:20:"), std::string::npos) << message;
}

}  // namespace
}  // namespace partita::service::mig
