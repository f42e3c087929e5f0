#include "model/selector.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

Gpu SampleGpu() {
  Gpu gpu;
  gpu.index = GpuIndex(3);
  gpu.uuid = GpuUuid("GPU-75dc73da-4ae5-4dea-bd65-1f1e2aa7a5bb");
  gpu.pci = {0, 0x07, 0, 0};
  gpu.name = "NVIDIA A100-SXM4-40GB";
  return gpu;
}

TEST(GpuSelector, MatchesInEverySpelling) {
  for (const char* text : {"3", " 3 ", "GPU-75dc73da-4ae5-4dea-bd65-1f1e2aa7a5bb", "0000:07:00.0",
                           "07:00.0", "00000000:07:00.0", "A100-SXM4-40GB", "a100-sxm4-40gb",
                           "NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"}) {
    const auto selector = GpuSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_TRUE(selector->Matches(SampleGpu())) << text;
  }
}

TEST(GpuSelector, MatchesNothingElse) {
  for (const char* text : {"2", "GPU-75dc73da", "0000:08:00.0", "0001:07:00.0", "A100", "H200"}) {
    const auto selector = GpuSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_FALSE(selector->Matches(SampleGpu())) << text;
  }
}

TEST(GpuSelector, RefusesWhatSelectsNoGpu) {
  for (const char* text : {"", "  ", "MIG-1", "12:34:56:78", "zz:00.0"})
    EXPECT_FALSE(GpuSelector::Parse(text).ok()) << text;
}

TEST(GpuSelector, PrintsWhatItSelects) {
  EXPECT_EQ(GpuSelector::Parse("3")->ToString(), "GPU 3");
  EXPECT_EQ(GpuSelector::Parse("07:00.0")->ToString(), "0000:07:00.0");
  EXPECT_EQ(GpuSelector::Parse("GPU-1")->ToString(), "GPU-1");
  EXPECT_EQ(GpuSelector::Parse("h200")->ToString(), "product h200");
}

}  // namespace
}  // namespace partita::model
