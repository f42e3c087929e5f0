#include "service/mig/generated_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/mig/plan.h"
#include "model/mig/wanted.h"
#include "model/profile_name.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

namespace {

using base::Value;

// Devices by name; the order of names is the order of the file.
using NamedCounts = std::map<std::string, std::uint32_t>;

// What some GPUs have in common.
struct Entry {
  bool enabled = false;
  NamedCounts devices;
  std::vector<std::uint32_t> gpus;  // indexes, or positions where the driver gives none
  std::set<std::uint32_t> boards;   // PCI ids
};

std::string FilterText(std::uint32_t board) { return fmt::format("0x{:08X}", board); }

std::uint32_t NumberOf(const model::Inventory& node, std::size_t position) {
  const model::Gpu& gpu = node.gpus[position];
  return gpu.index ? gpu.index->value() : static_cast<std::uint32_t>(position);
}

Entry EntryFor(const model::Gpu& gpu) {
  Entry entry;
  entry.enabled = gpu.mig && gpu.mig->enabled;
  if (!entry.enabled) return entry;
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  for (const auto& [device, count] : model::PresentDevices(gpu, geometry)) {
    entry.devices[model::DeviceName(geometry, device)] += count;
  }
  return entry;
}

std::vector<Entry> MergedEntries(const model::Inventory& node) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    Entry entry = EntryFor(node.gpus[i]);
    auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& other) {
      return other.enabled == entry.enabled && other.devices == entry.devices;
    });
    if (same == entries.end()) same = entries.insert(entries.end(), std::move(entry));
    same->gpus.push_back(NumberOf(node, i));
    same->boards.insert(node.gpus[i].pci_device_id);
  }
  return entries;
}

Value FilterValue(const std::set<std::uint32_t>& boards) {
  if (boards.size() == 1) return FilterText(*boards.begin());
  Value list = Value::List();
  for (const std::uint32_t board : boards) list.Add(FilterText(board));
  return list;
}

Value CountsValue(const NamedCounts& devices) {
  Value map = Value::Map();
  for (const auto& [name, count] : devices) map.Set(name, count);
  return map;
}

Value SpecValue(const Entry& entry, bool with_filter, bool all) {
  Value spec = Value::Map();
  if (with_filter) spec.Set("device-filter", FilterValue(entry.boards));
  if (all) {
    spec.Set("devices", "all");
  } else {
    std::vector<std::uint32_t> gpus = entry.gpus;
    std::sort(gpus.begin(), gpus.end());
    Value list = Value::List();
    for (const std::uint32_t gpu : gpus) list.Add(gpu);
    spec.Set("devices", std::move(list));
  }
  return spec.Set("mig-enabled", entry.enabled).Set("mig-devices", CountsValue(entry.devices));
}

Value ConfigFile(Value configs) {
  return Value::Map().Set("version", "v1").Set("mig-configs", std::move(configs));
}

// Boards that can do MIG, with their geometry: two boards may share a product name, but not a list.
struct Board {
  std::uint32_t id = 0;
  model::MigGeometry geometry;
};

std::vector<Board> Boards(const model::Inventory& node) {
  std::vector<Board> boards;
  for (const model::Gpu& gpu : node.gpus) {
    if (!gpu.mig) continue;
    const bool known = std::any_of(boards.begin(), boards.end(),
                                   [&](const Board& b) { return b.id == gpu.pci_device_id; });
    if (!known) boards.push_back({gpu.pci_device_id, model::MigGeometry::Of(gpu.mig->profiles)});
  }
  return boards;
}

// One entry for each distinct set of devices, with the boards that it is for.
class ConfigBuilder {
 public:
  void Add(std::uint32_t board, bool enabled, NamedCounts devices) {
    for (Entry& entry : entries_) {
      if (entry.enabled == enabled && entry.devices == devices) {
        entry.boards.insert(board);
        return;
      }
    }
    entries_.push_back({enabled, std::move(devices), {}, {board}});
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] Value Build(bool with_filters) const {
    Value list = Value::List();
    for (const Entry& entry : entries_) list.Add(SpecValue(entry, with_filters, true));
    return list;
  }

 private:
  std::vector<Entry> entries_;
};

// Two of 1g, one of 2g and, on seven slices, one of 3g; of profiles with as many slices the one
// that fits most often, and none with special engines. Empty when a GPU lacks one of them.
NamedCounts Balanced(const model::MigGeometry& geometry) {
  std::map<std::uint32_t, const model::GpuInstanceProfile*> plain;
  std::uint32_t slices = 0;
  for (const model::GpuInstanceProfile& profile : geometry.profiles) {
    slices = std::max(slices, profile.slice_count);
    const base::Result<model::ProfileName> name = model::ProfileName::Parse(profile.name);
    if (!name.ok() || !name->with.empty() || !name->without.empty()) continue;
    const model::GpuInstanceProfile*& best = plain[profile.slice_count];
    if (best == nullptr || profile.instance_count > best->instance_count) best = &profile;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> recipe;
  if (slices == 7) recipe = {{1, 2}, {2, 1}, {3, 1}};
  if (slices == 4) recipe = {{1, 2}, {2, 1}};
  NamedCounts counts;
  for (const auto& [width, count] : recipe) {
    const auto found = plain.find(width);
    if (found == plain.end()) return {};
    counts[found->second->name] = count;
  }
  return counts;
}

std::string LabelOf(const std::string& profile) {
  const base::Result<model::ProfileName> name = model::ProfileName::Parse(profile);
  return "all-" + (name.ok() ? name->ToLabel() : profile);
}

}  // namespace

base::Result<Value> ExportConfig(const model::Inventory& node, const std::string& label) {
  TRY_VOID(CheckRead(node));
  const std::vector<Entry> entries = MergedEntries(node);
  std::set<std::uint32_t> boards;
  for (const model::Gpu& gpu : node.gpus) boards.insert(gpu.pci_device_id);
  const bool with_filter = boards.size() > 1 && entries.size() > 1;
  Value specs = Value::List();
  for (const Entry& entry : entries) {
    const auto covered = std::count_if(
        node.gpus.begin(), node.gpus.end(),
        [&](const model::Gpu& gpu) { return entry.boards.count(gpu.pci_device_id) > 0; });
    const bool all = static_cast<std::size_t>(covered) == entry.gpus.size();
    specs.Add(SpecValue(entry, with_filter, all));
  }
  return ConfigFile(Value::Map().Set(label, std::move(specs)));
}

base::Result<Value> GenerateConfig(const model::Inventory& node) {
  for (const model::Gpu& gpu : node.gpus) {
    if (gpu.mig) TRY_VOID(CheckRead(gpu));
  }
  const std::vector<Board> boards = Boards(node);
  if (boards.empty()) {
    return base::Error(base::ErrorCode::kUnsupported, "no MIG-capable devices found on the system");
  }
  std::set<std::uint32_t> ids;
  for (const model::Gpu& gpu : node.gpus) ids.insert(gpu.pci_device_id);
  const bool with_filters = ids.size() > 1;
  ConfigBuilder balanced;
  std::map<std::string, ConfigBuilder> by_profile;
  for (const Board& board : boards) {
    const NamedCounts counts = Balanced(board.geometry);
    if (!counts.empty()) balanced.Add(board.id, true, counts);
    for (const model::GpuInstanceProfile& profile : board.geometry.profiles) {
      by_profile[LabelOf(profile.name)].Add(board.id, true,
                                            {{profile.name, profile.instance_count}});
    }
  }
  if (by_profile.empty()) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "no MIG profiles discovered for MIG-capable GPUs")
        .WithHint("this driver may list them only while MIG is on");
  }
  const auto everywhere = [](bool enabled) {
    Entry entry;
    entry.enabled = enabled;
    return Value::List().Add(SpecValue(entry, false, true));
  };
  Value configs = Value::Map();
  configs.Set("all-disabled", everywhere(false)).Set("all-enabled", everywhere(true));
  if (!balanced.empty()) configs.Set("all-balanced", balanced.Build(with_filters));
  for (const auto& [label, builder] : by_profile) configs.Set(label, builder.Build(with_filters));
  return ConfigFile(std::move(configs));
}

namespace {

// A text as YAML writes it, in quotes where it must be.
std::string Scalar(const Value& value) {
  std::string text = base::ToYaml(value);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string Flow(const Value& list) {
  std::vector<std::string> items;
  for (const Value& item : list.items()) items.push_back(Scalar(item));
  return fmt::format("[{}]", base::Join(items, ", "));
}

void AppendSpec(const Value& spec, std::string& text) {
  std::string_view lead = "  - ";
  for (const auto& [key, value] : spec.members()) {
    text += fmt::format("{}{}:", lead, key);
    lead = "    ";
    if (value.kind() == Value::Kind::kList) {
      text += fmt::format(" {}\n", Flow(value));
    } else if (value.kind() != Value::Kind::kMap || value.members().empty()) {
      text += fmt::format(" {}\n", Scalar(value));
    } else {
      text += '\n';
      for (const auto& [name, count] : value.members()) {
        text += fmt::format("      {}: {}\n", Scalar(name), Scalar(count));
      }
    }
  }
}

}  // namespace

std::string ConfigYaml(const Value& config) {
  std::string text;
  for (const auto& [key, value] : config.members()) {
    if (value.kind() != Value::Kind::kMap) {
      text += fmt::format("{}: {}\n", key, Scalar(value));
      continue;
    }
    text += fmt::format("{}:\n", key);
    for (const auto& [label, specs] : value.members()) {
      text += fmt::format("  {}:\n", Scalar(label));
      for (const Value& spec : specs.items()) AppendSpec(spec, text);
    }
  }
  return text;
}

}  // namespace partita::service::mig
