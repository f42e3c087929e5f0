#include "service/inventory/snapshot.h"

#include <gtest/gtest.h>

namespace partita::service::inventory {
namespace {

const model::PciAddress kFirstSeen{.bus = 7};
const model::PciAddress kSecondSeen{.bus = 0xf};

model::Inventory TwoGpus() {
  model::Inventory node;
  for (const model::PciAddress& pci : {kFirstSeen, kSecondSeen}) {
    model::Gpu gpu;
    gpu.pci = pci;
    gpu.mig.emplace();
    node.gpus.push_back(gpu);
  }
  return node;
}

TEST(Difference, NothingOfEqualNodes) {
  const Changes changes = Difference(TwoGpus(), TwoGpus());
  EXPECT_FALSE(changes.any());
  EXPECT_EQ(changes, Changes{});
}

TEST(Difference, EachPartByItself) {
  struct Case {
    const char* name;
    void (*change)(model::Gpu&);
    Changes wanted;
  };
  const Case cases[] = {
      {"index",
       [](model::Gpu& gpu) { gpu.index = model::GpuIndex(3); },
       {.identity = true, .changed = {kSecondSeen}}},
      {"NUMA node",
       [](model::Gpu& gpu) { gpu.numa_node = 1; },
       {.identity = true, .changed = {kSecondSeen}}},
      {"MIG mode",
       [](model::Gpu& gpu) { gpu.mig->enabled = true; },
       {.shape = true, .changed = {kSecondSeen}}},
      {"an instance",
       [](model::Gpu& gpu) { gpu.mig->instances.emplace_back(); },
       {.shape = true, .changed = {kSecondSeen}}},
      {"compute mode",
       [](model::Gpu& gpu) { gpu.compute_mode = model::ComputeMode::kExclusiveProcess; },
       {.shape = true, .changed = {kSecondSeen}}},
      {"a fault",
       [](model::Gpu& gpu) {
         gpu.faults.push_back({model::FaultKind::kHung, "hung"});
       },
       {.shape = true, .changed = {kSecondSeen}}},
      {"temperature",
       [](model::Gpu& gpu) { gpu.readings.temperature = model::Celsius(41); },
       {.readings = true}},
      {"errors of memory",
       [](model::Gpu& gpu) {
         gpu.uncorrected_errors = {1, 1};
       },
       {.readings = true}},
      {"a process",
       [](model::Gpu& gpu) { gpu.processes.emplace_back(); },
       {.holders = true, .changed = {kSecondSeen}}},
      {"memory in use",
       [](model::Gpu& gpu) { gpu.memory.emplace(); },
       {.holders = true, .changed = {kSecondSeen}}},
  };
  for (const Case& each : cases) {
    model::Inventory after = TwoGpus();
    each.change(after.gpus[1]);
    EXPECT_EQ(Difference(TwoGpus(), after), each.wanted) << each.name;
    EXPECT_EQ(Difference(after, TwoGpus()), each.wanted) << each.name << ", the other way";
  }
}

TEST(Difference, MemoryOfAnInstanceIsNotItsShape) {
  model::Inventory before = TwoGpus();
  before.gpus[0].mig->instances.emplace_back();
  model::Inventory after = before;
  after.gpus[0].mig->instances[0].memory.emplace();
  EXPECT_FALSE(Difference(before, after).shape);
}

TEST(Difference, WhoCameAndWhoWent) {
  model::Inventory one = TwoGpus();
  one.gpus.pop_back();
  const Changes gone = Difference(TwoGpus(), one);
  EXPECT_EQ(gone.gone, std::vector{kSecondSeen});
  EXPECT_TRUE(gone.identity && gone.shape);
  EXPECT_EQ(Difference(one, TwoGpus()).appeared, std::vector{kSecondSeen});
}

TEST(Difference, TheNodeItself) {
  model::Inventory after = TwoGpus();
  after.driver.emplace();
  EXPECT_TRUE(Difference(TwoGpus(), after).identity);
  after = TwoGpus();
  after.nodes.push_back({"/dev/nvidia0", 195, 0, 0666});
  EXPECT_TRUE(Difference(TwoGpus(), after).shape);
  after = TwoGpus();
  after.links.push_back({kFirstSeen, kSecondSeen, std::nullopt, 12});
  EXPECT_TRUE(Difference(TwoGpus(), after).shape);
}

}  // namespace
}  // namespace partita::service::inventory
