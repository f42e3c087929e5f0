#include "model/gpu_select.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

// An H200 at index 1 on NUMA node 0 with one MIG device 1g.18gb.
Gpu Sample() {
  Gpu gpu;
  gpu.index = GpuIndex(1);
  gpu.uuid = GpuUuid("GPU-b");
  gpu.name = "NVIDIA H200";
  gpu.pci = *PciAddress::Parse("0000:65:00.0");
  gpu.numa_node = 0;
  Mig mig;
  mig.enabled = true;
  GpuInstance instance;
  ComputeInstance compute;
  compute.name = "1g.18gb";
  instance.compute_instances.push_back(compute);
  mig.instances.push_back(instance);
  gpu.mig = mig;
  return gpu;
}

TEST(GpuSelect, MatchesEveryGpuWhenItSaysNothing) {
  EXPECT_TRUE(Matches({}, Sample()));
  EXPECT_TRUE(Matches({}, Gpu{}));
}

TEST(GpuSelect, TakesAnyValueOfAKey) {
  GpuSelect select;
  select.index = {GpuIndex(0), GpuIndex(1)};
  EXPECT_TRUE(Matches(select, Sample()));
  select.index = {GpuIndex(0), GpuIndex(2)};
  EXPECT_FALSE(Matches(select, Sample()));
}

TEST(GpuSelect, WantsEveryKey) {
  GpuSelect select;
  select.uuid = {GpuUuid("GPU-b")};
  select.product = {"h200"};
  select.pci = {*PciAddress::Parse("65:00.0")};
  select.numa = {0};
  select.profile = {"1g.18gb"};
  EXPECT_TRUE(Matches(select, Sample()));
  select.numa = {1};
  EXPECT_FALSE(Matches(select, Sample()));
}

TEST(GpuSelect, KnowsEachKeyByItself) {
  const auto with = [](auto set) {
    GpuSelect select;
    set(select);
    return Matches(select, Sample());
  };
  EXPECT_FALSE(with([](GpuSelect& s) { s.uuid = {GpuUuid("GPU-c")}; }));
  EXPECT_FALSE(with([](GpuSelect& s) { s.pci = {*PciAddress::Parse("66:00.0")}; }));
  EXPECT_FALSE(with([](GpuSelect& s) { s.product = {"H100"}; }));
  EXPECT_TRUE(with([](GpuSelect& s) { s.product = {"H100", "NVIDIA-H200"}; }));
  EXPECT_FALSE(with([](GpuSelect& s) { s.profile = {"2g.35gb"}; }));
}

TEST(GpuSelect, SeesNoProfilesWhileMigIsOff) {
  GpuSelect select;
  select.profile = {"1g.18gb"};
  Gpu gpu = Sample();
  gpu.mig->enabled = false;
  EXPECT_FALSE(Matches(select, gpu));
  gpu.mig.reset();
  EXPECT_FALSE(Matches(select, gpu));
}

// What the driver did not say is no value of a key.
TEST(GpuSelect, DoesNotMatchWhatIsUnknown) {
  GpuSelect select;
  select.numa = {0};
  Gpu gpu = Sample();
  gpu.numa_node.reset();
  EXPECT_FALSE(Matches(select, gpu));
}

}  // namespace
}  // namespace partita::model
