// The reference device plugin's configuration (`version: v1`): how a node's GPUs are named, shared
// and handed to containers. Every key works or is refused with a reason. Reading it needs no GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace partita::config {

enum class MigStrategy : std::uint8_t { kNone, kSingle, kMixed };
enum class ListStrategy : std::uint8_t { kEnvvar, kVolumeMounts, kCdiAnnotations, kCdiCri };
enum class IdStrategy : std::uint8_t { kUuid, kIndex };
enum class SharePolicy : std::uint8_t { kDistributed, kPacked, kSpread };  // kSpread is ours
// As in the file: "none", "volume-mounts", "uuid", "packed".
[[nodiscard]] std::string_view ToString(MigStrategy strategy);
[[nodiscard]] std::string_view ToString(ListStrategy strategy);
[[nodiscard]] std::string_view ToString(IdStrategy strategy);
[[nodiscard]] std::string_view ToString(SharePolicy policy);

// Of a value. Empty file: a flag, a variable or a default.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Place&) const = default;
};

// `devices` of a shared resource.
struct SharedDevices {
  enum class Kind : std::uint8_t { kAll, kCount, kList };
  Kind kind = Kind::kAll;
  std::uint32_t count = 0;        // kCount: the lowest ones
  std::vector<std::string> list;  // kList, as written: "0", "0:1", "GPU-…", "MIG-…"
  bool operator==(const SharedDevices&) const = default;
};

// Shares of one size, each with limits of its own. Ours: the reference has equal shares only.
struct ShareSize {
  std::string name;                  // "small": its shares are "nvidia.com/gpu.small"
  std::uint32_t replicas = 0;        // of each device
  std::uint64_t memory = 0;          // bytes; 0: a percentage…
  std::uint32_t memory_percent = 0;  // …of its device's
  std::uint32_t threads = 0;         // percent of its multiprocessors
  bool operator==(const ShareSize&) const = default;
};
// "8Gi", "20%".
[[nodiscard]] std::string MemoryText(const ShareSize& size);

struct SharedResource {
  std::string name;  // whole: "nvidia.com/gpu"
  // Whole too. What the shares are called: absent means `name`. `renameByDefault` is in it. Of
  // sizes it is what stands before theirs.
  std::optional<std::string> rename;
  std::uint32_t replicas = 0;     // from 2; of all sizes together, where there are some, from 1
  std::vector<ShareSize> shares;  // by MPS only; none: equal ones
  SharedDevices devices;
  Place place;  // of the entry; no part of what it says
  // What its shares are called, or what stands before their sizes.
  [[nodiscard]] const std::string& SharesName() const { return rename ? *rename : name; }
  // "nvidia.com/gpu.small".
  [[nodiscard]] std::string NameOf(const ShareSize& size) const {
    return SharesName() + "." + size.name;
  }
  bool operator==(const SharedResource& other) const;
};

struct SharingSection {
  bool rename_by_default = false;
  bool fail_requests_greater_than_one = false;
  std::vector<SharedResource> resources;
  Place place;  // of the section's key; no part of what it says
  bool operator==(const SharingSection& other) const;
};

// A literal with `*` for any characters, anchored at both ends: of a product's name, or of a MIG
// profile's.
struct ResourcePattern {
  std::string pattern;
  std::string name;  // whole: "nvidia.com/gpu-h200"
  [[nodiscard]] bool Matches(std::string_view text) const;
  bool operator==(const ResourcePattern&) const = default;
};

// What gpu-feature-discovery alone goes by; the device plugin passes over it. An agent takes
// `use_node_feature_api`: where labels go.
struct DiscoverySettings {
  std::optional<bool> use_node_feature_api = std::nullopt;  // absent: nobody said
  bool oneshot = false, no_timestamp = false;
  // Absent: once, and then for signals.
  std::optional<std::chrono::nanoseconds> sleep_interval = std::chrono::seconds(60);
  // Empty: standard output.
  std::string output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";
  std::string machine_type_file = "/sys/class/dmi/id/product_name";  // empty: it has no name
  bool operator==(const DiscoverySettings&) const = default;
};

struct PluginConfig {
  MigStrategy mig_strategy = MigStrategy::kNone;
  bool fail_on_init_error = true;
  std::string driver_root = "/";  // on the host
  std::string dev_root;           // on the host; empty: driver_root
  std::string container_driver_root = "/driver-root";
  std::string cdi_hook_path;  // on the host; empty: the agent's own
  std::string mps_root;       // means nothing without MPS
  bool gdrcopy = false, gds = false, mofed = false;
  std::string discovery = "auto";  // or "nvml"
  bool pass_device_specs = false;
  std::vector<ListStrategy> list_strategies;  // never empty once read
  IdStrategy id_strategy = IdStrategy::kUuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  SharePolicy share_policy = SharePolicy::kDistributed;
  std::vector<ResourcePattern> gpu_names, mig_names;  // `resources`, where honoured
  // A device that both would share is shared by MPS.
  std::optional<SharingSection> time_slicing, mps;
  // By how much more than its equal part an MPS share may take; ours, not in the document.
  double mps_memory_factor = 1.0, mps_thread_factor = 1.0;
  std::vector<std::uint32_t> imex_channels;
  bool imex_required = false;
  DiscoverySettings feature_discovery;
  bool offer_mig_parents = false;  // ours; not in the document
  bool list_unasked = false;       // nobody chose list_strategies, they are ours; the same
  // What pods are given is named by files of CDI, perhaps beside other ways.
  [[nodiscard]] bool UsesCdi() const;
  bool operator==(const PluginConfig&) const = default;
};

// Who reads: the reference's device plugin, our own, or the reference's feature discovery. The
// defaults are those of each, and what is for another is warned of, but for the last, which shares
// the file.
enum class PluginDefaults : std::uint8_t { kReference, kProduct, kFeatureDiscovery };

// What a flag or a variable says of a key of the document.
struct PluginOverride {
  std::string key;    // "flags.migStrategy"
  std::string value;  // lists with commas between
  std::string where;  // "--mig-strategy", "MIG_STRATEGY"
  bool operator==(const PluginOverride&) const = default;
};

struct PluginConfigResult {
  PluginConfig config;
  std::vector<std::string> warnings{};  // each with file:line:column and the line itself
  // Where each key that somebody set was set: "f.yaml:3:5", "--mig-strategy". Absent: a default.
  std::map<std::string, std::string> given{};
  bool operator==(const PluginConfigResult&) const = default;
};

// All problems of the file at once, up to twenty, each with its place; then those of the overrides.
// An empty text is defaults. YAML or JSON. `strict`: an unknown key is an error, not a warning.
[[nodiscard]] base::Result<PluginConfigResult> ParsePluginConfig(
    std::string text,
    std::string file_name,
    PluginDefaults defaults,
    bool strict,
    bool honour_resources,
    std::span<const PluginOverride> flags_and_variables);

// What is in force, as a document that says the same: the reference prints it at every load.
[[nodiscard]] base::Value PluginConfigDocument(const PluginConfig& config);

}  // namespace partita::config
