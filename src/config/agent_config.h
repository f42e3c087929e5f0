// The agent's own file, /etc/partita/config.yaml (`version: partita/v1`), with what exists so far:
// what comes with a later version is refused by name, and nothing is read and ignored. Reading it
// needs neither GPU nor cluster.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace partita::config {

inline constexpr std::string_view kAgentConfigFile = "/etc/partita/config.yaml";

// Who said so; later ones win.
enum class OriginKind : std::uint8_t { kDefault, kFile, kEnvironment, kFlag };
struct Origin {
  OriginKind kind = OriginKind::kDefault;
  std::string where;  // "/etc/partita/config.yaml:3:9", "PARTITA_LISTEN", "--listen"
  bool operator==(const Origin&) const = default;
};
// "default", "file", "environment", "flag".
[[nodiscard]] std::string_view ToString(OriginKind kind);

// A value that was checked, as it is written, with where it comes from.
struct Setting {
  std::string value;
  Origin origin;
  bool operator==(const Setting&) const = default;
};

struct AgentConfig {
  Setting node_name;    // in Kubernetes; empty: the machine's
  Setting host_root;    // above the host's /proc, /sys and /dev
  Setting driver_root;  // above the driver's files
  Setting dev_root;     // above /dev; empty: the driver's root
  // "true": an agent that cannot close its session with the driver replaces itself; "false"
  Setting replace_when_stuck;

  Setting mig_config_file;      // the partition editor's
  Setting mig_default;          // the configuration of it that is in force; empty: none
  Setting mig_restore_at_boot;  // "applied": what was applied last comes back; "off"
  Setting mig_hooks_file;       // empty: none
  Setting mig_gpu_clients_file;

  Setting cdi_version_max;  // nothing newer in CDI files; empty: 0.7.0
  Setting cdi_management;   // "true": also a file of management.nvidia.com/gpu; "false"

  Setting listen;      // base::ParseListenAddress takes it
  Setting log_format;  // "text", "json"
  Setting log_level;   // "debug", "info", "warn", "error"

  bool operator==(const AgentConfig&) const = default;
};

// One line of the table from which reading, showing and the schema's test all come.
struct SettingRow {
  enum class Kind : std::uint8_t { kText, kPath, kAbsentOrPath, kListen, kChoice, kFlag };
  std::string key;  // "log.level"
  Setting AgentConfig::*member;
  std::string fallback;
  Kind kind = Kind::kText;
  std::vector<std::string> choices{};
};
[[nodiscard]] std::span<const SettingRow> SettingRows();

// What a flag or a variable says of a key of the table.
struct Override {
  std::string key;
  std::string value;
  Origin origin;
};

// Where an agent's configuration comes from.
struct AgentConfigSource {
  std::string path{kAgentConfigFile};
  bool required = false;  // somebody named the file: it must be there. Else absent means defaults.
  std::vector<Override> overrides{};
};

// Nothing but defaults and overrides: what runs where no file is readable.
[[nodiscard]] base::Result<AgentConfig> DefaultAgentConfig(std::span<const Override> overrides);

// All problems of the file at once, up to twenty, each with its place. An override that is wrong is
// an error too.
[[nodiscard]] base::Result<AgentConfig> ParseAgentConfig(std::string text,
                                                         std::string file_name,
                                                         std::span<const Override> overrides);

// The text of the file: "" (which means defaults) where it is absent and not required.
[[nodiscard]] base::Result<std::string> ReadAgentConfigText(const AgentConfigSource& source);
[[nodiscard]] base::Result<AgentConfig> LoadAgentConfig(const AgentConfigSource& source);

// The second step, which reads the files that the configuration names: does mig.default exist in
// mig.configFile, can the hooks be read? Errors begin with the place of the setting.
[[nodiscard]] base::Result<void> CheckNamedFiles(const AgentConfig& config);

// As a file that says the same.
[[nodiscard]] base::Value AgentConfigDocument(const AgentConfig& config);
// Every setting with its origin (partita.dev/config/v1).
[[nodiscard]] base::Value AgentConfigOrigins(const AgentConfig& config);

}  // namespace partita::config
