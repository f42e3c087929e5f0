#include <cmath>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "config/document.h"
#include "sim/load/catalog.h"
#include "sim/load/identity.h"
#include "sim/load/node_file.h"
#include "sim/load/pci_address.h"
#include "sim/load/product.h"

namespace partita::sim::load {
namespace {

LoadedNode LoadBuiltIn(std::string_view profile) {
  const Catalog catalog = Catalog::BuiltIn();
  auto node = LoadNode(*catalog.FindNode(profile), catalog, "");
  EXPECT_TRUE(node.ok()) << node.error().ToString();
  return *std::move(node);
}

// The name of a GPU instance profile by the rule that clients use, from what NVML would report.
std::string ProfileName(const Board& board, const GiProfile& profile) {
  const auto total = static_cast<double>(board.memory_total);
  const double share = static_cast<double>(profile.memory_mb) * 1048576.0 / total;
  const double eighths = std::ceil(share * 8) / 8;
  const double gigabytes = std::round(eighths * std::ceil(total / 1073741824.0));
  return std::to_string(profile.slice_count) + "g." + std::to_string(std::lround(gigabytes)) +
         "gb" + profile.attributes;
}

TEST(BuiltInData, EveryProductLoads) {
  const Catalog catalog = Catalog::BuiltIn();
  EXPECT_EQ(Names(catalog.products()),
            (std::vector<std::string>{"A100-SXM4-40GB", "A100-SXM4-80GB", "A30", "H100-80GB-HBM3",
                                      "H200", "RTX-PRO-6000", "T4", "V100-SXM2-16GB"}));
  for (const DataFile& file : catalog.products()) {
    const auto product = LoadProduct(file);
    ASSERT_TRUE(product.ok()) << product.error().ToString();
    EXPECT_EQ(product->board.product, file.name);
    EXPECT_EQ(product->board.pci_device_id & 0xFFFF, 0x10DEU) << file.name;
  }
}

TEST(BuiltInData, ProfileNamesFollowFromTheNumbers) {
  const Catalog catalog = Catalog::BuiltIn();
  for (const DataFile& file : catalog.products()) {
    const auto product = LoadProduct(file);
    ASSERT_TRUE(product.ok());
    const auto document = config::Document::Parse(file.text, file.path);
    const config::Node* mig = document->root().Find("mig");
    if (mig == nullptr) continue;
    const config::Node* rows = mig->Find("gpu_instances")->Find("profiles");
    ASSERT_EQ(rows->items.size(), product->board.gi_profile_count);
    for (std::size_t i = 0; i < rows->items.size(); ++i) {
      EXPECT_EQ(ProfileName(product->board, product->board.gi_profiles[i]),
                rows->items[i].Find("name")->text)
          << file.name;
    }
  }
}

TEST(BuiltInData, EveryGpuInstanceOffersAComputeInstanceOfItsFullWidth) {
  const Catalog catalog = Catalog::BuiltIn();
  for (const DataFile& file : catalog.products()) {
    const auto product = LoadProduct(file);
    ASSERT_TRUE(product.ok());
    const Board& board = product->board;
    for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
      const GiProfile& gi = board.gi_profiles[i];
      std::uint32_t widest = 0, multiprocessors = 0;
      for (std::uint32_t j = 0; j < board.ci_profile_count; ++j) {
        if (board.ci_profiles[j].gi_constant != gi.constant) continue;
        widest = std::max(widest, board.ci_profiles[j].slice_count);
        multiprocessors = std::max(multiprocessors, board.ci_profiles[j].multiprocessors);
      }
      EXPECT_EQ(widest, gi.slice_count) << file.name << " profile " << gi.id;
      EXPECT_EQ(multiprocessors, gi.multiprocessors) << file.name << " profile " << gi.id;
    }
  }
}

TEST(BuiltInData, EveryNodeLoads) {
  const Catalog catalog = Catalog::BuiltIn();
  EXPECT_EQ(Names(catalog.nodes()),
            (std::vector<std::string>{"dgx-a100-40", "h200-vm", "hgx-h200", "mixed"}));
  const std::map<std::string, std::uint32_t> gpus = {
      {"dgx-a100-40", 8}, {"h200-vm", 1}, {"hgx-h200", 8}, {"mixed", 3}};
  for (const DataFile& file : catalog.nodes()) {
    const LoadedNode node = LoadBuiltIn(file.name);
    EXPECT_EQ(node.name, file.name);
    EXPECT_EQ(node.machine->gpu_count, gpus.at(file.name));
    EXPECT_FALSE(node.description.empty());
    std::set<std::string> uuids, serials;
    for (std::uint32_t i = 0; i < node.machine->gpu_count; ++i) {
      const Board& board = node.machine->boards[i];
      EXPECT_TRUE(IsGpuUuid(board.uuid)) << board.uuid;
      EXPECT_EQ(std::string(board.serial).size(), 13U);
      EXPECT_EQ(board.minor, i);
      uuids.insert(board.uuid);
      serials.insert(board.serial);
    }
    EXPECT_EQ(uuids.size(), node.machine->gpu_count);
    EXPECT_EQ(serials.size(), node.machine->gpu_count);
  }
}

TEST(BuiltInData, DgxA100HasSwitchesAndSharedBridges) {
  const LoadedNode node = LoadBuiltIn("dgx-a100-40");
  const Machine& machine = *node.machine;
  EXPECT_EQ(machine.switch_count, 6U);
  EXPECT_EQ(FormatPciAddress(machine.boards[3].pci), "0000:4e:00.0");
  EXPECT_EQ(machine.boards[0].link_count, 12U);
  EXPECT_EQ(machine.boards[0].links[7].remote, LinkRemote::kSwitch);
  EXPECT_EQ(machine.boards[0].links[7].remote_bus, 0xC2U);
  EXPECT_EQ(machine.boards[0].common_ancestor[1], 10U);  // one PCIe switch
  EXPECT_EQ(machine.boards[0].common_ancestor[2], 40U);  // same NUMA node
  EXPECT_EQ(machine.boards[0].common_ancestor[4], 50U);  // across sockets
  EXPECT_EQ(machine.boards[4].common_ancestor[0], 50U);
  EXPECT_EQ(machine.boards[0].fabric_state.known, 0U);
  EXPECT_EQ(machine.boards[5].numa_node, 1);
  EXPECT_EQ(machine.boards[5].cpu_affinity[0], 0U);
  EXPECT_EQ(machine.boards[5].cpu_affinity[1], ~std::uint64_t{0});
  EXPECT_EQ(node.slot->gpus[7].ecc_current, 1U);
  EXPECT_EQ(node.slot->driver_loaded, 1U);
}

TEST(BuiltInData, NamesDependOnSeedAndNodeOnly) {
  const Catalog catalog = Catalog::BuiltIn();
  const DataFile& file = *catalog.FindNode("mixed");
  const auto once = LoadNode(file, catalog, "a");
  const auto again = LoadNode(file, catalog, "a");
  const auto other = LoadNode(file, catalog, "b");
  ASSERT_TRUE(once.ok() && again.ok() && other.ok());
  EXPECT_STREQ(once->machine->boards[0].uuid, again->machine->boards[0].uuid);
  EXPECT_STRNE(once->machine->boards[0].uuid, other->machine->boards[0].uuid);
  EXPECT_STREQ(once->machine->node, "a");
}

// ---- the captured machine -----------------------------------------------------------------------

// `out` of the first successful call of that name with these numbers as arguments.
class Capture {
 public:
  Capture() {
    const auto text = base::ReadFile("data/captures/h200/nvml-probe.jsonl");
    EXPECT_TRUE(text.ok()) << text.error().ToString();
    for (const std::string_view line : base::SplitLines(*text)) {
      // JSON is YAML too; lines that are cut in the middle of a number list still parse.
      auto document = config::Document::Parse(std::string(line), "nvml-probe.jsonl");
      if (document.ok()) lines_.push_back(*std::move(document));
    }
  }

  const config::Node* Find(std::string_view call, const std::vector<std::string>& arguments) const {
    for (const config::Document& line : lines_) {
      const config::Node& root = line.root();
      if (root.Find("call")->text != call || root.Find("rc")->text != "0") continue;
      std::vector<std::string> given;
      for (const config::Node& argument : root.Find("args")->items) {
        if (argument.text != "·") given.push_back(argument.text);
      }
      if (given == arguments) return root.Find("out");
    }
    return nullptr;
  }

  std::uint64_t Number(std::string_view call,
                       const std::vector<std::string>& arguments = {}) const {
    const config::Node* out = Find(call, arguments);
    EXPECT_NE(out, nullptr) << call;
    return out == nullptr ? 0 : base::ParseUnsigned(out->text).value_or(0);
  }
  std::string Text(std::string_view call, const std::vector<std::string>& arguments = {}) const {
    const config::Node* out = Find(call, arguments);
    EXPECT_NE(out, nullptr) << call;
    return out == nullptr ? "" : out->text;
  }

 private:
  std::vector<config::Document> lines_;
};

TEST(H200Vm, IsTheCapturedMachine) {
  const Capture capture;
  const LoadedNode node = LoadBuiltIn("h200-vm");
  const Machine& machine = *node.machine;
  const Board& board = machine.boards[0];
  EXPECT_EQ(machine.driver_version, capture.Text("nvmlSystemGetDriverVersion"));
  EXPECT_EQ(std::to_string(machine.nvml_major) + "." + machine.driver_version,
            capture.Text("nvmlSystemGetNVMLVersion"));
  EXPECT_EQ(machine.cuda_version, capture.Number("nvmlSystemGetCudaDriverVersion"));
  EXPECT_EQ(machine.driver_branch,
            capture.Find("nvmlSystemGetDriverBranch", {})->Find("branch")->text);
  EXPECT_EQ(board.name, capture.Text("nvmlDeviceGetName"));
  EXPECT_EQ(board.uuid, capture.Text("nvmlDeviceGetUUID"));
  EXPECT_EQ(board.serial, capture.Text("nvmlDeviceGetSerial"));
  EXPECT_EQ(board.part_number, capture.Text("nvmlDeviceGetBoardPartNumber"));
  EXPECT_EQ(board.vbios, capture.Text("nvmlDeviceGetVbiosVersion"));
  EXPECT_EQ(board.inforom_image, capture.Text("nvmlDeviceGetInforomImageVersion"));
  EXPECT_EQ(board.inforom_oem, capture.Text("nvmlDeviceGetInforomVersion", {"0"}));
  EXPECT_EQ(board.inforom_ecc, capture.Text("nvmlDeviceGetInforomVersion", {"1"}));
  EXPECT_STREQ(board.inforom_power, "");
  EXPECT_EQ(board.irq.value, capture.Number("nvmlDeviceGetIrqNum"));
  EXPECT_EQ(board.module_id.value, capture.Number("nvmlDeviceGetModuleId"));
  EXPECT_EQ(board.architecture, capture.Number("nvmlDeviceGetArchitecture"));
  EXPECT_EQ(board.brand, capture.Number("nvmlDeviceGetBrand"));
  EXPECT_EQ(board.cores.value, capture.Number("nvmlDeviceGetNumGpuCores"));
  EXPECT_EQ(board.memory_bus_width.value, capture.Number("nvmlDeviceGetMemoryBusWidth"));
  EXPECT_EQ(board.event_types, capture.Number("nvmlDeviceGetSupportedEventTypes"));
  EXPECT_EQ(board.virtualization_mode.value, capture.Number("nvmlDeviceGetVirtualizationMode"));
  EXPECT_EQ(board.addressing_mode.value, capture.Number("nvmlDeviceGetAddressingMode"));
  EXPECT_EQ(node.slot->gpus[0].persistence_mode, capture.Number("nvmlDeviceGetPersistenceMode"));

  const config::Node* pci = capture.Find("nvmlDeviceGetPciInfo_v3", {});
  ASSERT_NE(pci, nullptr);
  EXPECT_EQ(std::to_string(board.pci_device_id), pci->Find("pciDeviceId")->text);
  EXPECT_EQ(std::to_string(board.pci_subsystem_id), pci->Find("pciSubSystemId")->text);
  EXPECT_EQ("0000" + FormatPciAddress(board.pci), pci->Find("busId")->text);
  const config::Node* memory = capture.Find("nvmlDeviceGetMemoryInfo", {"33554472"});
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(std::to_string(board.memory_total), memory->Find("total")->text);
  EXPECT_EQ(std::to_string(board.memory_reserved), memory->Find("reserved")->text);
  EXPECT_EQ(std::to_string(board.bar1_total.value),
            capture.Find("nvmlDeviceGetBAR1MemoryInfo", {})->Find("bar1Total")->text);
}

TEST(H200Vm, ReadsAsTheCapturedBoard) {
  const Capture capture;
  const LoadedNode node = LoadBuiltIn("h200-vm");
  const Board& board = node.machine->boards[0];
  const std::map<std::string, const Fact*> thresholds = {{"0", &board.temp_shutdown},
                                                         {"1", &board.temp_slowdown},
                                                         {"2", &board.temp_memory_max},
                                                         {"3", &board.temp_gpu_max}};
  for (const auto& [type, fact] : thresholds) {
    EXPECT_EQ(fact->value, capture.Number("nvmlDeviceGetTemperatureThreshold", {type})) << type;
  }
  const std::map<std::string, const Fact*> maxima = {{"0", &board.clock_max_graphics},
                                                     {"2", &board.clock_max_memory},
                                                     {"3", &board.clock_max_video}};
  for (const auto& [type, fact] : maxima) {
    EXPECT_EQ(fact->value, capture.Number("nvmlDeviceGetMaxClockInfo", {type})) << type;
  }
  const std::map<std::string, const Fact*> idle = {{"0", &board.clock_idle_graphics},
                                                   {"2", &board.clock_idle_memory},
                                                   {"3", &board.clock_idle_video}};
  for (const auto& [type, fact] : idle) {
    EXPECT_EQ(fact->value, capture.Number("nvmlDeviceGetClockInfo", {type})) << type;
  }
  EXPECT_EQ(board.power_default_mw.value,
            capture.Number("nvmlDeviceGetPowerManagementDefaultLimit"));
  EXPECT_EQ(board.power_idle_mw.value, capture.Number("nvmlDeviceGetPowerUsage"));
  EXPECT_EQ(board.temp_idle.value, capture.Number("nvmlDeviceGetTemperature", {"0"}));
  EXPECT_EQ(board.pcie_generation.value, capture.Number("nvmlDeviceGetMaxPcieLinkGeneration"));
  EXPECT_EQ(board.pcie_width.value, capture.Number("nvmlDeviceGetMaxPcieLinkWidth"));
  EXPECT_EQ(board.link_count, 0U);
  EXPECT_EQ(board.fabric_state.known, 1U);
  EXPECT_EQ(board.fabric_state.value, 0U);
  EXPECT_EQ(board.cpu_affinity[0], 0xFFFFU);
}

TEST(H200Vm, HasTheCapturedProfiles) {
  const Capture capture;
  const LoadedNode node = LoadBuiltIn("h200-vm");
  const Board& board = node.machine->boards[0];
  ASSERT_EQ(board.gi_profile_count, 7U);
  for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
    const GiProfile& profile = board.gi_profiles[i];
    const config::Node* seen = capture.Find("nvmlDeviceGetGpuInstanceProfileInfo",
                                            {std::to_string(profile.constant), "1"});
    ASSERT_NE(seen, nullptr) << profile.constant;
    const std::map<std::string, std::uint64_t> columns = {
        {"id", profile.id},
        {"isP2pSupported", profile.p2p},
        {"sliceCount", profile.slice_count},
        {"instanceCount", profile.instance_count},
        {"multiprocessorCount", profile.multiprocessors},
        {"copyEngineCount", profile.copy_engines},
        {"decoderCount", profile.decoders},
        {"encoderCount", profile.encoders},
        {"jpegCount", profile.jpegs},
        {"ofaCount", profile.ofas},
        {"memorySizeMB", profile.memory_mb}};
    for (const auto& [name, value] : columns) {
      EXPECT_EQ(seen->Find(name)->text, std::to_string(value)) << profile.constant << " " << name;
    }
    const config::Node* places = capture.Find("placements", {std::to_string(profile.id)});
    ASSERT_NE(places, nullptr);
    ASSERT_EQ(places->items.size(), profile.placement_count);
    for (std::uint32_t j = 0; j < profile.placement_count; ++j) {
      EXPECT_EQ(places->items[j].Find("start")->text, std::to_string(profile.placement_starts[j]));
      EXPECT_EQ(places->items[j].Find("size")->text, std::to_string(profile.placement_size));
    }
  }
}

}  // namespace
}  // namespace partita::sim::load
