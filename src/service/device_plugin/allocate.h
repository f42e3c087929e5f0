// What a container gets: kubelet's Allocate, answered from what is offered. Nothing here asks the
// driver, and nothing is remembered.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/device_plugin/stock.h"

namespace partita::service::device_plugin {

struct Answer {
  struct Mount {
    std::string container_path, host_path;
    bool read_only = false;
    bool operator==(const Mount&) const = default;
  };
  struct Node {
    std::string container_path, host_path, permissions;
    bool operator==(const Node&) const = default;
  };
  std::vector<std::pair<std::string, std::string>> envs;
  std::vector<Mount> mounts;
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::vector<std::string> cdi_devices;  // "k8s.device-plugin.nvidia.com/gpu=GPU-…"
  bool operator==(const Answer&) const = default;
};

// What the node has beside its GPUs.
struct AllocateFacts {
  std::vector<std::string> common_nodes;       // of the usual four, those that exist
  std::vector<std::uint32_t> imex_channels;    // those that exist
  std::vector<std::string> extra_cdi_classes;  // "gdrcopy", "gds", "mofed": there is a file for it
  std::string annotation_id;                   // unlike any other answer's
};

// The order of `ids` means nothing: kubelet's is random, ours is that of the devices. Fails
// (kInvalid), which fails the pod, for an id that is not offered and for several shares where one
// is the most; (kUnavailable) where devices go by index and the driver gives one none.
[[nodiscard]] base::Result<Answer> Allocate(const Stock& stock,
                                            const std::vector<std::string>& ids,
                                            const config::PluginConfig& config,
                                            const AllocateFacts& facts);

// "/dev/nvidia-caps-imex-channels/channel0"
[[nodiscard]] std::string ChannelPath(std::uint32_t channel);

// Those that every container with a GPU needs, as far as this machine has them.
[[nodiscard]] std::vector<std::string> CommonNodes(const model::Inventory& node);

// What the ledger is to reserve for it; fails as Allocate for an unknown id.
[[nodiscard]] base::Result<std::vector<ledger::Device>> DevicesOf(
    const Stock& stock, const std::vector<std::string>& ids);

}  // namespace partita::service::device_plugin
