// /etc/nvidia-container-runtime/config.toml, with the reference's keys and defaults: what the
// runtime and the prestart hook read.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace partita::config {

// A member a key; its value here is the default. What a feature does where it is absent is the
// business of whoever asks.
struct ToolkitConfig {
  bool disable_require = false;
  std::string swarm_resource{};
  bool accept_envvar_unprivileged = true;
  bool accept_volume_mounts = false;
  std::string supported_capabilities = "compat32,compute,display,graphics,ngx,utility,video";

  std::string cli_root{};  // the driver's
  std::string cli_path{}, cli_debug{}, cli_ldcache{};
  std::vector<std::string> cli_environment{};
  bool cli_load_kmods = true;
  bool cli_no_cgroups = false;
  bool cli_no_pivot = false;
  std::string cli_user{};
  std::string cli_ldconfig = "@/sbin/ldconfig";  // '@': the host's

  std::string runtime_debug = "/dev/null";
  std::string runtime_log_level = "info";
  std::string runtime_mode = "auto";
  std::vector<std::string> runtimes = {"runc", "crun"};
  std::string csv_mount_spec_path = "/etc/nvidia-container-runtime/host-files-for-container.d";
  std::string csv_compat_container_root{};
  std::vector<std::string> cdi_spec_dirs = {"/etc/cdi", "/var/run/cdi"};
  std::string cdi_default_kind = "nvidia.com/gpu";
  std::vector<std::string> cdi_annotation_prefixes = {"cdi.k8s.io/"};
  std::vector<std::string> jit_feature_flags{}, jit_disable_hooks{};
  std::string legacy_cuda_compat_mode = "ldconfig";

  std::string hook_path = "nvidia-container-runtime-hook";
  bool hook_skip_mode_detection = false;
  std::string ctk_path = "nvidia-ctk";

  std::optional<bool> allow_cuda_compat_libs_from_container{};
  std::optional<bool> allow_ldconfig_from_container{};
  std::optional<bool> allow_unknown_oci_spec_fields{};
  std::optional<bool> disable_cuda_compat_lib_hook{};
  std::optional<bool> disable_imex_channel_creation{};
  std::optional<bool> ignore_imex_channel_requests{};
  std::optional<bool> no_additional_gids_for_device_nodes{};
  // Ours.
  std::optional<bool> check_requirements{};  // NVIDIA_REQUIRE_* also in jit-cdi; absent: no
  std::optional<bool> restrict_proc{};       // absent: yes

  bool operator==(const ToolkitConfig&) const = default;
};

// A key of the file and where its value goes; the kind of the member is the kind of the value.
struct ToolkitKey {
  std::string_view key;  // "nvidia-container-cli.load-kmods"
  std::variant<bool ToolkitConfig::*,
               std::optional<bool> ToolkitConfig::*,
               std::string ToolkitConfig::*,
               std::vector<std::string> ToolkitConfig::*>
      member;
};
// In the order of the reference's default file.
[[nodiscard]] std::span<const ToolkitKey> ToolkitKeys();

// All problems of the file at once, each with its place. A key that is not known is a warning: the
// file may be of a newer toolkit.
[[nodiscard]] base::Result<ToolkitConfig> ReadToolkitConfig(std::string text,
                                                            std::string file,
                                                            std::vector<std::string>* warnings);

// The file at a path; where it is absent and not `required`, the defaults.
[[nodiscard]] base::Result<ToolkitConfig> LoadToolkitConfig(const std::string& path,
                                                            bool required,
                                                            std::vector<std::string>* warnings);

using Environment = std::function<std::optional<std::string>(const char* name)>;
// $NVIDIA_CTK_CONFIG_FILE_PATH, else below $XDG_CONFIG_HOME, else below /etc.
[[nodiscard]] std::string ToolkitConfigPath(const Environment& environment);

}  // namespace partita::config
