// How the sections of the device plugin's document are read. For plugin_config and agent_config,
// which has such a document within its own.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/plugin_config.h"
#include "config/problems.h"

namespace partita::config {

struct PluginReading {
  const Document& document;
  Problems& errors;
  Problems& warnings;
  bool strict = false;
  bool honour_resources = false;
  bool for_feature_discovery = false;
  bool for_agent = false;  // which labels the node itself
  bool within = false;     // it is a part of the agent's own file, which nobody else reads
  std::map<std::string, std::string> given{};

  [[nodiscard]] Place PlaceOf(const Node& node) const {
    return {document.file_name(), node.line, node.column};
  }
  void Give(const std::string& key, const Node& node);
  // A key that nobody knows: an error when strict, else a warning.
  void Unknown(const Node& key, std::span<const std::string> known);
  void WarnUnknown(const Node& map, std::span<const std::string> known);
};

// Sharing of one kind takes at most so many devices: kubelet takes 4 MiB of them in one message.
inline constexpr std::uint64_t kMaxShares = 50'000;

// The whole document, from its root. Nothing, null, is an empty one.
void ReadPluginDocument(const Node& root, PluginReading& reading, PluginConfig& config);
// Of a document that an agent reads under its own name: what is right, and does nothing there.
void WarnOfNoEffect(const Node& root, PluginReading& reading);
void WarnOfForeignRoots(const Node& root, PluginReading& reading);

// `sharing` and `resources`.
void ReadSharing(const Node& node, PluginReading& reading, PluginConfig& config);
void ReadResources(const Node& key, const Node& node, PluginReading& reading, PluginConfig& config);

// What holds where nobody says anything.
[[nodiscard]] PluginConfig DefaultPluginConfig(PluginDefaults defaults);

}  // namespace partita::config
