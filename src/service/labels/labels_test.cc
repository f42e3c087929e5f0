#include "service/labels/labels.h"

#include <gtest/gtest.h>

#include "service/labels/label_value.h"
#include "service/labels/testing/mock_node.h"

namespace partita::service::labels {
namespace {

using testing::Expected;
using testing::MockNode;
using testing::Rendered;
using testing::TimeSliced;

TEST(Labels, DescribeOneGpu) { EXPECT_EQ(Rendered(MockNode(1)), Expected({})); }

TEST(Labels, CountSharesAndSaySo) {
  EXPECT_EQ(Rendered(MockNode(2), TimeSliced("nvidia.com/gpu", 2)),
            Expected({{"gpu.count", "2"},
                      {"gpu.replicas", "2"},
                      {"gpu.sharing-strategy", "time-slicing"},
                      {"gpu.product", "MOCKMODEL-SHARED"}}));
}

TEST(Labels, ARenamedShareKeepsTheProduct) {
  EXPECT_EQ(
      Rendered(MockNode(2), TimeSliced("nvidia.com/gpu", 2, "nvidia.com/gpu.shared")),
      Expected(
          {{"gpu.count", "2"}, {"gpu.replicas", "2"}, {"gpu.sharing-strategy", "time-slicing"}}));
}

TEST(Labels, SayWhatIsSharedByMps) {
  config::PluginConfig config = TimeSliced("nvidia.com/gpu", 2);
  config.mps = TimeSliced("nvidia.com/gpu", 4).time_slicing;
  EXPECT_EQ(Rendered(MockNode(1), config), Expected({{"mps.capable", "true"},
                                                     {"gpu.replicas", "4"},
                                                     {"gpu.sharing-strategy", "mps"},
                                                     {"gpu.product", "MOCKMODEL-SHARED"}}));
}

// NVIDIA's looks at no device for it (internal/lm/nvml.go, isMPSCapable), but that none is divided.
TEST(Labels, MpsIsThereWhereItIsConfiguredForWhatTheNodeHasNot) {
  config::PluginConfig config;
  config.mps = TimeSliced("nvidia.com/mig-1g.5gb", 4).time_slicing;
  EXPECT_EQ(Rendered(MockNode(1), config), Expected({{"mps.capable", "true"}}));
}

// Shares have names of their own, so that the product stays; one is one share of a device, too.
TEST(Labels, CountTheSharesOfAllSizes) {
  config::PluginConfig config;
  config.mps = TimeSliced("nvidia.com/gpu", 5).time_slicing;
  config.mps->resources[0].shares = {{"small", 4, 0, 10, 10}, {"large", 1, 0, 50, 50}};
  EXPECT_EQ(
      Rendered(MockNode(1), config),
      Expected({{"mps.capable", "true"}, {"gpu.replicas", "5"}, {"gpu.sharing-strategy", "mps"}}));
  config.mps->resources[0].shares.erase(config.mps->resources[0].shares.begin());
  config.mps->resources[0].replicas = 1;
  EXPECT_EQ(Rendered(MockNode(1), config),
            Expected({{"mps.capable", "true"}, {"gpu.sharing-strategy", "mps"}}));
}

TEST(Labels, SharingOfAnotherResourceIsNotTheirs) {
  EXPECT_EQ(Rendered(MockNode(1), TimeSliced("nvidia.com/mig-1g.5gb", 2)), Expected({}));
}

TEST(Labels, SharingGoesByTheNameThatAPatternGives) {
  config::PluginConfig config = TimeSliced("nvidia.com/mock", 3);
  config.gpu_names = {{"MOCK*", "nvidia.com/mock"}};
  EXPECT_EQ(Rendered(MockNode(1), config), Expected({{"gpu.replicas", "3"},
                                                     {"gpu.sharing-strategy", "time-slicing"},
                                                     {"gpu.product", "MOCKMODEL-SHARED"}}));
}

TEST(Labels, WithoutGpusSayNothingOfThem) {
  EXPECT_EQ(Rendered(MockNode(0)), Labels());
  model::Inventory node = MockNode(2);
  node.driver.reset();
  EXPECT_EQ(Rendered(node), Labels());
}

TEST(Labels, LeaveOutWhatTheDriverDoesNotList) {
  model::Inventory node = MockNode(4);
  node.gpus[1].index.reset();  // gone from the bus
  node.gpus[2].faults = {{model::FaultKind::kMissing, "not listed"}};
  node.gpus[3].name = "NVIDIA DGX Display";
  EXPECT_EQ(Rendered(node), Expected({}));
}

TEST(Labels, SayWhatTheGpusSayThatAnswer) {
  for (const std::size_t lost : {std::size_t{0}, std::size_t{1}}) {
    model::Inventory node = MockNode(2);
    node.gpus[lost].memory.reset();
    node.gpus[lost].compute_major.reset();
    node.gpus[lost].compute_minor.reset();
    node.gpus[lost].mig.reset();
    EXPECT_EQ(Rendered(node), Expected({{"gpu.count", "2"}})) << lost;
  }
}

TEST(Labels, CountAGpuThatIsListedAndIll) {
  model::Inventory node = MockNode(2);
  node.gpus[1].faults = {{model::FaultKind::kLost, "lost"}};
  EXPECT_EQ(Rendered(node), Expected({{"gpu.count", "2"}}));
}

TEST(Labels, TellTheDriversThreeParts) {
  model::Inventory node = MockNode(1);
  node.driver->version = "535.104.06";
  node.driver->cuda = {{12, 2}};
  EXPECT_EQ(Rendered(node), Expected({{"cuda.driver.major", "535"},
                                      {"cuda.driver.minor", "104"},
                                      {"cuda.driver.rev", "06"},
                                      {"cuda.driver-version.major", "535"},
                                      {"cuda.driver-version.minor", "104"},
                                      {"cuda.driver-version.revision", "06"},
                                      {"cuda.driver-version.full", "535.104.06"},
                                      {"cuda.runtime.major", "12"},
                                      {"cuda.runtime.minor", "2"},
                                      {"cuda.runtime-version.major", "12"},
                                      {"cuda.runtime-version.minor", "2"},
                                      {"cuda.runtime-version.full", "12.2"}}));
}

TEST(Labels, SayNothingThatIsNotKnown) {
  model::Inventory node = MockNode(1);
  node.driver->cuda.reset();
  node.gpus[0].memory.reset();
  node.gpus[0].compute_major = 0;
  Labels expected = Expected({});
  for (const char* name : {"cuda.runtime.major", "cuda.runtime.minor", "cuda.runtime-version.major",
                           "cuda.runtime-version.minor", "cuda.runtime-version.full", "gpu.memory",
                           "gpu.family", "gpu.compute.major", "gpu.compute.minor"})
    EXPECT_EQ(expected.erase(std::string("nvidia.com/") + name), 1U) << name;
  EXPECT_EQ(Rendered(node), expected);
}

TEST(Labels, KnowEveryFamily) {
  const struct {
    int major, minor;
    const char* family;
  } rows[] = {{1, 3, "tesla"},   {2, 0, "fermi"},      {3, 7, "kepler"},     {4, 0, "undefined"},
              {5, 2, "maxwell"}, {6, 1, "pascal"},     {7, 0, "volta"},      {7, 4, "volta"},
              {7, 5, "turing"},  {8, 0, "ampere"},     {8, 8, "ampere"},     {8, 9, "ada-lovelace"},
              {9, 0, "hopper"},  {10, 0, "blackwell"}, {11, 0, "blackwell"}, {12, 1, "blackwell"},
              {13, 0, "rubin"},  {14, 0, "undefined"}};
  for (const auto& row : rows) {
    model::Inventory node = MockNode(1);
    node.gpus[0].compute_major = row.major;
    node.gpus[0].compute_minor = row.minor;
    EXPECT_EQ(Rendered(node).at("nvidia.com/gpu.family"), row.family) << row.major << row.minor;
  }
}

TEST(Labels, TellTheModeByThePciClass) {
  const struct {
    std::vector<std::uint32_t> classes;
    const char* mode;
  } rows[] = {{{0x030000, 0x030000}, "graphics"},
              {{0x030200, 0x030200}, "compute"},
              {{0x030200, 0x030000}, "unknown"},
              {{0x068000, 0x068000}, "unknown"},
              {{0, 0}, "unknown"}};
  for (const auto& row : rows) {
    model::Inventory node = MockNode(2);
    for (std::size_t i = 0; i < 2; ++i) node.gpus[i].pci_class = row.classes[i];
    EXPECT_EQ(Rendered(node).at("nvidia.com/gpu.mode"), row.mode) << row.mode;
  }
}

TEST(Labels, TellTheCliqueThatAllShare) {
  const model::Fabric fabric = {true, "5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 7};
  model::Inventory node = MockNode(3);
  node.gpus[0].fabric = node.gpus[1].fabric = fabric;  // the third is in none
  EXPECT_EQ(Rendered(node), Expected({{"gpu.count", "3"},
                                      {"gpu.clique", "5c89852c-d268-c3f3-1b07-005d5ae1dc3f.7"}}));
  node.gpus[1].fabric->clique = 8;
  const Rendering rendering = Render(node, {}, {}, {.started = {}, .ours = false});
  EXPECT_EQ(rendering.labels, Expected({{"gpu.count", "3"}}));
  EXPECT_EQ(rendering.warnings,
            std::vector<std::string>{
                "nvidia.com/gpu.clique is left out: the GPUs are in different cliques"});
}

TEST(Labels, AFabricThatIsNotReadyIsNone) {
  model::Inventory node = MockNode(1);
  node.gpus[0].fabric = {false, "5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 7};
  EXPECT_EQ(Rendered(node), Expected({}));
  node.gpus[0].fabric = {true, "", 7};
  EXPECT_EQ(Rendered(node), Expected({}));
}

TEST(Labels, OfTwoProductsTheMoreNumerousIsDescribed) {
  model::Inventory node = MockNode(3);
  node.gpus[1].name = node.gpus[2].name = "OTHER (X)";
  for (std::size_t i = 1; i < 3; ++i) node.gpus[i].memory->total = model::Bytes(700U << 20U);
  EXPECT_EQ(Rendered(node),
            Expected({{"gpu.count", "2"}, {"gpu.product", "OTHER-X"}, {"gpu.memory", "700"}}));
  node.gpus.pop_back();
  EXPECT_EQ(Rendered(node), Expected({}));  // as many of each: the lower index
}

TEST(Labels, OfOursCountEveryProduct) {
  model::Inventory node = MockNode(3);
  node.gpus[0].name = "NVIDIA TITAN X (Pascal)";
  const Rendering rendering = Render(node, {}, {}, {.started = std::nullopt, .ours = true});
  Labels expected = Expected({{"gpu.count", "2"}, {"gpu.present", "true"}});
  expected.insert({{"partita.dev/gpu.models", "2"},
                   {"partita.dev/gpu.0.product", "NVIDIA-TITAN-X--Pascal"},
                   {"partita.dev/gpu.0.count", "1"},
                   {"partita.dev/gpu.0.memory", "300"},
                   {"partita.dev/gpu.1.product", "MOCKMODEL"},
                   {"partita.dev/gpu.1.count", "2"},
                   {"partita.dev/gpu.1.memory", "300"}});
  EXPECT_EQ(rendering.labels, expected);
  EXPECT_EQ(rendering.annotations,
            (Labels{{"partita.dev/gpu.0.product", "NVIDIA TITAN X (Pascal)"}}));
  for (const auto& [key, value] : rendering.labels)
    EXPECT_TRUE(rendering.sources.contains(key)) << key;
}

TEST(Labels, GpuPresentGoesByTheBusAndIsNeverAbsent) {
  const auto present = [](std::uint32_t on_bus) {
    return Render(MockNode(0), {}, {.machine = {}, .gpus_on_bus = on_bus, .vgpu = {}}, {}).labels;
  };
  EXPECT_EQ(present(0), (Labels{{"nvidia.com/gpu.present", "false"}}));
  EXPECT_EQ(present(2), (Labels{{"nvidia.com/gpu.present", "true"}}));
}

TEST(Labels, TellTheMachineAndTheTime) {
  const Labels labels = Render(MockNode(1), {}, {.machine = " X9SRA/X9SRA-3\n"},
                               {.started = 1594644571, .ours = false})
                            .labels;
  EXPECT_EQ(labels, Expected({{"gpu.machine", "X9SRAX9SRA-3"}, {"gfd.timestamp", "1594644571"}}));
}

TEST(Labels, TellTheHostOfAVirtualGpu) {
  const auto render = [](const model::VgpuFacts& vgpu) {
    return Render(MockNode(0), {}, {.machine = {}, .gpus_on_bus = 0, .vgpu = vgpu},
                  {.started = {}, .ours = false})
        .labels;
  };
  EXPECT_EQ(render({}), (Labels{{"nvidia.com/vgpu.present", "false"}}));
  EXPECT_EQ(render({model::VgpuHost()}), (Labels{{"nvidia.com/vgpu.present", "true"}}));
  EXPECT_EQ(render({model::VgpuHost{"550.54.16", "r550_40"}}),
            (Labels{{"nvidia.com/vgpu.present", "true"},
                    {"nvidia.com/vgpu.host-driver-version", "550.54.16"},
                    {"nvidia.com/vgpu.host-driver-branch", "r550_40"}}));
}

TEST(Labels, AreSuchAsKubernetesTakes) {
  model::Inventory node = MockNode(1);
  node.gpus[0].name = "-(" + std::string(80, 'x') + ")_";
  const Rendering rendering = Render(node, {}, {.machine = "__"}, {});
  EXPECT_EQ(rendering.labels.at("nvidia.com/gpu.product"), std::string(63, 'x'));
  EXPECT_EQ(rendering.labels.at("nvidia.com/gpu.machine"), "");
  for (const auto& [key, value] : rendering.labels) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
    EXPECT_TRUE(IsLabelValue(value)) << value;
  }
}

}  // namespace
}  // namespace partita::service::labels
