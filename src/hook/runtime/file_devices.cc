#include "hook/runtime/file_devices.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/name.h"
#include "request/device_id.h"

namespace partita::hook {
namespace {

using cdi::Registry;
using Found = Registry::Found;
using Texts = std::vector<std::string>;

constexpr std::string_view kGpus = "nvidia.com/gpu";
constexpr std::string_view kNvidia = "nvidia.com";

// Every naming that files have; UUIDs first, since a number may have become another's.
Texts NamesOf(const cdi::DeviceRow& row) {
  if (!row.mig) return {row.uuid, std::to_string(row.index), fmt::format("gpu{}", row.index)};
  const std::string number = fmt::format("{}:{}", row.index, row.mig->slot);
  return {cdi::DeviceNameFor(row.mig->uuid), number, "mig" + number};
}

bool HasNode(const Found& found, const std::string& path) {
  const auto is_it = [&](const cdi::DeviceNode& node) { return node.path == path; };
  const auto& own = found.device->edits.device_nodes;
  const auto& common = found.spec->edits.device_nodes;
  return std::any_of(own.begin(), own.end(), is_it) ||
         std::any_of(common.begin(), common.end(), is_it);
}

// A file may be older than the device.
bool IsOf(const Found& found, const cdi::DeviceRow& row) {
  const auto capability = [&](std::uint32_t minor) {
    return HasNode(found, fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor));
  };
  return HasNode(found, fmt::format("/dev/nvidia{}", row.minor)) &&
         (!row.mig || (capability(row.mig->gi_cap) && capability(row.mig->ci_cap)));
}

class Finder {
 public:
  Finder(const Registry& registry, const cdi::Device& no_device, const AskNode& ask)
      : registry_(registry), no_device_(no_device), ask_(ask), names_(registry.Names()) {}

  base::Result<std::vector<Found>> Find(std::span<const FileDevice> wanted) {
    std::vector<std::vector<Found>> all;
    Texts open;
    for (const FileDevice& each : wanted) {
      all.push_back(ByFiles(each));
      if (all.back().empty() && MayBeGpu(each)) open.push_back(each.id);
    }
    if (!open.empty()) Ask(open);
    Texts missing;
    std::vector<Found> found;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (all[i].empty() && node_ && MayBeGpu(wanted[i])) all[i] = ByNode(wanted[i]);
      if (all[i].empty()) missing.push_back(wanted[i].ToString());
      for (const Found& each : all[i]) Add(each, found);
    }
    if (missing.empty()) return found;
    return base::MakeError(base::ErrorCode::kNotFound, "unresolvable CDI devices {}",
                           base::Join(missing, ", "))
        .WithHint(Hint());
  }

 private:
  static bool MayBeGpu(const FileDevice& wanted) {
    return wanted.of_gpus && request::ParseDeviceId(wanted.id).ok();
  }

  static void Add(const Found& one, std::vector<Found>& all) {
    const bool there = std::any_of(all.begin(), all.end(), [&](const Found& each) {
      return each.spec == one.spec && each.device == one.device;
    });
    if (!there) all.push_back(one);
  }

  [[nodiscard]] std::optional<Found> Named(const std::string& name) const {
    const auto found = registry_.Find(std::span(&name, 1));
    return found.ok() ? std::optional(found->front()) : std::nullopt;
  }

  std::vector<Found> ByFiles(const FileDevice& wanted) {
    if (const std::optional<Found> exact = Named(wanted.ToString())) return {*exact};
    const std::string lower = base::ToLower(wanted.id);
    if (wanted.of_gpus && lower == "none") return CommonOf(wanted.kind);
    if (!MayBeGpu(wanted) && !(wanted.of_gpus && lower == "all")) return {};
    const std::string name = base::ToLower(wanted.ToString());
    std::vector<Found> found;
    for (const std::string& each : names_) {
      if (each.starts_with(wanted.kind + "=") && base::ToLower(each) == name)
        found.push_back(*Named(each));
    }
    // Two that differ in case alone: which is meant, nobody knows.
    return found.size() == 1 ? found : std::vector<Found>();
  }

  // What comes with every device of a kind, without one. Files that people wrote are behind those
  // that programs keep, as they are for devices.
  std::vector<Found> CommonOf(const std::string& kind) {
    std::vector<Found> found;
    std::size_t directory = 0;
    for (const Registry::File& file : registry_.files()) {
      if (file.spec.kind != kind || file.directory < directory) continue;
      if (file.directory > directory) found.clear();
      directory = file.directory;
      found.push_back({&file.spec, &no_device_});
    }
    return found;
  }

  void Ask(const Texts& ids) {
    base::Result<cdi::NodeDevices> node = ask_(ids);
    if (node.ok())
      node_ = *std::move(node);
    else
      why_ = node.error().ToString();
  }

  std::vector<Found> ByNode(const FileDevice& wanted) {
    const auto rows = request::Resolve(std::span(&wanted.id, 1), *node_);
    if (!rows.ok()) {
      why_ = rows.error().ToString();
      return {};
    }
    const cdi::DeviceRow& row = *rows->front();
    for (const std::string& name : NamesOf(row)) {
      const std::optional<Found> found = Named(wanted.kind + "=" + name);
      if (found && IsOf(*found, row)) return {*found};
    }
    why_ = fmt::format("the CDI files do not have {} ({}) as it is now: partita cdi generate",
                       wanted.id, row.mig ? row.mig->uuid : row.uuid);
    return {};
  }

  [[nodiscard]] std::string Hint() const {
    std::string hint = "partita cdi list shows those that there are, and what is wrong with others";
    if (!registry_.problems().empty()) hint = registry_.problems().front().error.ToString();
    return why_.empty() ? hint : why_ + "; " + hint;
  }

  const Registry& registry_;
  const cdi::Device& no_device_;
  const AskNode& ask_;
  const Texts names_;
  std::optional<cdi::NodeDevices> node_;
  std::string why_;
};

}  // namespace

std::string FileDevice::ToString() const { return kind + "=" + cdi::DeviceNameFor(id); }

bool FileDevice::IsNvidias() const {
  const std::string_view vendor = cdi::SplitKind(kind).first;
  return vendor == kNvidia || vendor.ends_with("." + std::string(kNvidia));
}

FileDevice ReadFileDevice(const std::string& text, const std::string& default_kind) {
  FileDevice device{default_kind, text};
  if (const auto name = cdi::ParseName(text); name.ok())
    device = {name->vendor + "/" + name->klass, name->name};
  else if (const auto id = base::WithoutPrefix(text, default_kind + "="))
    device.id = *id;
  device.of_gpus = device.kind == default_kind || device.kind == kGpus;
  return device;
}

base::Result<std::vector<Found>> FindInFiles(const Registry& registry,
                                             std::span<const FileDevice> wanted,
                                             const cdi::Device& no_device,
                                             const AskNode& ask) {
  return Finder(registry, no_device, ask).Find(wanted);
}

}  // namespace partita::hook
