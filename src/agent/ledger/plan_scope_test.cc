#include "agent/ledger/plan_scope.h"

#include <string>

#include <gtest/gtest.h>

#include "base/value.h"
#include "model/testing/sample_gpus.h"

namespace partita::agent {
namespace {

using model::StepKind;
using service::ledger::Device;
using service::mig::GpuSteps;

// Two A100: 3g.20gb at 4 and 1g.5gb at 0 on the first, MIG off on the second.
model::Inventory Node() {
  model::Inventory node;
  node.gpus = {model::testing::A100(0), model::testing::A100(1)};
  model::testing::Slice(node.gpus[0], model::testing::MigBuilder(model::testing::A100Profiles(), 0)
                                          .Add("3g.20gb", 4, 1, {3})
                                          .Add("1g.5gb", 0, 7, {1})
                                          .Build());
  return node;
}

std::size_t ProfileOf(const model::Gpu& gpu, const std::string& name) {
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  for (std::size_t i = 0; i < geometry.profiles.size(); ++i)
    if (geometry.profiles[i].name == name) return i;
  ADD_FAILURE() << name;
  return 0;
}

std::vector<std::string> Keys(const std::vector<Device>& devices) {
  std::vector<std::string> keys;
  keys.reserve(devices.size());
  for (const Device& device : devices) keys.push_back(KeyOf(device));
  return keys;
}

model::PlanStep At(StepKind kind, std::size_t profile, std::uint32_t start) {
  return {kind, {profile, start}, {}, {}};
}

TEST(PlanScope, IsTheInstancesThatComeAndGo) {
  const model::Inventory node = Node();
  const model::Gpu& gpu = node.gpus[0];
  const std::size_t small = ProfileOf(gpu, "1g.5gb"), large = ProfileOf(gpu, "2g.10gb");
  const GpuSteps steps{
      model::GpuIdentity::Of(gpu),
      {At(StepKind::kDestroyCompute, small, 0), At(StepKind::kDestroyInstance, small, 0),
       At(StepKind::kCreateInstance, large, 2), At(StepKind::kCreateCompute, large, 2)}};
  const std::string uuid = gpu.uuid->value();
  const std::vector<Device> scope = ScopeOf(node, {steps});
  ASSERT_EQ(scope.size(), 2U) << "each once";
  for (const Device& device : scope) {
    const auto* mig = std::get_if<service::ledger::MigDevice>(&device);
    ASSERT_NE(mig, nullptr);
    EXPECT_EQ(mig->gpu.uuid, *gpu.uuid);
    EXPECT_EQ(mig->memory,
              mig->memory.start == 0 ? (model::Placement{0, 1}) : (model::Placement{2, 2}));
  }
}

TEST(PlanScope, IsTheWholeGpuWhereItsModeChangesOrItIsReset) {
  const model::Inventory node = Node();
  for (const StepKind kind : {StepKind::kSetMode, StepKind::kReset}) {
    const GpuSteps steps{model::GpuIdentity::Of(node.gpus[1]), {At(kind, 0, 0)}};
    EXPECT_EQ(Keys(ScopeOf(node, {steps})), std::vector<std::string>{node.gpus[1].uuid->value()});
  }
}

TEST(PlanScope, HasNothingOfGpusThatNobodyCanHold) {
  model::Inventory node = Node();
  const GpuSteps steps{model::GpuIdentity::Of(node.gpus[1]), {At(StepKind::kSetMode, 0, 0)}};
  const GpuSteps idle{model::GpuIdentity::Of(node.gpus[0]), {}};
  node.gpus[1].uuid.reset();
  EXPECT_TRUE(ScopeOf(node, {steps, idle}).empty());
}

// Of GPU 0 the layout has the 3g.20gb alone; it says nothing of GPU 1.
TEST(AskedFor, IsWhatTheLayoutHasAndWhatIsOurs) {
  model::Inventory node = Node();
  model::Inventory meant;
  meant.gpus = {node.gpus[0]};
  std::erase_if(meant.gpus[0].mig->instances,
                [](const model::GpuInstance& each) { return each.placement.start == 0; });
  const auto document = service::mig::CheckpointDocument(meant);
  ASSERT_TRUE(document.ok()) << document.error().ToString();
  auto layout = service::mig::Checkpoint::Parse(base::ToJson(*document), "mig.json");
  ASSERT_TRUE(layout.ok()) << layout.error().ToString();
  model::testing::Slice(node.gpus[1], model::testing::MigBuilder(model::testing::A100Profiles(), 1)
                                          .Add("7g.40gb", 0, 0, {7})
                                          .Build());
  const auto starts = [&](const service::ledger::Asked& asked, std::size_t gpu) {
    std::set<std::uint32_t> all;
    for (const model::InstanceKey& key : *asked)
      if (key.gpu == *node.gpus[gpu].uuid) all.insert(key.start);
    return all;
  };
  EXPECT_FALSE(AskedFor(node, std::nullopt, {}));
  const service::ledger::Asked asked = AskedFor(node, *layout, {});
  ASSERT_TRUE(asked);
  EXPECT_EQ(starts(asked, 0), std::set<std::uint32_t>{4});
  EXPECT_EQ(starts(asked, 1), std::set<std::uint32_t>{0}) << "laid out by hand";
  const Device all = service::ledger::WholeGpu{*node.gpus[0].uuid, node.gpus[0].pci};
  EXPECT_EQ(starts(AskedFor(node, *layout, {all}), 0), (std::set<std::uint32_t>{0, 4}));
}

}  // namespace
}  // namespace partita::agent
