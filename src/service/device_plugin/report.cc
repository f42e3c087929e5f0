#include "service/device_plugin/report.h"

#include <algorithm>
#include <utility>

#include "model/wire.h"
#include "service/ledger/atoms.h"
#include "service/ledger/owners.h"

namespace partita::model {

namespace plugin = service::device_plugin;

#define F PARTITA_FIELD
PARTITA_FIELDS(service::mps::Limits, F(memory), F(threads));
PARTITA_FIELDS(plugin::MpsShare, F(domain), F(limits), F(whole), F(size));
PARTITA_FIELDS(plugin::ReportedDevice,
               F(id),
               F(whole_id),
               F(index),
               F(gpu),
               F(numa_node),
               F(nodes),
               F(mig),
               F(alone),
               F(mps),
               F(standing),
               F(why));
PARTITA_FIELDS(plugin::ReportedResource, F(name), F(devices), F(shared));
PARTITA_FIELDS(plugin::Report,
               F(resources),
               F(problems),
               F(config),
               F(offer_mig_parents),
               F(mps_root),
               F(imex_channels),
               F(cdi_classes));
#undef F

namespace wire {
template <>
inline constexpr std::optional<plugin::Standing> kLast<plugin::Standing> =
    plugin::Standing::kUnhealthy;
}  // namespace wire

}  // namespace partita::model

namespace partita::service::device_plugin {
namespace {

constexpr model::wire::Envelope kReport{"a report of the device plugin", 2, "report"};

// Of exactly this device. Under which resource it was given does not matter: names follow settings.
const ledger::Hold* HoldOf(const ledger::State& state, const ledger::Device& device) {
  const auto hold = state.holds.find(ledger::KeyOf(device));
  return hold == state.holds.end() || hold->second.gone ? nullptr : &hold->second;
}

// Whoever else has some of it.
std::optional<std::string> OtherHolder(const ledger::State& state, const ledger::Device& device) {
  for (const ledger::Holder& holder : ledger::HoldersNear(state, device))
    if (ledger::Overlap({device}, holder.use) != ledger::Clash::kNone)
      return ledger::ToString(holder.owner);
  return std::nullopt;
}

struct Stand {
  Standing standing = Standing::kFree;
  std::string why;
};

Stand StandOf(const OfferedDevice& device, const Listed* listed, const ledger::State& state) {
  if (const ledger::Hold* hold = HoldOf(state, device.device))
    return {Standing::kHeld, ledger::ToString(hold->owner)};
  if (listed != nullptr && listed->healthy) return {};
  if (!device.healthy) return {Standing::kUnhealthy, device.why};
  if (!ledger::PlansOver(state, device.device).empty())
    return {Standing::kUnhealthy, "a change of its MIG layout has taken it"};
  if (std::optional<std::string> other = OtherHolder(state, device.device))
    return {Standing::kHeld, *std::move(other)};
  return {Standing::kUnhealthy, listed == nullptr ? "kubelet has not been told of it yet"
                                                  : "it was withdrawn a moment ago"};
}

ReportedDevice Reported(const OfferedDevice& device, Stand stand) {
  return {.id = device.id,
          .whole_id = device.whole_id,
          .index = device.index,
          .gpu = device.gpu,
          .numa_node = device.numa_node,
          .nodes = device.nodes,
          .mig = device.mig,
          .alone = device.alone,
          .mps = device.mps,
          .standing = stand.standing,
          .why = std::move(stand.why)};
}

Report EmptyReport(const Offered& offered, const config::PluginConfig& config) {
  Report report;
  report.problems = offered.problems;
  report.config = base::ToJsonLine(config::PluginConfigDocument(config));
  report.offer_mig_parents = config.offer_mig_parents;
  report.mps_root = config.mps_root;
  return report;
}

}  // namespace

Report ReportOf(const Offered& offered,
                const std::map<std::string, std::vector<Listed>>& lists,
                const ledger::State& state,
                const config::PluginConfig& config) {
  Report report = EmptyReport(offered, config);
  for (const OfferedResource& resource : offered.resources) {
    std::map<std::string_view, const Listed*> listed;
    if (const auto list = lists.find(resource.name); list != lists.end())
      for (const Listed& one : list->second) listed.emplace(one.id, &one);
    ReportedResource& reported =
        report.resources.emplace_back(ReportedResource{resource.name, {}, resource.shared});
    for (const OfferedDevice& device : resource.devices) {
      const auto found = listed.find(device.id);
      reported.devices.push_back(Reported(
          device, StandOf(device, found == listed.end() ? nullptr : found->second, state)));
    }
  }
  return report;
}

Report ReportOf(const Offered& offered, const config::PluginConfig& config) {
  Report report = EmptyReport(offered, config);
  for (const OfferedResource& resource : offered.resources) {
    ReportedResource& reported =
        report.resources.emplace_back(ReportedResource{resource.name, {}, resource.shared});
    for (const OfferedDevice& device : resource.devices)
      reported.devices.push_back(
          Reported(device, device.healthy ? Stand{} : Stand{Standing::kUnhealthy, device.why}));
  }
  return report;
}

base::Result<config::PluginConfig> ConfigOf(const Report& report) {
  TRY(read, config::ParsePluginConfig(report.config, "the device plugin's configuration",
                                      config::PluginDefaults::kProduct, true, true, {}));
  read.config.offer_mig_parents = report.offer_mig_parents;
  read.config.mps_root = report.mps_root;
  return std::move(read.config);
}

OfferedResource AsOffered(const ReportedResource& resource) {
  OfferedResource offered{resource.name, {}, resource.shared};
  for (const ReportedDevice& device : resource.devices) {
    OfferedDevice& one = offered.devices.emplace_back();
    one.id = device.id;
    one.whole_id = device.whole_id;
    one.index = device.index;
    one.gpu = device.gpu;
    one.numa_node = device.numa_node;
    one.nodes = device.nodes;
    one.mig = device.mig;
    one.alone = device.alone;
    one.mps = device.mps;
    one.healthy = device.standing != Standing::kUnhealthy;
    one.why = one.healthy ? "" : device.why;
  }
  return offered;
}

base::Value ToWire(const Report& report) { return model::wire::Enclose(kReport, report); }

base::Result<Report> ReportFromWire(const base::Value& value) {
  return model::wire::Open<Report>(kReport, "report", value);
}

}  // namespace partita::service::device_plugin
