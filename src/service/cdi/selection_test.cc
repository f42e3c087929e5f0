#include "service/cdi/selection.h"

#include <gtest/gtest.h>

#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

// GPU 0 whole, GPU 1 with MIG devices 0 and 3.
model::Inventory TwoGpus() {
  model::Inventory node = testing::SampleNode();
  model::Gpu second = testing::SampleGpu();
  second.index = model::GpuIndex(1);
  second.minor = model::DeviceMinor(1);
  second.uuid = model::GpuUuid("GPU-22222222-2222-3333-4444-555555555555");
  second.pci.bus = 0x5e;
  testing::AddSlice(second, 0, 1, 12, 13);
  testing::AddSlice(second, 3, 5, 48, 49);
  node.gpus.push_back(second);
  return node;
}

std::string ShownSelection(const base::Result<Selection>& selection) {
  if (!selection.ok()) return selection.error().ToString();
  std::string text;
  for (const Subject& subject : selection->subjects) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", *subject.gpu->index);
    if (subject.compute != nullptr) text += fmt::format(":{}", *subject.compute->slot);
  }
  return text;
}

std::string ById(const model::Inventory& node, const std::vector<std::string>& ids) {
  return ShownSelection(SelectByIds(node, ids));
}

TEST(Selection, AllAreWholeGpusAndSlices) {
  EXPECT_EQ(ShownSelection(SelectAll(TwoGpus())), "0 1:0 1:3");
}

TEST(Selection, ADisplayBoardIsNobodys) {
  model::Inventory node = TwoGpus();
  node.gpus[0].name = "NVIDIA DGX Display";
  const Selection selection = SelectAll(node);
  EXPECT_EQ(ShownSelection(selection), "1:0 1:3");
  EXPECT_EQ(selection.nothing, std::vector<std::string>{"GPU 0 is for a display alone"});
}

TEST(Selection, ABrokenGpuSaysWhy) {
  model::Inventory node = TwoGpus();
  node.gpus[0].faults = {{model::FaultKind::kLost, "it is lost"}};
  node.gpus[1].faults = {{model::FaultKind::kMemoryErrors, "errors"}};
  const Selection selection = SelectAll(node);
  EXPECT_EQ(ShownSelection(selection), "1:0 1:3");
  ASSERT_EQ(selection.broken.size(), 1U);
  EXPECT_EQ(selection.broken[0].ToString(), "GPU 0: it is lost");
}

TEST(Selection, AGpuThatTheDriverDoesNotListIsApart) {
  model::Inventory node = TwoGpus();
  node.gpus[0].index.reset();
  node.gpus[0].faults = {{model::FaultKind::kMissing, "x"}};
  const Selection selection = SelectAll(node);
  EXPECT_TRUE(selection.broken.empty());
  EXPECT_TRUE(selection.nothing.empty());
  EXPECT_EQ(selection.unlisted, std::vector<const model::Gpu*>{&node.gpus[0]});
}

TEST(Selection, ByEveryNameThatThereIs) {
  const model::Inventory node = TwoGpus();
  const std::string slice = node.gpus[1].mig->instances[1].compute_instances[0].uuid.value();
  EXPECT_EQ(ById(node, {"0"}), "0");
  EXPECT_EQ(ById(node, {"1:3", "0"}), "1:3 0");
  EXPECT_EQ(ById(node, {"gpu-11111111-2222-3333-4444-555555555555"}), "0");
  EXPECT_EQ(ById(node, {slice}), "1:3");
  EXPECT_EQ(ById(node, {"MIG-GPU-22222222-2222-3333-4444-555555555555/5/0"}), "1:3");
  EXPECT_EQ(ById(node, {"0000:5E:00.0"}), "1");
  EXPECT_EQ(ById(node, {"00000000:3b:00.0"}), "0");
  // A GPU in MIG mode, because somebody named it.
  EXPECT_EQ(ById(node, {"1"}), "1");
  EXPECT_EQ(ById(node, {"0", "0", testing::kGpuUuid}), "0");
}

// GPU 0 of a DGX A100 is on bus 7: whoever asks for a slice of GPU 7 must not get it.
TEST(Selection, ASliceIsNoPciAddress) {
  model::Inventory node = TwoGpus();
  node.gpus[0].pci.bus = 7;
  EXPECT_EQ(ById(node, {"7:0"}), "7:0: unknown device");
  EXPECT_EQ(ById(node, {"7:00.0"}), "0");
}

TEST(Selection, RefusesWhatIsNobodys) {
  const model::Inventory node = TwoGpus();
  EXPECT_EQ(ById(node, {"7"}), "7: unknown device");
  EXPECT_EQ(ById(node, {"1:1"}), "1:1: unknown device");
  EXPECT_EQ(ById(node, {"GPU-0"}), "GPU-0: unknown device");
  for (const char* text : {"", "../0", "0/1", "gpu", "0:1:2:3", "-1", "0x0"})
    EXPECT_TRUE(ById(node, {text}).starts_with("identifier is not a valid UUID or index: "))
        << text;
}

}  // namespace
}  // namespace partita::service::cdi
