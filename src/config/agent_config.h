// The agent's own file, /etc/partita/config.yaml (`version: partita/v1`), with what exists so far:
// what comes with a later version is refused by name, and nothing is read and ignored. Reading it
// needs neither GPU nor cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "config/named/named_configs.h"
#include "config/offer_rule.h"
#include "config/plugin_config.h"
#include "config/xid_rule.h"

namespace partita::config {

inline constexpr std::string_view kAgentConfigFile = "/etc/partita/config.yaml";
// Named configurations of the device plugin; that this folder is absent is nobody's mistake.
inline constexpr std::string_view kPluginConfigDir = "/etc/partita/device-plugin.d";
// What stands before the name of a ConfigMap where a file's path would be.
inline constexpr std::string_view kConfigMapPlace = "configmap/";
inline constexpr std::string_view kAgentConfigVersion = "partita/v1";

// Who said so; later ones win.
enum class OriginKind : std::uint8_t { kDefault, kFile, kConfigMap, kLabel, kEnvironment, kFlag };
struct Origin {
  OriginKind kind = OriginKind::kDefault;
  std::string where;  // "/etc/partita/config.yaml:3:9", "PARTITA_LISTEN", "--listen"
  bool operator==(const Origin&) const = default;
};
// "default", "file", "configmap", "label", "environment", "flag".
[[nodiscard]] std::string_view ToString(OriginKind kind);

// A value that was checked, as it is written, with where it comes from.
struct Setting {
  std::string value;
  Origin origin;
  bool operator==(const Setting&) const = default;
};

struct AgentConfig {
  Setting node_name;     // in Kubernetes; empty: the machine's
  Setting kubeconfig;    // of the API server; empty: $KUBECONFIG, else the pod's own
  Setting host_root;     // above the host's /proc, /sys and /dev
  Setting driver_root;   // above the driver's files
  Setting dev_root;      // above /dev; empty: the driver's root
  Setting kubelet_root;  // of pod-resources/kubelet.sock
  Setting cri_socket;    // where the container engine listens for kubelet; empty: the usual places
  // "true": an agent that cannot close its session with the driver replaces itself; "false"
  Setting replace_when_stuck;

  Setting offer_default;                 // "device-plugin": what no rule matches is offered; "none"
  std::vector<OfferRule> offer_rules{};  // the first that matches counts

  Setting plugin_enabled;            // "true", "false"
  Setting plugin_config_file;        // a v1 document; empty: none
  Setting plugin_config_dir;         // a folder of such documents; empty: none
  Setting plugin_config_map;         // or a ConfigMap of them, "namespace/name"; empty: none
  Setting plugin_select_label;       // of the node: which of them is in force
  Setting plugin_default;            // which, where the label is not set; empty: none
  Setting plugin_fallback;           // which else: config::ParseFallbacks takes it
  Setting plugin_strict;             // "true": its unknown keys are errors; "false"
  Setting plugin_honour_resources;   // "true": its `resources` count; "false"
  Setting plugin_offer_mig_parents;  // "true": a GPU in MIG mode is handed out whole; "false"
  std::optional<PluginConfigResult> plugin_inline{};  // such a document within this one

  Setting mig_config_file;      // the partition editor's
  Setting mig_default;          // the configuration of it that is in force; empty: none
  Setting mig_restore_at_boot;  // "applied": what was applied last comes back; "off"
  Setting mig_hooks_file;       // empty: none
  Setting mig_gpu_clients_file;

  Setting mps_root;           // of the domains' directories, on the host and for containers' mounts
  Setting mps_runner;         // whose daemons are: "systemd", "pod", "child", "auto"; "off": none
  Setting mps_compute_mode;   // "exclusive": shared GPUs are their daemon's alone; "unchanged"
  Setting mps_memory_factor;  // by how much more than its equal part a share may take
  Setting mps_thread_factor;

  Setting cdi_version_max;  // nothing newer in CDI files; empty: 0.7.0
  Setting cdi_management;   // "true": also a file of management.nvidia.com/gpu; "false"
  // Above toolkit/ with partita-hook on the host; empty: it is beside this program.
  Setting toolkit_install_dir;

  Setting health_preset;               // "catalogue", "reference", "gke"
  std::vector<XidRule> health_xids{};  // what counts before the preset, by code
  Setting health_auto_reset;           // "off"

  Setting labels_backend;    // "node", "nodefeature", "file": where labels go; "none"
  Setting labels_file;       // of the backend "file"
  Setting labels_per_model;  // "true": also partita.dev/gpu.<n>.*; "false"
  Setting labels_resync;     // ParseDuration takes it
  Setting taints_enabled;    // "true": the node is tainted while it has GPUs; "false"
  Setting taints_key;
  Setting taints_value;

  Setting listen;      // base::ParseListenAddress takes it
  Setting log_format;  // "text", "json"
  Setting log_level;   // "debug", "info", "warn", "error"

  bool operator==(const AgentConfig&) const = default;
};

// One line of the table from which reading, showing and the schema's test all come.
struct SettingRow {
  enum class Kind : std::uint8_t {
    kText,
    kPath,
    kAbsentOrPath,
    kListen,
    kChoice,
    kFlag,
    kPeriod,
    kTaintKey,
    kTaintValue,
    kFactor,          // a number above 0
    kWords,           // a list of choices; the setting has them with commas between
    kLabelKey,        // of a node's label, with a domain
    kAbsentOrObject,  // "namespace/name"
  };
  std::string key;  // "log.level"
  Setting AgentConfig::*member;
  std::string fallback;
  Kind kind = Kind::kText;
  std::vector<std::string> choices{};
};
[[nodiscard]] std::span<const SettingRow> SettingRows();

// A setting with its key. Lists and maps have one for each of their entries: "offer.rules[0]",
// "health.xids.94", "devicePlugin.config.flags.migStrategy".
struct KeyedSetting {
  std::string key;
  Setting setting;
};
// Everything that a configuration says, in the order of the file.
[[nodiscard]] std::vector<KeyedSetting> AllSettings(const AgentConfig& config);
// The keys whose values differ, also those that only one of them has. Where they are written does
// not count.
[[nodiscard]] std::vector<std::string> ChangedKeys(const AgentConfig& before,
                                                   const AgentConfig& after);

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
// mig.configFile, can the hooks be read, is devicePlugin.configFile a configuration of the device
// plugin? Errors begin with the place of the setting.
[[nodiscard]] base::Result<void> CheckNamedFiles(const AgentConfig& config);

// What the device plugin is to do: of the document within, of the file that is named, or the
// product's defaults.
[[nodiscard]] base::Result<PluginConfigResult> LoadPluginConfig(const AgentConfig& config);
// The same of a document that was read elsewhere; `where` is how it is called in messages.
[[nodiscard]] base::Result<PluginConfigResult> ReadNamedPluginConfig(const AgentConfig& config,
                                                                     std::string text,
                                                                     std::string where);

// What the agent's own keys say of it, beside the document.
void AddOwnSettings(const AgentConfig& config, PluginConfig& plugin);
// Of a kFactor; 0: it is none.
[[nodiscard]] double FactorOf(std::string_view text);

// What such a document says, as settings: "devicePlugin.config.flags.migStrategy".
[[nodiscard]] std::vector<KeyedSetting> NamedSettings(const PluginConfigResult& read);

// Whether the device plugin's configuration is one of several with names: no single one is written
// down.
[[nodiscard]] bool HasNamedConfigs(const AgentConfig& config);
// What chooses between them; the label's value is the caller's to fill in.
[[nodiscard]] Selection SelectionOf(const AgentConfig& config);
// "/etc/partita/device-plugin.d/ts4", "configmap/gpu/plugin-configs/ts4".
[[nodiscard]] std::string NamedConfigPlace(const AgentConfig& config, const std::string& name);
// Every configuration of the folder is read and judged, for `partita config check`; their warnings.
[[nodiscard]] base::Result<std::vector<std::string>> CheckNamedConfigs(const AgentConfig& config);

// As a file that says the same.
[[nodiscard]] base::Value AgentConfigDocument(const AgentConfig& config);
// Every setting with its origin (partita.dev/config/v1).
[[nodiscard]] base::Value SettingsDocument(std::span<const KeyedSetting> settings);

}  // namespace partita::config
