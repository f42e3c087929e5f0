#include "model/gpu_identity.h"

#include <utility>

#include <gtest/gtest.h>

namespace partita::model {
namespace {

Gpu Card(const char* uuid, std::uint8_t bus, std::uint32_t index) {
  Gpu gpu;
  gpu.uuid = GpuUuid(uuid);
  gpu.pci = {0, bus, 0, 0};
  gpu.index = GpuIndex(index);
  return gpu;
}

Inventory Node(std::vector<Gpu> gpus) {
  Inventory node;
  node.gpus = std::move(gpus);
  return node;
}

TEST(GpuIdentityTest, FindsAGpuWhereverALaterLookHasIt) {
  const GpuIdentity second = GpuIdentity::Of(Card("GPU-b", 2, 1));
  // The first fell off the bus, and the driver counts anew.
  const Inventory node = Node({Card("GPU-b", 2, 0)});
  EXPECT_EQ(FindPosition(node, second), 0U);
  EXPECT_EQ(second, GpuIdentity::Of(node.gpus[0]));
  EXPECT_EQ(second.Name(), "GPU 1") << "as it was called when it was meant";
}

TEST(GpuIdentityTest, TakesNoOtherCardInTheSamePlace) {
  EXPECT_EQ(FindGpu(Node({Card("GPU-c", 2, 1)}), GpuIdentity::Of(Card("GPU-b", 2, 1))), nullptr);
}

TEST(GpuIdentityTest, FindsOneThatTellsNoUuidByItsAddress) {
  Gpu silent = Card("GPU-b", 2, 1);
  silent.uuid.reset();
  silent.index.reset();
  const Inventory node = Node({Card("GPU-a", 1, 0), silent});
  EXPECT_EQ(FindPosition(node, GpuIdentity::Of(Card("GPU-b", 2, 1))), 1U);
  EXPECT_EQ(GpuIdentity::Of(silent).Name(), "0000:02:00.0");
}

TEST(GpuIdentityTest, TellsGpusWithOneUuidApartByAddress) {
  const Inventory node = Node({Card("GPU-a", 1, 0), Card("GPU-a", 2, 1)});
  EXPECT_EQ(FindPosition(node, GpuIdentity::Of(node.gpus[1])), 1U);
}

TEST(GpuIdentityTest, TellsGpusOfNoPlaceApartByIndex) {
  Gpu first, second;
  first.index = GpuIndex(0);
  second.index = GpuIndex(1);
  EXPECT_EQ(FindPosition(Node({first, second}), GpuIdentity::Of(second)), 1U);
}

}  // namespace
}  // namespace partita::model
