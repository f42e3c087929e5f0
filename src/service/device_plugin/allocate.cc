#include "service/device_plugin/allocate.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "service/device_plugin/device_id.h"
#include "service/mps/protocol.h"

namespace partita::service::device_plugin {
namespace {

using config::ListStrategy;

constexpr std::string_view kCdiVendor = "k8s.device-plugin.nvidia.com";
constexpr std::string_view kMpsRoot = "/run/nvidia/mps";
constexpr std::string_view kDevicesAsFiles = "/var/run/nvidia-container-devices";

base::Error Invalid(const OfferedResource& resource, const std::string& why) {
  return base::MakeError(base::ErrorCode::kInvalid,
                         "invalid allocation request for \"{}\": invalid request: {}",
                         resource.name, why);
}

// In the order of the resource, each once.
base::Result<std::vector<const OfferedDevice*>> Find(const Stock& stock,
                                                     const std::vector<std::string>& ids) {
  std::vector<const OfferedDevice*> found;
  const std::string* unknown = nullptr;
  for (const std::string& id : ids) {
    const std::optional<std::size_t> place = stock.Find(id);
    if (place) {
      found.push_back(&stock.resource().devices[*place]);
    } else if (unknown == nullptr || id < *unknown) {
      unknown = &id;
    }
  }
  if (unknown != nullptr) {
    return Invalid(stock.resource(), fmt::format("unknown device: {}", ShownId(*unknown)))
        .WithHint(
            "it is not offered: it went, or never was; delete the pod, so that it is scheduled "
            "anew");
  }
  std::sort(found.begin(), found.end(), std::less<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// By what the container is told of them, each once: several shares of a GPU are one GPU in it.
base::Result<std::vector<std::string>> NamesOf(const OfferedResource& resource,
                                               const std::vector<const OfferedDevice*>& devices,
                                               config::IdStrategy strategy) {
  std::vector<std::string> names;
  for (const OfferedDevice* device : devices) {
    const bool by_index = strategy == config::IdStrategy::kIndex;
    const std::string& name = by_index ? device->index : device->whole_id;
    if (name.empty()) {
      return base::MakeError(
                 base::ErrorCode::kUnavailable,
                 "invalid allocation request for \"{}\": the driver gives {} no index now",
                 resource.name, device->whole_id)
          .WithHint("set deviceIDStrategy to uuid");
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

struct Extra {
  std::string_view cdi_class;
  std::string_view variable;
  bool config::PluginConfig::*enabled;
};
constexpr std::array kExtras = {
    Extra{"gdrcopy", "NVIDIA_GDRCOPY", &config::PluginConfig::gdrcopy},
    Extra{"gds", "NVIDIA_GDS", &config::PluginConfig::gds},
    Extra{"mofed", "NVIDIA_MOFED", &config::PluginConfig::mofed},
};

std::vector<std::string> CdiNames(const std::vector<std::string>& ids,
                                  const config::PluginConfig& config,
                                  const AllocateFacts& facts) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const std::string& id : ids) names.push_back(fmt::format("{}/gpu={}", kCdiVendor, id));
  for (const std::uint32_t channel : facts.imex_channels)
    names.push_back(fmt::format("{}/imex-channel={}", kCdiVendor, channel));
  const std::vector<std::string>& classes = facts.extra_cdi_classes;
  for (const Extra& extra : kExtras)
    if (config.*extra.enabled &&
        std::find(classes.begin(), classes.end(), extra.cdi_class) != classes.end())
      names.push_back(fmt::format("{}/{}=all", kCdiVendor, extra.cdi_class));
  return names;
}

void Set(Answer& answer, std::string_view variable, std::string value) {
  for (auto& [name, old] : answer.envs) {
    if (name != variable) continue;
    old = std::move(value);
    return;
  }
  answer.envs.emplace_back(variable, std::move(value));
}

void AddVariables(Answer& answer, const std::vector<std::string>& ids, const AllocateFacts& facts) {
  Set(answer, "NVIDIA_VISIBLE_DEVICES", base::Join(ids, ","));
  if (facts.imex_channels.empty()) return;
  Set(answer, "NVIDIA_IMEX_CHANNELS", fmt::format("{}", fmt::join(facts.imex_channels, ",")));
}

void AddMounts(Answer& answer, const std::vector<std::string>& ids, const AllocateFacts& facts) {
  Set(answer, "NVIDIA_VISIBLE_DEVICES", std::string(kDevicesAsFiles));
  for (const std::string& id : ids)
    answer.mounts.push_back({fmt::format("{}/{}", kDevicesAsFiles, id), "/dev/null"});
  for (const std::uint32_t channel : facts.imex_channels)
    answer.mounts.push_back({fmt::format("{}/imex/{}", kDevicesAsFiles, channel), "/dev/null"});
}

void AddNodes(Answer& answer,
              const std::vector<const OfferedDevice*>& devices,
              const config::PluginConfig& config,
              const AllocateFacts& facts) {
  std::string root = config.dev_root.empty() ? config.driver_root : config.dev_root;
  while (root.ends_with('/')) root.pop_back();
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    if (seen.insert(path).second) answer.nodes.push_back({path, root + path, "rw"});
  };
  for (const std::string& path : facts.common_nodes) add(path);
  for (const OfferedDevice* device : devices)
    for (const std::string& path : device->nodes) add(path);
  for (const std::uint32_t channel : facts.imex_channels) add(ChannelPath(channel));
}

// By ordinal in the container, which is the order of addresses there too. The daemon's defaults are
// the whole devices, or the biggest size: what a client may take, it is told here, and these lower
// only.
void LimitShares(Answer& answer, const std::vector<const OfferedDevice*>& shares) {
  struct Part {
    const MpsShare* share;
    std::uint32_t count = 0;
  };
  std::map<std::pair<model::PciAddress, std::string>, Part> parts;
  for (const OfferedDevice* device : shares) {
    Part& part = parts[{device->gpu, device->whole_id}];
    part.share = &*device->mps;
    ++part.count;
  }
  std::vector<model::Mebibytes> memory;
  model::Percent threads(100);
  for (const auto& [device, part] : parts) {
    const mps::Limits limits = mps::Times(part.share->limits, part.count, part.share->whole);
    memory.push_back(limits.memory);
    threads = std::min(threads, limits.threads);
  }
  Set(answer, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  Set(answer, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", mps::MemoryVariable(memory));
  Set(answer, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", threads));
}

// The way to the daemon whose shares these are.
base::Result<void> AddMps(Answer& answer,
                          const OfferedResource& resource,
                          const std::vector<const OfferedDevice*>& devices,
                          const config::PluginConfig& config) {
  const auto first = std::find_if(devices.begin(), devices.end(),
                                  [](const OfferedDevice* one) { return one->mps.has_value(); });
  if (first == devices.end()) return {};
  const std::string& domain = (*first)->mps->domain;
  for (const OfferedDevice* device : devices) {
    if (device->mps && device->mps->domain == domain) continue;
    return Invalid(resource,
                   fmt::format("{} and {} are not shares of one MPS daemon, and a program "
                               "can talk to one only",
                               ShownId((*first)->id), ShownId(device->id)))
        .WithHint("ask for one share, or share whole GPUs under that name, all of them by MPS");
  }
  const std::string pipe = fmt::format("/mps/{}/pipe", resource.name);
  const mps::Directories host =
      mps::DirectoriesOf(config.mps_root.empty() ? kMpsRoot : config.mps_root, domain);
  Set(answer, "CUDA_MPS_PIPE_DIRECTORY", pipe);
  // Clients need not write there (seen on an H200), and root's daemon writes through what lies
  // there.
  answer.mounts.push_back({pipe, host.pipe, /*read_only=*/true});
  answer.mounts.push_back({"/dev/shm", host.shm});
  // Else the daemon's defaults are those of one share, whichever it is.
  const bool several = !config.mps || !config.mps->fail_requests_greater_than_one;
  if (several || !(*first)->mps->size.empty()) LimitShares(answer, devices);
  return {};
}

bool IsCdi(ListStrategy strategy) {
  return strategy == ListStrategy::kCdiAnnotations || strategy == ListStrategy::kCdiCri;
}

}  // namespace

base::Result<Answer> Allocate(const Stock& stock,
                              const std::vector<std::string>& ids,
                              const config::PluginConfig& config,
                              const AllocateFacts& facts) {
  const OfferedResource& resource = stock.resource();
  TRY(devices, Find(stock, ids));
  const bool alone =
      std::any_of(devices.begin(), devices.end(), [](const auto* one) { return one->alone; });
  if (alone && ids.size() > 1) {
    return Invalid(resource, fmt::format("maximum request size for shared resources is 1; found {}",
                                         ids.size()))
        .WithHint("ask for one, or set failRequestsGreaterThanOne to false");
  }
  TRY(names, NamesOf(resource, devices, config.id_strategy));
  const std::vector<ListStrategy>& strategies = config.list_strategies;
  const auto selected = [&](ListStrategy one) {
    return std::find(strategies.begin(), strategies.end(), one) != strategies.end();
  };
  // A pod that starts without what it was given finds out late, if ever.
  PARTITA_CHECK(!strategies.empty());
  Answer answer;
  const std::vector<std::string> cdi = CdiNames(names, config, facts);
  if (selected(ListStrategy::kCdiAnnotations) && !cdi.empty())
    answer.annotations.emplace_back(
        fmt::format("{}nvidia-device-plugin_{}", config.cdi_annotation_prefix, facts.annotation_id),
        base::Join(cdi, ","));
  if (selected(ListStrategy::kCdiCri)) answer.cdi_devices = cdi;
  for (const Extra& extra : kExtras)
    if (config.*extra.enabled) Set(answer, extra.variable, "enabled");
  TRY_VOID(AddMps(answer, resource, devices, config));
  // CDI brings the nodes itself: kubelet's would be a second way to the same devices.
  if (std::all_of(strategies.begin(), strategies.end(), IsCdi)) return answer;
  if (selected(ListStrategy::kEnvvar)) AddVariables(answer, names, facts);
  if (selected(ListStrategy::kVolumeMounts)) AddMounts(answer, names, facts);
  if (config.pass_device_specs) AddNodes(answer, devices, config, facts);
  return answer;
}

std::string ChannelPath(std::uint32_t channel) {
  return fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel);
}

std::vector<std::string> CommonNodes(const model::Inventory& node) {
  std::vector<std::string> nodes;
  for (const char* path :
       {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    const bool exists = std::any_of(node.nodes.begin(), node.nodes.end(),
                                    [&](const model::DeviceNode& one) { return one.path == path; });
    if (exists) nodes.emplace_back(path);
  }
  return nodes;
}

base::Result<std::vector<ledger::Device>> DevicesOf(const Stock& stock,
                                                    const std::vector<std::string>& ids) {
  TRY(found, Find(stock, ids));
  std::vector<ledger::Device> devices;
  devices.reserve(found.size());
  for (const OfferedDevice* each : found) devices.push_back(each->device);
  return devices;
}

}  // namespace partita::service::device_plugin
