// What the device plugin has for a container that would be started now: every device with how it
// stands, and by what rules it is handed out. One value, for `partita explain`, also over the
// control socket.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "service/device_plugin/listing.h"
#include "service/device_plugin/offered.h"

namespace partita::service::device_plugin {

enum class Standing : std::uint8_t {
  kFree,
  kHeld,
  kUnhealthy,  // as kubelet is told, for whatever reason
};

struct ReportedDevice {
  std::string id, whole_id, index;  // as in OfferedDevice
  model::PciAddress gpu;
  std::optional<int> numa_node;
  std::vector<std::string> nodes;
  bool mig = false, alone = false;
  std::optional<MpsShare> mps;
  Standing standing = Standing::kFree;
  std::string why;  // who holds it, or what is wrong with it
  bool operator==(const ReportedDevice&) const = default;
};

struct ReportedResource {
  std::string name;
  std::vector<ReportedDevice> devices;
  bool shared = false;
  bool operator==(const ReportedResource&) const = default;
};

struct Report {
  std::vector<ReportedResource> resources;
  std::vector<std::string> problems;  // what is not offered as configured, and why
  std::string config;                 // as PluginConfigDocument, in JSON
  bool offer_mig_parents = false;
  std::string mps_root;
  std::vector<std::uint32_t> imex_channels;
  std::vector<std::string> cdi_classes;
  bool operator==(const Report&) const = default;
};

// What kubelet was shown decides, not only what is offered: `lists` is what Listings gave last.
[[nodiscard]] Report ReportOf(const Offered& offered,
                              const std::map<std::string, std::vector<Listed>>& lists,
                              const ledger::State& state,
                              const config::PluginConfig& config);
// The same where no kubelet was shown anything and nobody is known to hold anything.
[[nodiscard]] Report ReportOf(const Offered& offered, const config::PluginConfig& config);

// The configuration in it.
[[nodiscard]] base::Result<config::PluginConfig> ConfigOf(const Report& report);
// As Prefer and Allocate take it; whose device it is in the ledger is not in a report.
[[nodiscard]] OfferedResource AsOffered(const ReportedResource& resource);

[[nodiscard]] base::Value ToWire(const Report& report);
[[nodiscard]] base::Result<Report> ReportFromWire(const base::Value& value);

}  // namespace partita::service::device_plugin
