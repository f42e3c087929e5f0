// The partition editor's file (`version: v1`, `mig-configs`): named configurations of a node's
// GPUs. Reading it needs no GPU; whether this node's GPUs can do it is checked by service/mig.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"
#include "model/inventory.h"
#include "model/selector.h"

namespace partita::config {

// Matches PCI ids: "0x20B010DE", or with the subsystem "0x233010DE:0x16C010DE".
struct DeviceFilter {
  std::uint32_t device = 0;                // (device << 16) | vendor
  std::optional<std::uint32_t> subsystem;  // likewise; absent matches any
  [[nodiscard]] bool Matches(std::uint32_t pci_device_id, std::uint32_t pci_subsystem_id) const;
  bool operator==(const DeviceFilter&) const = default;
};
[[nodiscard]] base::Result<DeviceFilter> ParseDeviceFilter(std::string_view text);

// One line of `mig-devices`. Which profile it means is found out for each GPU by
// model::ResolveProfile, since the same one has different names on different boards and drivers.
struct MigDeviceCount {
  std::string profile;  // as written; some form of model::ProfileRequest
  std::uint32_t count = 0;
  Node place;  // of the name, for errors
};

// One entry of a configuration: what the selected GPUs shall be.
struct MigSpec {
  std::vector<DeviceFilter> filters;  // any of them; empty: every board
  bool all_devices = false;
  std::vector<model::GpuSelector> devices;
  bool mig_enabled = false;
  std::vector<MigDeviceCount> mig_devices;
  Node place;  // of the entry, for errors

  [[nodiscard]] bool Selects(const model::Gpu& gpu) const;
};

struct MigConfig {
  std::string name;
  std::vector<MigSpec> specs;
};

class MigConfigFile {
 public:
  // All problems of the file at once, each with its place.
  [[nodiscard]] static base::Result<MigConfigFile> Parse(std::string text, std::string file_name);
  [[nodiscard]] static base::Result<MigConfigFile> Load(const std::string& path);

  // The named configuration; the only one when `name` is empty.
  [[nodiscard]] base::Result<const MigConfig*> Select(std::string_view name) const;

  [[nodiscard]] const std::vector<MigConfig>& configs() const { return configs_; }
  [[nodiscard]] const Document& document() const { return document_; }

 private:
  [[nodiscard]] static base::Result<MigConfigFile> Read(Document document);
  explicit MigConfigFile(Document document) : document_(std::move(document)) {}
  Document document_;
  std::vector<MigConfig> configs_;
};

}  // namespace partita::config
