#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "config/binders.h"
#include "config/plugin_config_reader.h"
#include "config/plugin_config_sizes.h"
#include "config/resource_name.h"

namespace partita::config {
namespace {

using SharedKind = SharedDevices::Kind;

const std::array<std::string, 2> kSharingKeys = {"timeSlicing", "mps"};
const std::array<std::string, 3> kSectionKeys = {"renameByDefault", "failRequestsGreaterThanOne",
                                                 "resources"};
const std::array<std::string, 4> kEntryKeys = {"name", "replicas", "rename", "devices"};
const std::array<std::string, 5> kMpsEntryKeys = {"name", "replicas", "rename", "devices",
                                                  "shares"};

// An entry with the nodes that problems with it are shown at.
struct Entry {
  SharedResource resource;
  const Node* replicas = nullptr;
  const Node* devices = nullptr;        // or its name, where it has none
  const Node* name = nullptr;           // what its shares are called
  std::vector<const Node*> sizes = {};  // the names of its sizes
};

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool IsUuid(std::string_view text) {
  constexpr std::array<std::size_t, 5> kLengths = {8, 4, 4, 4, 12};
  const std::vector<std::string_view> pieces = base::Split(text, '-');
  if (pieces.size() != kLengths.size()) return false;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].size() != kLengths[i] || !IsHex(pieces[i])) return false;
  return true;
}

bool IsNumber(std::string_view text) {
  const std::optional<std::uint64_t> number = base::ParseUnsigned(text);
  return number && *number <= std::numeric_limits<std::uint32_t>::max();
}

// MIG-GPU-<uuid>/<gi>/<ci>, as drivers before 470 name MIG devices.
bool IsOldMigUuid(std::string_view text) {
  const std::vector<std::string_view> pieces = base::Split(text, '/');
  return pieces.size() == 3 && IsUuid(pieces[0]) && IsNumber(pieces[1]) && IsNumber(pieces[2]);
}

// As it is looked up: numbers without leading zeros. Nothing: it names no device.
std::optional<std::string> DeviceReference(std::string_view text) {
  if (const auto old = base::WithoutPrefix(text, "MIG-GPU-"))
    return IsOldMigUuid(*old) ? std::optional<std::string>(text) : std::nullopt;
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (const auto uuid = base::WithoutPrefix(text, prefix))
      return IsUuid(*uuid) ? std::optional<std::string>(text) : std::nullopt;
  }
  std::vector<std::string> numbers;
  for (const std::string_view piece : base::Split(text, ':')) {
    if (!IsNumber(piece)) return std::nullopt;
    numbers.push_back(std::to_string(*base::ParseUnsigned(piece)));
  }
  if (numbers.size() > 2) return std::nullopt;
  return base::Join(numbers, ":");
}

void ReadDeviceList(const Node& node, Problems& problems, SharedDevices& devices) {
  devices.kind = SharedKind::kList;
  if (node.items.empty())
    problems.Add(node, "\"devices\" is empty", "leave it out, or write all, to share every device");
  for (const Node& item : node.items) {
    const std::optional<std::string> device =
        item.IsScalar() ? DeviceReference(item.text) : std::nullopt;
    if (!device) {
      problems.Add(item, fmt::format("{} names no device", Describe(item)),
                   "an index (0), a MIG index (\"0:1\"), GPU-<uuid> or MIG-<uuid>");
    } else if (std::find(devices.list.begin(), devices.list.end(), *device) != devices.list.end()) {
      problems.Add(item, fmt::format("{} is named twice", base::Quoted(*device)));
    } else {
      devices.list.push_back(*device);
    }
  }
}

SharedDevices ReadSharedDevices(const Node& node, Problems& problems) {
  SharedDevices devices;
  if (node.IsScalar() && node.text == "all") return devices;
  if (node.IsList()) {
    ReadDeviceList(node, problems, devices);
    return devices;
  }
  const std::optional<std::uint64_t> count = node.IsScalar() && !node.quoted && IsNumber(node.text)
                                                 ? base::ParseUnsigned(node.text)
                                                 : std::nullopt;
  if (count && *count > 0) {
    devices.kind = SharedKind::kCount;
    devices.count = static_cast<std::uint32_t>(*count);
    return devices;
  }
  problems.Add(node, fmt::format("expected all, a number of devices or a list of them, not {}",
                                 Describe(node)));
  return devices;
}

std::optional<std::string> ReadName(const Node& node, Problems& problems) {
  const std::optional<std::string> text = ReadString(node, problems);
  if (!text) return std::nullopt;
  base::Result<std::string> name = FullResourceName(*text);
  if (name.ok()) return *std::move(name);
  problems.Add(node, name.error().message(), name.error().hint());
  return std::nullopt;
}

void ReadReplicas(const Node& node, Problems& problems, Entry& entry) {
  entry.replicas = &node;
  const auto too_many = [&](std::string_view replicas) {
    problems.Add(node, fmt::format("{} replicas are too many", replicas),
                 fmt::format("kubelet takes 4 MiB of devices, about {}", kMaxShares));
  };
  const bool digits = node.IsScalar() && !node.quoted && !node.text.empty() &&
                      std::all_of(node.text.begin(), node.text.end(), base::IsDigit);
  if (digits && !base::ParseUnsigned(node.text)) return too_many(node.text);
  const std::optional<std::uint64_t> replicas = ReadUnsigned(node, problems, {.min = 2});
  if (!replicas) return;
  if (*replicas > kMaxShares) return too_many(fmt::format("{}", *replicas));
  entry.resource.replicas = static_cast<std::uint32_t>(*replicas);
}

// How many shares a device has: equal ones, or those of its sizes.
void ReadShares(const Node& node, bool mps, PluginReading& reading, Entry& entry) {
  const Node* shares = node.Find("shares");
  if (shares == nullptr || shares->IsNull()) {
    if (const Node* replicas = Require(node, "replicas", reading.errors))
      ReadReplicas(*replicas, reading.errors, entry);
    return;
  }
  const Node& key = *node.FindKey("shares");
  if (!mps) {
    reading.errors.Add(key, "only MPS has sizes of shares",
                       "write it under \"sharing.mps\", or \"replicas\" here");
    return;
  }
  if (const Node* replicas = node.FindKey("replicas")) {
    reading.errors.Add(*replicas, "\"replicas\" and \"shares\" exclude each other",
                       "each size has replicas of its own");
  }
  entry.replicas = &key;
  ReadSizes(key, *shares, reading, entry.resource, entry.sizes);
}

Entry ReadEntry(const Node& node, bool mps, PluginReading& reading) {
  Entry entry;
  entry.resource.place = reading.PlaceOf(node);
  entry.devices = entry.name = &node;
  if (!ExpectMap(node, reading.errors, "a shared resource")) return entry;
  if (mps || node.Find("shares") != nullptr) {
    reading.WarnUnknown(node, kMpsEntryKeys);
  } else {
    reading.WarnUnknown(node, kEntryKeys);
  }
  if (const Node* name = Require(node, "name", reading.errors)) {
    entry.devices = entry.name = name;
    entry.resource.name = ReadName(*name, reading.errors).value_or("");
  }
  const Node* rename = node.Find("rename");
  if (rename != nullptr && !rename->IsNull() && !(rename->IsScalar() && rename->text.empty())) {
    entry.name = rename;
    entry.resource.rename = ReadName(*rename, reading.errors);
  }
  ReadShares(node, mps, reading, entry);
  if (const Node* devices = node.Find("devices"); devices != nullptr && !devices->IsNull()) {
    entry.devices = devices;
    entry.resource.devices = ReadSharedDevices(*devices, reading.errors);
  }
  return entry;
}

// "" when no device is certainly in both; which those of a count are, only a node knows.
std::string SharedTwice(const SharedResource& a, const SharedResource& b) {
  if (a.name.empty() || a.name != b.name) return "";
  const auto all = [](const SharedResource& each) { return each.devices.kind == SharedKind::kAll; };
  const auto count = [](const SharedResource& each) {
    return each.devices.kind == SharedKind::kCount;
  };
  if (all(a) || all(b)) return "all devices are";
  if (count(a) && count(b)) return "the lowest device is";
  for (const std::string& device : a.devices.list) {
    const std::vector<std::string>& other = b.devices.list;
    if (std::find(other.begin(), other.end(), device) != other.end())
      return fmt::format("device {} is", base::Quoted(device));
  }
  return "";
}

// Told at both places, since either may be the wrong one.
void CheckDisjoint(const Entry& a, const Entry& b, Problems& problems) {
  const std::string twice = SharedTwice(a.resource, b.resource);
  if (twice.empty()) return;
  const std::string what =
      fmt::format("{} shared twice as {}", twice, base::Quoted(a.resource.name));
  const auto line = [](const Entry& entry) {
    return fmt::format("also in line {}: give each entry devices of its own", entry.devices->line);
  };
  problems.Add(*a.devices, what, line(b));
  problems.Add(*b.devices, what, line(a));
}

// Of one section.
void CheckDisjoint(const std::vector<Entry>& entries, Problems& problems) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t j = i + 1; j < entries.size(); ++j)
      CheckDisjoint(entries[i], entries[j], problems);
}

std::uint64_t LeastDevices(const SharedDevices& devices) {
  if (devices.kind == SharedKind::kCount) return devices.count;
  return devices.kind == SharedKind::kList ? devices.list.size() : 1;
}

void CheckShares(const std::vector<Entry>& entries, Problems& problems) {
  std::map<std::string, std::uint64_t> shares;
  for (const Entry& entry : entries) {
    const SharedResource& resource = entry.resource;
    const std::string& name = resource.SharesName();
    const std::uint64_t before = shares[name];
    shares[name] += resource.replicas * LeastDevices(resource.devices);
    if (before > kMaxShares || shares[name] <= kMaxShares) continue;
    problems.Add(entry.replicas == nullptr ? *entry.devices : *entry.replicas,
                 fmt::format("{} shares of {} are too many", shares[name], base::Quoted(name)),
                 fmt::format("kubelet takes 4 MiB of devices, about {}", kMaxShares));
  }
}

void Rename(std::vector<Entry>& entries, Problems& problems) {
  for (Entry& entry : entries) {
    // Sizes have names of their own.
    if (entry.resource.rename || entry.resource.name.empty() || !entry.sizes.empty()) continue;
    base::Result<std::string> shared = FullResourceName(entry.resource.name + ".shared");
    if (shared.ok())
      entry.resource.rename = *std::move(shared);
    else
      problems.Add(*entry.devices, shared.error().message(),
                   "\"renameByDefault\" adds \".shared\": give it a \"rename\"");
  }
}

bool ReadSwitch(const Node& map, std::string_view key, bool otherwise, Problems& problems) {
  const Node* node = map.Find(key);
  if (node == nullptr || node->IsNull()) return otherwise;
  return ReadBool(*node, problems).value_or(otherwise);
}

SharingSection ReadSection(const Node& key,
                           const Node& node,
                           PluginReading& reading,
                           std::vector<Entry>& entries) {
  SharingSection section;
  const bool mps = key.text == "mps";
  section.place = reading.PlaceOf(key);
  if (!ExpectMap(node, reading.errors, fmt::format("the settings of \"{}\"", key.text)))
    return section;
  reading.WarnUnknown(node, kSectionKeys);
  section.rename_by_default = ReadSwitch(node, "renameByDefault", false, reading.errors);
  section.fail_requests_greater_than_one =
      ReadSwitch(node, "failRequestsGreaterThanOne", mps, reading.errors);
  const Node* resources = node.Find("resources");
  const bool none = resources == nullptr || resources->IsNull();
  if (none || (resources->IsList() && resources->items.empty())) {
    reading.errors.Add(none ? key : *resources, "no resources specified",
                       "add \"resources: [{name: nvidia.com/gpu, replicas: 2}]\"");
    return section;
  }
  if (!ExpectList(*resources, reading.errors, "a list of shared resources")) return section;
  for (const Node& item : resources->items) entries.push_back(ReadEntry(item, mps, reading));
  if (section.rename_by_default) Rename(entries, reading.errors);
  CheckDisjoint(entries, reading.errors);
  CheckShares(entries, reading.errors);
  for (const Entry& entry : entries) section.resources.push_back(entry.resource);
  return section;
}

// Over both sections: names are the node's.
void CheckNamesOfSizes(const std::vector<Entry>& entries, Problems& problems) {
  std::vector<SharesCalled> called;
  for (const Entry& entry : entries) {
    const SharedResource& resource = entry.resource;
    called.push_back({resource.name, &resource, nullptr, entry.name});
    if (resource.shares.empty() && resource.rename)
      called.push_back({*resource.rename, &resource, nullptr, entry.name});
    for (std::size_t i = 0; i < resource.shares.size(); ++i)
      called.push_back(
          {resource.NameOf(resource.shares[i]), &resource, &resource.shares[i], entry.sizes[i]});
  }
  CheckSizeNames(called, problems);
}

}  // namespace

void ReadSharing(const Node& node, PluginReading& reading, PluginConfig& config) {
  if (node.IsNull() || !ExpectMap(node, reading.errors, "the settings of \"sharing\"")) return;
  reading.WarnUnknown(node, kSharingKeys);
  std::vector<Entry> sliced, by_mps;
  const Node* slicing = node.Find("timeSlicing");
  if (slicing != nullptr && !slicing->IsNull()) {
    const Node& key = *node.FindKey("timeSlicing");
    config.time_slicing = ReadSection(key, *slicing, reading, sliced);
    reading.Give("sharing.timeSlicing", key);
  }
  const Node* mps = node.Find("mps");
  if (mps == nullptr || mps->IsNull()) return;
  const Node& key = *node.FindKey("mps");
  config.mps = ReadSection(key, *mps, reading, by_mps);
  reading.Give("sharing.mps", key);
  for (const Entry& one : sliced)
    for (const Entry& other : by_mps) CheckDisjoint(one, other, reading.errors);
  sliced.insert(sliced.end(), by_mps.begin(), by_mps.end());
  CheckNamesOfSizes(sliced, reading.errors);
}

}  // namespace partita::config
