#include "service/device_plugin/allocate.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "service/device_plugin/testing/node.h"

namespace partita::service::device_plugin {
namespace {

using config::ListStrategy;
using testing::Boards;
using testing::LayOut;
using testing::Lines;
using testing::OfferAll;

class AllocateTest : public ::testing::Test {
 protected:
  AllocateTest() {
    config_.mig_strategy = config::MigStrategy::kMixed;
    config_.list_strategies = {ListStrategy::kEnvvar};
    facts_.common_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
    facts_.annotation_id = "7f0c";
    LayOut(node_, 3, {"1g.5gb", "1g.5gb"});
  }

  void Share(bool one_at_most) {
    config_.time_slicing.emplace();
    config_.time_slicing->fail_requests_greater_than_one = one_at_most;
    config_.time_slicing->resources = {testing::Shared("nvidia.com/gpu", 4)};
    config_.time_slicing->resources[0].devices = {
        config::SharedDevices::Kind::kList, 0, {"0", "1"}};
  }

  base::Result<Answer> Ask(const Lines& ids, const std::string& name = "nvidia.com/gpu") {
    offered_ = OfferAll(node_, config_);
    const auto resource =
        std::find_if(offered_.resources.begin(), offered_.resources.end(),
                     [&](const OfferedResource& one) { return one.name == name; });
    return Allocate(*resource, ids, config_, facts_);
  }
  Answer Get(const Lines& ids, const std::string& name = "nvidia.com/gpu") {
    base::Result<Answer> answer = Ask(ids, name);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().ToString());
    return answer.ok() ? *std::move(answer) : Answer();
  }
  std::string Why(const Lines& ids) {
    const base::Result<Answer> answer = Ask(ids);
    return answer.ok() ? "" : answer.error().ToString();
  }

  using Pairs = std::vector<std::pair<std::string, std::string>>;
  model::Inventory node_ = Boards(4);
  config::PluginConfig config_;
  AllocateFacts facts_;
  Offered offered_;
};

TEST_F(AllocateTest, EnvvarNamesDevicesByUuidInTheirOrder) {
  Answer expected;
  expected.envs = {{"NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-2"}};
  EXPECT_EQ(Get({"GPU-2", "GPU-0", "GPU-2"}), expected);
}

TEST_F(AllocateTest, NamesDevicesByIndexWhereAsked) {
  config_.id_strategy = config::IdStrategy::kIndex;
  EXPECT_EQ(Get({"GPU-2", "GPU-0"}).envs, (Pairs{{"NVIDIA_VISIBLE_DEVICES", "0,2"}}));
  EXPECT_EQ(Get({"MIG-3-1"}, "nvidia.com/mig-1g.5gb").envs,
            (Pairs{{"NVIDIA_VISIBLE_DEVICES", "3:1"}}));
  config_.list_strategies = {ListStrategy::kCdiCri};
  EXPECT_EQ(Get({"MIG-3-1"}, "nvidia.com/mig-1g.5gb").cdi_devices,
            Lines{"k8s.device-plugin.nvidia.com/gpu=3:1"});
}

TEST_F(AllocateTest, OrdersByNumberAndNotByText) {
  config_.id_strategy = config::IdStrategy::kIndex;
  node_.gpus[2].index = model::GpuIndex(10);
  node_.gpus.erase(node_.gpus.begin() + 3);
  EXPECT_EQ(Get({"GPU-2", "GPU-1"}).envs, (Pairs{{"NVIDIA_VISIBLE_DEVICES", "1,10"}}));
}

TEST_F(AllocateTest, RefusesByIndexWhatHasNone) {
  config_.id_strategy = config::IdStrategy::kIndex;
  node_.gpus[1].index.reset();
  node_.gpus[2].index = model::GpuIndex(1);
  EXPECT_EQ(Why({"GPU-1"}),
            "invalid allocation request for \"nvidia.com/gpu\": the driver gives GPU-1 no index "
            "now");
}

TEST_F(AllocateTest, SharesOfOneGpuAreOneGpu) {
  Share(false);
  EXPECT_EQ(Get({"GPU-0::2", "GPU-0::0"}).envs, (Pairs{{"NVIDIA_VISIBLE_DEVICES", "GPU-0"}}));
  EXPECT_EQ(Get({"GPU-1::3", "GPU-0::0"}).envs, (Pairs{{"NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-1"}}));
}

TEST_F(AllocateTest, RefusesAnUnknownDevice) {
  EXPECT_EQ(Why({"GPU-0", "GPU-9"}),
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-9");
  EXPECT_EQ(Why({"GPU-0::0"}),
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-0::0");
  EXPECT_NE(Why({"MIG-3-0"}), "") << "a device of another resource";
  EXPECT_NE(Why({""}), "");
  EXPECT_EQ(Why({"GPU-\n\x1b[31m" + std::string(3000000, 'x')}),
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-??[31m" +
                std::string(54, 'x') + "…")
      << "what anybody may send is not echoed as it is";
}

TEST_F(AllocateTest, RefusesSeveralSharesWhereOneIsTheMost) {
  Share(true);
  EXPECT_EQ(Why({"GPU-0::0", "GPU-1::0"}),
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: maximum request "
            "size for shared resources is 1; found 2");
  EXPECT_EQ(Why({"GPU-0::0", "GPU-2"}).empty(), false);
  EXPECT_EQ(Why({"GPU-0::0"}), "");
  EXPECT_EQ(Ask({"MIG-3-0", "MIG-3-1"}, "nvidia.com/mig-1g.5gb").ok(), true)
      << "what is not shared has no limit";
  Share(false);
  EXPECT_EQ(Why({"GPU-0::0", "GPU-1::0"}), "");
}

TEST_F(AllocateTest, RefusesSeveralSharesButNotSeveralWholeGpusOfTheSameResource) {
  node_ = Boards(4);
  Share(true);
  EXPECT_EQ(Why({"GPU-2", "GPU-3"}), "");
}

TEST_F(AllocateTest, CdiCriNamesDevicesAndNothingElse) {
  config_.list_strategies = {ListStrategy::kCdiCri};
  config_.pass_device_specs = true;
  Answer expected;
  expected.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-0",
                          "k8s.device-plugin.nvidia.com/gpu=GPU-1"};
  EXPECT_EQ(Get({"GPU-1", "GPU-0"}), expected);
}

TEST_F(AllocateTest, CdiAnnotationsAreOneAnnotation) {
  config_.list_strategies = {ListStrategy::kCdiAnnotations};
  config_.gds = config_.mofed = config_.gdrcopy = true;
  facts_.extra_cdi_classes = {"mofed", "gds"};
  Answer expected;
  expected.annotations = {{"cdi.k8s.io/nvidia-device-plugin_7f0c",
                           "k8s.device-plugin.nvidia.com/gpu=GPU-0,"
                           "k8s.device-plugin.nvidia.com/gds=all,"
                           "k8s.device-plugin.nvidia.com/mofed=all"}};
  expected.envs = {
      {"NVIDIA_GDRCOPY", "enabled"}, {"NVIDIA_GDS", "enabled"}, {"NVIDIA_MOFED", "enabled"}};
  EXPECT_EQ(Get({"GPU-0"}), expected);
  config_.cdi_annotation_prefix = "example.com/";
  config_.gds = false;
  EXPECT_EQ(Get({"GPU-0"}).annotations, (Pairs{{"example.com/nvidia-device-plugin_7f0c",
                                                "k8s.device-plugin.nvidia.com/gpu=GPU-0,"
                                                "k8s.device-plugin.nvidia.com/mofed=all"}}));
}

TEST_F(AllocateTest, GivesImexChannelsInEveryStrategy) {
  facts_.imex_channels = {0};
  config_.pass_device_specs = true;
  config_.list_strategies = {ListStrategy::kEnvvar, ListStrategy::kCdiCri};
  const Answer answer = Get({"GPU-0"});
  EXPECT_EQ(answer.cdi_devices, (Lines{"k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                       "k8s.device-plugin.nvidia.com/imex-channel=0"}));
  EXPECT_EQ(answer.envs,
            (Pairs{{"NVIDIA_VISIBLE_DEVICES", "GPU-0"}, {"NVIDIA_IMEX_CHANNELS", "0"}}));
  EXPECT_EQ(answer.nodes.back(), (Answer::Node{"/dev/nvidia-caps-imex-channels/channel0",
                                               "/dev/nvidia-caps-imex-channels/channel0", "rw"}));
  config_.list_strategies = {ListStrategy::kVolumeMounts};
  EXPECT_EQ(Get({"GPU-0"}).mounts,
            (std::vector<Answer::Mount>{
                {"/var/run/nvidia-container-devices/GPU-0", "/dev/null", false},
                {"/var/run/nvidia-container-devices/imex/0", "/dev/null", false}}));
}

TEST_F(AllocateTest, VolumeMountsTakeTheVariable) {
  config_.list_strategies = {ListStrategy::kVolumeMounts, ListStrategy::kEnvvar};
  Answer expected;
  expected.envs = {{"NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices"}};
  expected.mounts = {{"/var/run/nvidia-container-devices/MIG-3-0", "/dev/null", false},
                     {"/var/run/nvidia-container-devices/MIG-3-1", "/dev/null", false}};
  EXPECT_EQ(Get({"MIG-3-1", "MIG-3-0"}, "nvidia.com/mig-1g.5gb"), expected);
}

TEST_F(AllocateTest, PassesNodesOnceEach) {
  config_.pass_device_specs = true;
  const auto paths = [&] {
    Lines lines;
    for (const Answer::Node& node : Get({"MIG-3-1", "MIG-3-0"}, "nvidia.com/mig-1g.5gb").nodes) {
      EXPECT_EQ(node.permissions, "rw");
      lines.push_back(node.host_path + " at " + node.container_path);
    }
    return lines;
  };
  const Lines names = {"/dev/nvidiactl",
                       "/dev/nvidia-uvm",
                       "/dev/nvidia3",
                       "/dev/nvidia-caps/nvidia-cap417",
                       "/dev/nvidia-caps/nvidia-cap418",
                       "/dev/nvidia-caps/nvidia-cap426",
                       "/dev/nvidia-caps/nvidia-cap427"};
  const auto below = [&](const std::string& root) {
    Lines lines;
    for (const std::string& name : names)
      lines.push_back(fmt::format("{}{} at {}", root, name, name));
    return lines;
  };
  EXPECT_EQ(paths(), below(""));
  config_.driver_root = "/run/nvidia/driver";
  EXPECT_EQ(paths(), below("/run/nvidia/driver"));
  config_.dev_root = "/host/";
  EXPECT_EQ(paths(), below("/host"));
}

// For every set of strategies: a container is told of the devices asked for and of no other.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): every strategy in one table
TEST_F(AllocateTest, NeverNamesADeviceNotAskedFor) {
  Share(false);
  config_.pass_device_specs = true;
  std::mt19937 random(11);
  const Lines all = {"GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::3", "GPU-2"};
  for (unsigned round = 0; round < 500; ++round) {
    config_.list_strategies.clear();
    const auto set = static_cast<unsigned>(1 + random() % 15);
    for (unsigned bit = 0; bit < 4; ++bit)
      if ((set >> bit & 1U) != 0) config_.list_strategies.push_back(static_cast<ListStrategy>(bit));
    config_.id_strategy =
        random() % 2 == 0 ? config::IdStrategy::kUuid : config::IdStrategy::kIndex;
    Lines ids;
    for (const std::string& id : all)
      if (random() % 2 == 0) ids.push_back(id);
    std::shuffle(ids.begin(), ids.end(), random);
    const Answer answer = Get(ids);
    std::string text;
    for (const auto& [name, value] : answer.envs) text += "," + value + ",";
    for (const auto& [name, value] : answer.annotations) text += "," + value + ",";
    for (const Answer::Mount& mount : answer.mounts) text += "," + mount.container_path + ",";
    for (const std::string& name : answer.cdi_devices) text += "," + name + ",";
    for (std::size_t gpu = 0; gpu < 4; ++gpu) {
      const std::string uuid = "GPU-" + std::to_string(gpu);
      const bool asked = std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
        return id.substr(0, id.find("::")) == uuid;
      });
      const bool by_uuid = config_.id_strategy == config::IdStrategy::kUuid;
      const std::string name = by_uuid ? uuid : std::to_string(gpu);
      bool told = false;
      for (const char* before : {",", "/", "="})
        told = told || text.find(before + name + ",") != std::string::npos;
      EXPECT_EQ(told, asked) << name << " in " << text;
      const bool node = std::any_of(answer.nodes.begin(), answer.nodes.end(), [&](const auto& one) {
        return one.container_path == "/dev/nvidia" + std::to_string(gpu);
      });
      EXPECT_TRUE(!node || asked);
    }
  }
}

TEST_F(AllocateTest, TellsTheLedgerOfEachShare) {
  Share(false);
  ASSERT_TRUE(Ask({"GPU-0::1"}).ok());
  const OfferedResource& resource = offered_.resources[0];
  const auto devices = DevicesOf(resource, {"GPU-1::0", "GPU-0::1", "GPU-0::0"});
  ASSERT_TRUE(devices.ok());
  Lines keys;
  for (const ledger::Device& device : *devices) keys.push_back(ledger::KeyOf(device));
  EXPECT_EQ(keys, (Lines{"GPU-0::0", "GPU-0::1", "GPU-1::0"}));
  EXPECT_FALSE(DevicesOf(resource, {"GPU-7"}).ok());
}

}  // namespace
}  // namespace partita::service::device_plugin
