// What the device plugin has to give away: from what is on the node, by its configuration. One
// value, made anew with every look at the node; nothing here asks the driver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/offer_rule.h"
#include "config/plugin_config.h"
#include "model/health.h"
#include "model/inventory.h"
#include "service/ledger/devices.h"
#include "service/ledger/state.h"
#include "service/mps/domain.h"

namespace partita::service::device_plugin {

// A share that a daemon keeps within limits.
struct MpsShare {
  std::string domain;  // whose daemon it is
  mps::Limits limits;  // of one share
  mps::Limits whole;   // of its device
  std::string size{};  // "small", where the shares of its device are of sizes
  bool operator==(const MpsShare&) const = default;
};

struct OfferedDevice {
  std::string id;        // what kubelet gets: "GPU-…", "MIG-…", a share with "::2", "::small-2"
  std::string whole_id;  // without that
  std::string index;     // "0", "0:1"; empty where the driver gives it none
  ledger::Device device;
  model::PciAddress gpu;
  std::optional<int> numa_node;
  std::vector<std::string> nodes;  // "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12", …
  bool healthy = true;             // as far as the hardware goes; withdrawals are the listing's
  std::string why;                 // it is not healthy
  bool mig = false;
  bool alone = false;  // a share that nothing of its resource is given beside
  std::optional<MpsShare> mps{};
  bool operator==(const OfferedDevice&) const = default;
};

struct OfferedResource {
  std::string name;                    // "nvidia.com/gpu"
  std::vector<OfferedDevice> devices;  // by index, slot, share
  bool shared = false;                 // some of its devices are shares
  bool operator==(const OfferedResource&) const = default;
};

struct Offered {
  std::vector<OfferedResource> resources;  // by name
  std::vector<mps::Domain> domains;        // that its shares by MPS need, by name
  bool domains_complete = true;            // else a device that needs one has not answered
  std::vector<std::string> problems;       // what could not be offered as configured, and why
  bool operator==(const Offered&) const = default;
};

// Never fails: what is valid is offered, the rest is in `problems`. A GPU that cannot be read is
// offered under the name that is remembered of it, and is not healthy. GPU instances that the
// ledger knows as somebody else's are left out.
[[nodiscard]] Offered Offer(const model::Inventory& inventory,
                            const config::PluginConfig& config,
                            const std::vector<config::OfferRule>& rules,
                            bool offered_by_default,
                            const model::NodeHealth& health,
                            const ledger::State& ledger);

}  // namespace partita::service::device_plugin
