#include "config/mig_config.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "config/binders.h"
#include "config/problems.h"
#include "config/version.h"
#include "model/mig/wanted.h"

namespace partita::config {
namespace {

const std::array<std::string, 2> kMigConfigKeys = {"version", "mig-configs"};
const std::array<std::string, 4> kSpecKeys = {"device-filter", "devices", "mig-enabled",
                                              "mig-devices"};

std::optional<std::uint32_t> ParsePciIds(std::string_view text) {
  const auto digits = base::WithoutPrefix(text, "0x");
  if (!digits || digits->size() != 8) return std::nullopt;
  const auto number = base::ParseUnsigned(*digits, 16);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

void ReadFilter(const Node& node, Problems& problems, MigSpec& spec) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return;
  base::Result<DeviceFilter> filter = ParseDeviceFilter(*text);
  if (filter.ok())
    spec.filters.push_back(*filter);
  else
    problems.Add(node, filter.error().message(), filter.error().hint());
}

void ReadFilters(const Node& node, Problems& problems, MigSpec& spec) {
  if (!node.IsList()) return ReadFilter(node, problems, spec);
  for (const Node& item : node.items) ReadFilter(item, problems, spec);
}

void ReadGpuSelectors(const Node& node, Problems& problems, MigSpec& spec) {
  if (node.IsScalar() && node.text == "all") {
    spec.all_devices = true;
    return;
  }
  if (!node.IsList()) {
    problems.Add(node, fmt::format("\"devices\" is {}", Describe(node)),
                 "\"all\", or a list of indexes, UUIDs, PCI addresses or product names");
    return;
  }
  for (const Node& item : node.items) {
    const std::optional<std::string> text = ReadString(item, problems);
    if (!text) continue;
    base::Result<model::GpuSelector> selector = model::GpuSelector::Parse(*text);
    if (selector.ok())
      spec.devices.push_back(*std::move(selector));
    else
      problems.Add(item, selector.error().message(), selector.error().hint());
  }
}

// One line of `mig-devices`. Whether a GPU has the profile is another question.
void ReadDeviceCount(const Node::Entry& entry, Problems& problems, MigSpec& spec) {
  const auto count =
      ReadUnsigned(entry.value, problems, {0, std::numeric_limits<std::uint32_t>::max()});
  const auto profile = model::ProfileRequest::Parse(entry.key.text);
  if (!profile.ok()) problems.Add(entry.key, profile.error().message(), profile.error().hint());
  if (!profile.ok() || !count) return;
  spec.mig_devices.push_back({entry.key.text, static_cast<std::uint32_t>(*count), entry.key});
}

void ReadMigDevices(const Node& node, Problems& problems, MigSpec& spec) {
  if (node.IsNull() || !ExpectMap(node, problems, "profiles and their counts")) return;
  const std::size_t before = problems.size();
  for (const Node::Entry& entry : node.entries) ReadDeviceCount(entry, problems, spec);
  const bool all_zero = std::all_of(spec.mig_devices.begin(), spec.mig_devices.end(),
                                    [](const MigDeviceCount& device) { return device.count == 0; });
  if (!node.entries.empty() && all_zero && problems.size() == before)
    problems.Add(node, "every count in \"mig-devices\" is 0",
                 "write {} for MIG on without devices");
}

MigSpec ReadSpec(const Node& node, Problems& problems) {
  MigSpec spec;
  spec.place = node;
  spec.place.items.clear();
  spec.place.entries.clear();
  if (!ExpectMap(node, problems, "an entry of a configuration")) return spec;
  RejectUnknownKeys(node, kSpecKeys, problems);
  if (const Node* filter = node.Find("device-filter"); filter != nullptr && !filter->IsNull())
    ReadFilters(*filter, problems, spec);
  if (const Node* devices = Require(node, "devices", problems))
    ReadGpuSelectors(*devices, problems, spec);
  const Node* enabled = Require(node, "mig-enabled", problems);
  const Node* wanted = node.Find("mig-devices");
  if (wanted != nullptr) ReadMigDevices(*wanted, problems, spec);
  if (enabled == nullptr) return spec;
  const std::optional<bool> on = ReadBool(*enabled, problems);
  spec.mig_enabled = on.value_or(false);
  if (on == true && wanted == nullptr)
    problems.Add(*enabled, "\"mig-enabled\" is true, but \"mig-devices\" is missing",
                 "add \"mig-devices: {}\" for MIG on without devices");
  if (on == false && !spec.mig_devices.empty())
    problems.Add(*node.FindKey("mig-devices"),
                 "MIG devices are listed although \"mig-enabled\" is false",
                 "set \"mig-enabled: true\", or write {}");
  return spec;
}

// A name is written to the boot unit's drop-in, where a line end begins another directive.
void CheckName(const Node& name, Problems& problems) {
  if (!base::HasUnprintable(name.text)) return;
  problems.Add(name, fmt::format("the name {} holds a control character", base::Quoted(name.text)),
               "it stands in unit files and logs: use letters, digits, \".\", \"-\" and \"_\"");
}

void ReadConfigs(const Node& node, Problems& problems, std::vector<MigConfig>& configs) {
  if (!ExpectMap(node, problems, "mig-configs")) return;
  if (node.entries.empty())
    problems.Add(node, "\"mig-configs\" is empty", "it needs at least one configuration");
  for (const Node::Entry& entry : node.entries) {
    MigConfig config{entry.key.text, {}};
    CheckName(entry.key, problems);
    if (!ExpectList(entry.value, problems,
                    fmt::format("the entries of {}", base::Quoted(config.name))))
      continue;
    if (entry.value.items.empty())
      problems.Add(entry.key, fmt::format("configuration {} is empty", base::Quoted(config.name)),
                   "it needs at least one entry");
    for (const Node& item : entry.value.items) config.specs.push_back(ReadSpec(item, problems));
    configs.push_back(std::move(config));
  }
}

}  // namespace

bool DeviceFilter::Matches(std::uint32_t pci_device_id, std::uint32_t pci_subsystem_id) const {
  return device == pci_device_id && (!subsystem || *subsystem == pci_subsystem_id);
}

base::Result<DeviceFilter> ParseDeviceFilter(std::string_view text) {
  const std::vector<std::string_view> pieces = base::Split(text, ':');
  const std::optional<std::uint32_t> device = ParsePciIds(pieces.front());
  std::optional<std::uint32_t> subsystem;
  if (pieces.size() == 2) subsystem = ParsePciIds(pieces[1]);
  if (!device || pieces.size() > 2 || (pieces.size() == 2 && !subsystem)) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no device filter", base::Quoted(text))
        .WithHint(
            "device and vendor in hex, as 0x20B010DE, or with the subsystem 0x20B010DE:0x134F10DE");
  }
  return DeviceFilter{*device, subsystem};
}

bool MigSpec::Selects(const model::Gpu& gpu) const {
  const auto by_filter = [&](const DeviceFilter& f) {
    return f.Matches(gpu.pci_device_id, gpu.pci_subsystem_id);
  };
  if (!filters.empty() && std::none_of(filters.begin(), filters.end(), by_filter)) return false;
  if (all_devices) return true;
  return std::any_of(devices.begin(), devices.end(),
                     [&](const model::GpuSelector& s) { return s.Matches(gpu); });
}

base::Result<MigConfigFile> MigConfigFile::Read(Document document) {
  MigConfigFile file(std::move(document));
  const Node& root = file.document_.root();
  if (root.IsNull()) return file;
  Problems problems(file.document_);
  if (ExpectMap(root, problems, "the configuration file")) {
    RejectUnknownKeys(root, kMigConfigKeys, problems);
    RequireVersion(root, "v1", problems);
    if (const Node* configs = root.Find("mig-configs"))
      ReadConfigs(*configs, problems, file.configs_);
  }
  TRY_VOID(problems.ToResult());
  return file;
}

base::Result<MigConfigFile> MigConfigFile::Parse(std::string text, std::string file_name) {
  TRY(document, Document::Parse(std::move(text), std::move(file_name)));
  return Read(std::move(document));
}

base::Result<MigConfigFile> MigConfigFile::Load(const std::string& path) {
  TRY(document, Document::Load(path));
  return Read(std::move(document));
}

base::Result<const MigConfig*> MigConfigFile::Select(std::string_view name) const {
  if (name.empty() && configs_.size() == 1) return &configs_.front();
  if (configs_.empty()) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} holds no configuration",
                           document_.file_name());
  }
  std::vector<std::string> names;
  for (const MigConfig& config : configs_) {
    if (config.name == name) return &config;
    names.push_back(config.name);
  }
  if (name.empty()) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "{} holds {} configurations, and none is selected",
                           document_.file_name(), names.size())
        .WithHint(fmt::format("choose one: {}", base::JoinWithOr(names)));
  }
  const std::string meant = base::DidYouMean(name, names);
  return base::MakeError(base::ErrorCode::kInvalid, "{} has no configuration {}",
                         document_.file_name(), base::Quoted(name))
      .WithHint(meant.empty() ? fmt::format("there are: {}", base::JoinWithOr(names))
                              : fmt::format("did you mean {}?", base::Quoted(meant)));
}

}  // namespace partita::config
