// What the prestart hook of the 2021 flow does to a container, decided before anything is done.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "hook/cdi/create_symlinks.h"
#include "hook/container/device_filter.h"
#include "hook/container/image_facts.h"
#include "hook/container/mounts.h"
#include "hook/container/proc_view.h"

namespace partita::hook {

// What was asked for, with its devices found.
struct LegacyOrder {
  std::vector<cdi::DeviceRow> devices;  // none: the driver's files alone
  std::set<cdi::Capability> capabilities;
  bool mig_config = false, mig_monitor = false;
  std::vector<std::uint32_t> imex_channels;
  std::optional<std::uint32_t> imex_major;  // of nvidia-caps-imex-channels in /proc/devices
  bool bind_nodes = true;                   // false: nodes are the engine's business, rules ours
};

// A file or directory of the host, mounted in the container.
struct MountStep {
  std::string host_path, container_path;
  MountAttributes attributes;
  bool operator==(const MountStep&) const = default;
};
// A device node of the host, mounted; what is there must be this device.
struct NodeStep {
  std::string host_path, container_path;
  DeviceRule rule;
  bool operator==(const NodeStep&) const = default;
};

struct LegacyPlan {
  std::vector<MountStep> mounts;
  std::vector<NodeStep> nodes;
  std::vector<LinkToMake> links;
  std::vector<DeviceRule> rules;  // of the nodes, and of capabilities that are shown whole
  ProcView proc;
  std::vector<std::string> library_directories;  // for ldconfig
  std::optional<std::uint64_t> egl_mask;
};

// kNotFound: a node that the devices need is not there.
[[nodiscard]] base::Result<LegacyPlan> PlanLegacy(const LegacyOrder& order,
                                                  const cdi::NodeDevices& node,
                                                  const HostProc& proc,
                                                  const ImageFacts& image);

}  // namespace partita::hook
