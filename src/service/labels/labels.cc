#include "service/labels/labels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "service/labels/gpu_labels.h"
#include "service/labels/label_set.h"

namespace partita::service::labels {
namespace {

constexpr std::uint32_t kVgaController = 0x030000;
constexpr std::uint32_t k3dController = 0x030200;

using Gpus = std::vector<const model::Gpu*>;

void SetDriverVersion(const std::string& version, LabelSet& labels) {
  const std::string source = "version of the driver";
  std::vector<std::string_view> parts = base::Split(version, '.');
  parts.resize(3);
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"cuda.driver.major", parts[0]},         {"cuda.driver.minor", parts[1]},
      {"cuda.driver.rev", parts[2]},           {"cuda.driver-version.major", parts[0]},
      {"cuda.driver-version.minor", parts[1]}, {"cuda.driver-version.revision", parts[2]},
      {"cuda.driver-version.full", version},
  };
  for (const auto& [name, value] : rows) labels.SetNvidia(name, value, source);
}

void SetCudaVersion(const model::CudaVersion& version, LabelSet& labels) {
  const std::string source = "CUDA version that the driver serves";
  for (const std::string_view name : {"cuda.runtime.major", "cuda.runtime-version.major"})
    labels.SetNvidia(name, version.major, source);
  for (const std::string_view name : {"cuda.runtime.minor", "cuda.runtime-version.minor"})
    labels.SetNvidia(name, version.minor, source);
  labels.SetNvidia("cuda.runtime-version.full",
                   std::string_view(fmt::format("{}.{}", version.major, version.minor)), source);
}

std::string_view ModeOf(const Gpus& gpus) {
  const std::uint32_t pci_class = gpus.front()->pci_class;
  for (const model::Gpu* gpu : gpus)
    if (gpu->pci_class != pci_class) return "unknown";
  if (pci_class == kVgaController) return "graphics";
  return pci_class == k3dController ? "compute" : "unknown";
}

// Of the GPUs that are in a fabric, where they are in the same.
void SetClique(const Gpus& gpus, LabelSet& labels) {
  const model::Fabric* first = nullptr;
  for (const model::Gpu* gpu : gpus) {
    if (!gpu->fabric || !gpu->fabric->joined || gpu->fabric->cluster.empty()) continue;
    if (first != nullptr && *first != *gpu->fabric) {
      labels.Warn("nvidia.com/gpu.clique is left out: the GPUs are in different cliques");
      return;
    }
    first = &*gpu->fabric;
  }
  if (first == nullptr) return;
  labels.SetNvidia("gpu.clique",
                   std::string_view(fmt::format("{}.{}", first->cluster, first->clique)),
                   "fabric of its GPUs: cluster and clique");
}

void SetVgpu(const std::optional<model::VgpuFacts>& vgpu, LabelSet& labels) {
  if (!vgpu) return;
  const std::string source = "PCI config space of NVIDIA's functions";
  labels.SetNvidia("vgpu.present", vgpu->host.has_value(), source);
  if (!vgpu->host || vgpu->host->driver_version.empty()) return;
  labels.SetNvidia("vgpu.host-driver-version", vgpu->host->driver_version, source);
  labels.SetNvidia("vgpu.host-driver-branch", vgpu->host->driver_branch, source);
}

void SetModels(const Gpus& gpus, LabelSet& labels) {
  const std::vector<ProductGroup> groups = GroupByProduct(gpus);
  labels.Set(std::string(kOurs) + "gpu.models", groups.size(), "products among the GPUs");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const ProductGroup& group = groups[i];
    const std::string prefix = fmt::format("{}gpu.{}", kOurs, i);
    const std::string source = fmt::format("GPUs of product {}", i);
    const std::string product = Dashed(group.name);
    labels.Set(prefix + ".product", product, source);
    if (product != group.name) labels.Annotate(prefix + ".product", group.name);
    labels.Set(prefix + ".count", group.gpus.size(), source);
    const std::optional<model::Memory>& memory = Representative(group).memory;
    if (memory) labels.Set(prefix + ".memory", memory->total.value() >> 20U, source);
  }
}

void SetGpuLabels(const Gpus& gpus,
                  const model::Inventory& inventory,
                  const config::PluginConfig& config,
                  const model::NodeFacts& facts,
                  LabelSet& labels) {
  labels.SetNvidia("gpu.machine", facts.machine.value_or("unknown"),
                   facts.machine ? "name of the machine" : "the machine has no name");
  if (!inventory.driver->version.empty()) SetDriverVersion(inventory.driver->version, labels);
  if (inventory.driver->cuda) SetCudaVersion(*inventory.driver->cuda, labels);
  labels.SetNvidia(
      "mig.capable",
      std::any_of(gpus.begin(), gpus.end(), [](const auto* gpu) { return gpu->mig.has_value(); }),
      "whether any GPU can do MIG");
  labels.SetNvidia("mps.capable", config.mps.has_value(),
                   config.mps ? "sharing.mps in the configuration" : "no MPS is configured");
  SetResourceLabels(gpus, config, labels);
  labels.SetNvidia("gpu.mode", ModeOf(gpus), "PCI class of its GPUs");
  SetClique(gpus, labels);
}

}  // namespace

Rendering Render(const model::Inventory& inventory,
                 const config::PluginConfig& config,
                 const model::NodeFacts& facts,
                 const Options& options) {
  Rendering rendering;
  LabelSet labels(rendering);
  if (options.started)
    labels.SetNvidia("gfd.timestamp", *options.started, "when the program began with this");
  const Gpus gpus = ListedGpus(inventory);
  if (!gpus.empty()) SetGpuLabels(gpus, inventory, config, facts, labels);
  SetVgpu(facts.vgpu, labels);
  if (!options.ours) return rendering;
  labels.SetNvidia("gpu.present", facts.gpus_on_bus != 0 || !gpus.empty(),
                   "NVIDIA's GPUs on the PCI bus");
  if (!gpus.empty() && options.per_model) SetModels(gpus, labels);
  return rendering;
}

}  // namespace partita::service::labels
