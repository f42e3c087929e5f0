// Nodes of eight GPUs, at random: GPUs do not influence each other, and what is in use stays.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "model/mig/plan.h"
#include "model/testing/product_geometry.h"
#include "tests/support/share.h"

namespace partita::model {
namespace {

constexpr std::size_t kGpus = 8;

struct Product {
  Gpu gpu;
  std::vector<MigLayout> layouts;
};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t Below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(engine_);
  }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

 private:
  std::mt19937 engine_;
};

void AddInstances(Gpu& gpu, const MigGeometry& geometry, const MigLayout& layout, Dice& dice) {
  for (const PlacedInstance& place : layout) {
    const GpuInstanceProfile& profile = geometry.profiles[place.profile];
    GpuInstance instance;
    instance.id = GpuInstanceId(static_cast<std::uint32_t>(gpu.mig->instances.size() + 1));
    instance.profile = profile.id;
    instance.placement = *FindPlacement(geometry, place);
    const std::uint32_t width = dice.OneIn(3) ? 1 : profile.slice_count;
    for (std::uint32_t used = 0; used + width <= profile.slice_count && !dice.OneIn(10);
         used += width) {
      ComputeInstance compute;
      compute.id = ComputeInstanceId(used);
      compute.slice_count = width;
      instance.compute_instances.push_back(compute);
      if (!dice.OneIn(3)) continue;
      Process process;
      process.pid = Pid(static_cast<std::int64_t>(gpu.processes.size() + 1));
      process.gpu_instance = instance.id;
      process.compute_instance = compute.id;
      gpu.processes.push_back(process);
    }
    gpu.mig->instances.push_back(std::move(instance));
  }
}

Gpu RandomGpu(const Product& product, Dice& dice) {
  Gpu gpu = product.gpu;
  if (dice.OneIn(5)) return gpu;
  gpu.mig->enabled = gpu.mig->pending_enabled = true;
  AddInstances(gpu, MigGeometry::From(*gpu.mig),
               product.layouts[dice.Below(product.layouts.size())], dice);
  return gpu;
}

GpuGoal RandomGoal(const Product& product, Dice& dice) {
  GpuGoal goal;
  goal.mig_enabled = !dice.OneIn(6);
  if (!goal.mig_enabled) return goal;
  const MigGeometry geometry = MigGeometry::From(*product.gpu.mig);
  for (const PlacedInstance& place : product.layouts[dice.Below(product.layouts.size())]) {
    const std::uint32_t slices = geometry.profiles[place.profile].slice_count;
    AddDevices(goal.devices, {place.profile, dice.OneIn(4) ? 1 : slices}, 1);
  }
  return goal;
}

// Follows the steps on ids alone; fails when something in use goes although the plan is not
// blocked, or when the devices are not those wanted in the end.
void Carry(const Gpu& gpu, const GpuPlan& plan, const GpuGoal& goal) {
  std::set<std::pair<GpuInstanceId, ComputeInstanceId>> in_use;
  for (const Process& process : gpu.processes)
    in_use.emplace(*process.gpu_instance, *process.compute_instance);
  DeviceCounts devices = PresentDevices(gpu, MigGeometry::From(*gpu.mig));
  for (const PlanStep& step : Steps(plan)) {
    if (step.kind == StepKind::kDestroyCompute) {
      const WantedDevice gone{step.place.profile, step.compute_slices};
      if (--devices.at(gone) == 0) devices.erase(gone);
      EXPECT_TRUE(plan.Blocked() || !in_use.contains({*step.instance, *step.compute}));
    }
    if (step.kind == StepKind::kCreateCompute)
      AddDevices(devices, {step.place.profile, step.compute_slices}, 1);
  }
  EXPECT_EQ(devices, goal.devices);
}

TEST(PlanGpu, GpusOfANodeAreIndependentAndWorkIsSpared) {
  std::vector<Product> products;
  for (const char* name : {"A100-SXM4-40GB", "H200", "A30", "RTX-PRO-6000"}) {
    Product product{testing::ProductGpu(name), {}};
    product.layouts = AllLayouts(MigGeometry::From(*product.gpu.mig));
    products.push_back(std::move(product));
  }
  Dice dice(20260101);
  MigPlanners shared;
  std::map<const Product*, MigPlanner> own;
  for (const Product& product : products)
    own.try_emplace(&product, MigGeometry::From(*product.gpu.mig));

  std::size_t planned = 0, refused = 0, blocked = 0;
  const std::uint64_t rounds = 10'000 / tests::Share();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::array<const Product*, kGpus> kinds{};
    std::array<Gpu, kGpus> gpus;
    std::array<GpuGoal, kGpus> goals;
    for (std::size_t i = 0; i < kGpus; ++i) {
      kinds[i] = &products[dice.Below(products.size())];
      gpus[i] = RandomGpu(*kinds[i], dice);
      goals[i] = RandomGoal(*kinds[i], dice);
    }
    for (std::size_t i = 0; i < kGpus; ++i) {
      const auto together = PlanGpu(gpus[i], shared.For(*gpus[i].mig), goals[i]);
      const auto alone = PlanGpu(gpus[i], own.at(kinds[i]), goals[i]);
      ASSERT_EQ(together, alone);
      const auto* plan = std::get_if<GpuPlan>(&together);
      refused += plan == nullptr ? 1 : 0;
      if (plan == nullptr) continue;
      ++planned;
      blocked += plan->Blocked() ? 1 : 0;
      Carry(gpus[i], *plan, goals[i]);
      ASSERT_FALSE(HasFailure()) << "round " << round << ", GPU " << i;
    }
  }
  // All three happen, so that the loop has shown something.
  EXPECT_GT(planned, 4 * rounds);
  EXPECT_GT(blocked, rounds / 10);
  EXPECT_LT(refused, planned);
}

}  // namespace
}  // namespace partita::model
