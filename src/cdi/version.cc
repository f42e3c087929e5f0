#include "cdi/version.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/name.h"

namespace partita::cdi {
namespace {

constexpr std::array<Version, 10> kPublished = {{{0, 1, 0},
                                                 {0, 2, 0},
                                                 {0, 3, 0},
                                                 {0, 4, 0},
                                                 {0, 5, 0},
                                                 {0, 6, 0},
                                                 {0, 7, 0},
                                                 {0, 8, 0},
                                                 {1, 0, 0},
                                                 {1, 1, 0}}};
constexpr Version kEarliest = {0, 3, 0};

bool AnyEdits(const Spec& spec, bool (*has)(const ContainerEdits&)) {
  return has(spec.edits) || std::any_of(spec.devices.begin(), spec.devices.end(),
                                        [&](const Device& device) { return has(device.edits); });
}

bool StartsWithDigit(const std::string& name) {
  return !name.empty() && name[0] >= '0' && name[0] <= '9';
}

bool HasNetDevices(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) { return !edits.net_devices.empty(); });
}

bool HasSchemata(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) {
    return edits.intel_rdt &&
           (!edits.intel_rdt->schemata.empty() || edits.intel_rdt->enable_monitoring);
  });
}

bool HasRdt(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) { return edits.intel_rdt.has_value(); });
}

bool HasGids(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) { return !edits.additional_gids.empty(); });
}

bool HasAnnotations(const Spec& spec) {
  return !spec.annotations.empty() ||
         std::any_of(spec.devices.begin(), spec.devices.end(),
                     [](const Device& device) { return !device.annotations.empty(); });
}

bool HasDotInClass(const Spec& spec) {
  return SplitKind(spec.kind).second.find('.') != std::string_view::npos;
}

bool HasHostPath(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) {
    return std::any_of(edits.device_nodes.begin(), edits.device_nodes.end(),
                       [](const DeviceNode& node) { return !node.host_path.empty(); });
  });
}

bool HasDigitName(const Spec& spec) {
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [](const Device& device) { return StartsWithDigit(device.name); });
}

bool HasMountType(const Spec& spec) {
  return AnyEdits(spec, [](const ContainerEdits& edits) {
    return std::any_of(edits.mounts.begin(), edits.mounts.end(),
                       [](const Mount& mount) { return !mount.type.empty(); });
  });
}

// Newest first. 0.8.0 and 1.0.0 changed the Go interface alone.
struct FeatureRow {
  Feature feature;
  bool (*used)(const Spec&);
};
constexpr std::array<FeatureRow, 9> kFeatures = {{
    {{{1, 1, 0}, "netDevices"}, HasNetDevices},
    {{{1, 1, 0}, "schemata or enableMonitoring of intelRdt"}, HasSchemata},
    {{{0, 7, 0}, "intelRdt"}, HasRdt},
    {{{0, 7, 0}, "additionalGids"}, HasGids},
    {{{0, 6, 0}, "annotations"}, HasAnnotations},
    {{{0, 6, 0}, "a dot in the class"}, HasDotInClass},
    {{{0, 5, 0}, "hostPath of a device node"}, HasHostPath},
    {{{0, 5, 0}, "a device whose name begins with a digit"}, HasDigitName},
    {{{0, 4, 0}, "type of a mount"}, HasMountType},
}};

// One feature that is taken out: where it was.
class Removals {
 public:
  void Add(std::string_view what, Version since, const std::string& where) {
    for (Row& row : rows_) {
      if (row.what != what) continue;
      row.where.push_back(where);
      return;
    }
    rows_.push_back({what, since, {where}});
  }

  [[nodiscard]] std::vector<std::string> InWords() const {
    std::vector<std::string> words;
    for (const Row& row : rows_) {
      words.push_back(fmt::format("{} of {}, which CDI has since {}", row.what,
                                  base::Join(row.where, ", "), row.since.ToString()));
    }
    return words;
  }

 private:
  struct Row {
    std::string_view what;
    Version since;
    std::vector<std::string> where;
  };
  std::vector<Row> rows_;
};

// A mount whose options say that it is a bind mount is one without a type too.
bool IsBindAnyway(const Mount& mount) {
  const auto has = [&](std::string_view option) {
    return std::find(mount.options.begin(), mount.options.end(), option) != mount.options.end();
  };
  return mount.type == "bind" && (has("bind") || has("rbind"));
}

base::Error WouldDiffer(std::string_view what, Version since, Version most) {
  return base::MakeError(base::ErrorCode::kUnsupported,
                         "{} needs CDI {}, and {} is the most that was allowed", what,
                         since.ToString(), most.ToString());
}

void CapRdt(ContainerEdits& edits, Version most, const std::string& where, Removals& removals) {
  if (!edits.intel_rdt) return;
  IntelRdt& rdt = *edits.intel_rdt;
  if (most < Version{1, 1, 0} && !rdt.schemata.empty()) {
    rdt.schemata.clear();
    removals.Add("schemata of intelRdt", {1, 1, 0}, where);
  }
  if (most < Version{1, 1, 0} && rdt.enable_monitoring) {
    rdt.enable_monitoring = false;
    removals.Add("enableMonitoring of intelRdt", {1, 1, 0}, where);
  }
  if (most < Version{0, 7, 0}) {
    edits.intel_rdt.reset();
    removals.Add("intelRdt", {0, 7, 0}, where);
  }
}

base::Result<void> CapEdits(ContainerEdits& edits,
                            Version most,
                            const std::string& where,
                            Removals& removals) {
  if (most < Version{1, 1, 0} && !edits.net_devices.empty()) {
    edits.net_devices.clear();
    removals.Add("netDevices", {1, 1, 0}, where);
  }
  CapRdt(edits, most, where, removals);
  if (most < Version{0, 7, 0} && !edits.additional_gids.empty()) {
    edits.additional_gids.clear();
    removals.Add("additionalGids", {0, 7, 0}, where);
  }
  for (DeviceNode& node : edits.device_nodes) {
    if (most >= Version{0, 5, 0}) break;
    if (!node.host_path.empty() && node.host_path != node.path)
      return WouldDiffer(fmt::format("{}: hostPath of {}", where, node.path), {0, 5, 0}, most);
    node.host_path.clear();
  }
  for (Mount& mount : edits.mounts) {
    if (most >= Version{0, 4, 0}) break;
    if (!mount.type.empty() && !IsBindAnyway(mount)) {
      return WouldDiffer(
          fmt::format("{}: type {} of the mount {}", where, mount.type, mount.container_path),
          {0, 4, 0}, most);
    }
    mount.type.clear();
  }
  return {};
}

base::Result<void> CapNames(Spec& spec, Version most, Removals& removals) {
  if (most < Version{0, 6, 0}) {
    if (HasDotInClass(spec))
      return WouldDiffer(fmt::format("the dot in the class of {}", spec.kind), {0, 6, 0}, most);
    if (!spec.annotations.empty()) removals.Add("annotations", {0, 6, 0}, "the specification");
    spec.annotations.clear();
  }
  for (Device& device : spec.devices) {
    if (most < Version{0, 6, 0} && !device.annotations.empty()) {
      removals.Add("annotations", {0, 6, 0}, "device " + device.name);
      device.annotations.clear();
    }
    if (most < Version{0, 5, 0} && StartsWithDigit(device.name)) {
      return WouldDiffer(
                 fmt::format("the name {}, which begins with a digit,", base::Quoted(device.name)),
                 {0, 5, 0}, most)
          .WithHint("name devices by type-index or UUID instead");
    }
  }
  return {};
}

}  // namespace

std::string Version::ToString() const { return fmt::format("{}.{}.{}", major, minor, patch); }

base::Result<Version> ParseVersion(std::string_view text) {
  const std::string_view plain = base::WithoutPrefix(text, "v").value_or(text);
  const auto found = std::find_if(kPublished.begin(), kPublished.end(),
                                  [&](const Version& each) { return each.ToString() == plain; });
  if (found == kPublished.end()) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "CDI version {} is not known; the newest known is {}",
                           base::Quoted(text), kPublished.back().ToString());
  }
  if (*found < kEarliest) {
    return base::MakeError(base::ErrorCode::kInvalid, "CDI version {}: it must be at least {}",
                           base::Quoted(text), kEarliest.ToString());
  }
  return *found;
}

Feature NewestFeature(const Spec& spec) {
  const auto found = std::find_if(kFeatures.begin(), kFeatures.end(),
                                  [&](const FeatureRow& row) { return row.used(spec); });
  return found == kFeatures.end() ? Feature{kEarliest, "every specification"} : found->feature;
}

Version MinimumVersion(const Spec& spec) { return NewestFeature(spec).since; }

base::Result<std::vector<std::string>> Cap(Spec& spec, Version most) {
  Spec capped = spec;
  Removals removals;
  TRY_VOID(CapNames(capped, most, removals));
  TRY_VOID(CapEdits(capped.edits, most, "the common edits", removals));
  for (Device& device : capped.devices) {
    const bool had_edits = !device.edits.empty();
    const std::string where = "device " + device.name;
    TRY_VOID(CapEdits(device.edits, most, where, removals));
    if (had_edits && device.edits.empty())
      return WouldDiffer("all that " + where + " holds", MinimumVersion(spec), most);
  }
  spec = std::move(capped);
  return removals.InWords();
}

}  // namespace partita::cdi
