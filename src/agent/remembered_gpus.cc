#include "agent/remembered_gpus.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/boot_id.h"
#include "base/files.h"
#include "base/json.h"
#include "base/state_file.h"
#include "base/value.h"

namespace partita::agent {
namespace {

using base::Value;
using service::inventory::Remembered;

base::StateFile FileIn(const std::string& directory) {
  return {base::JoinPath(directory, "inventory.json"), "inventory", 1};
}

std::optional<std::string> TextOf(const Value& map, std::string_view key) {
  const Value* member = map.Find(key);
  if (member == nullptr || member->kind() != Value::Kind::kString) return std::nullopt;
  return member->AsString();
}

template <typename Id>
std::optional<Id> NumberOf(const Value& map, std::string_view key) {
  const Value* member = map.Find(key);
  if (member == nullptr || member->kind() != Value::Kind::kUnsigned) return std::nullopt;
  return Id(static_cast<std::uint32_t>(member->AsUnsigned()));
}

// One whose entry makes no sense is forgotten: the driver will tell its name.
std::optional<Remembered> ReadGpu(const Value& entry) {
  const std::optional<std::string> pci = TextOf(entry, "pci");
  const std::optional<std::string> uuid = TextOf(entry, "uuid");
  if (!pci || !uuid) return std::nullopt;
  const base::Result<model::PciAddress> address = model::PciAddress::Parse(*pci);
  if (!address.ok()) return std::nullopt;
  return Remembered{*address, model::GpuUuid(*uuid), TextOf(entry, "name").value_or(""),
                    NumberOf<model::GpuIndex>(entry, "index"),
                    NumberOf<model::DeviceMinor>(entry, "minor")};
}

}  // namespace

base::Result<std::vector<Remembered>> ReadRememberedGpus(const std::string& state_directory) {
  TRY(read, base::ReadState(FileIn(state_directory)));
  std::vector<Remembered> gpus;
  if (!read.payload) return gpus;
  TRY(boot, ReadBootId());
  TRY(document, base::ParseJson(*read.payload), "{}", FileIn(state_directory).path);
  const Value* entries = document.Find("gpus");
  if (TextOf(document, "boot") != boot || entries == nullptr ||
      entries->kind() != Value::Kind::kList) {
    return gpus;
  }
  for (const Value& entry : entries->items()) {
    if (std::optional<Remembered> gpu = ReadGpu(entry)) gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

base::Result<void> WriteRememberedGpus(const std::string& state_directory,
                                       const std::vector<Remembered>& gpus) {
  TRY(boot, ReadBootId());
  Value list = Value::List();
  for (const Remembered& gpu : gpus) {
    Value entry = Value::Map();
    entry.Set("pci", gpu.pci.ToString()).Set("uuid", gpu.uuid.value()).Set("name", gpu.name);
    if (gpu.index) entry.Set("index", gpu.index->value());
    if (gpu.minor) entry.Set("minor", gpu.minor->value());
    list.Add(std::move(entry));
  }
  Value document = Value::Map();
  document.Set("boot", std::move(boot)).Set("gpus", std::move(list));
  const base::StateFile file = FileIn(state_directory);
  const std::string payload = base::ToJson(document);
  // A start that finds the same GPUs waits for no disk.
  const base::Result<base::StateRead> before = base::ReadState(file);
  if (before.ok() && before->payload == payload) return {};
  return base::WriteState(file, payload);
}

}  // namespace partita::agent
