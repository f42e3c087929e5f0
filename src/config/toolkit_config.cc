#include "config/toolkit_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "config/problems.h"
#include "config/toml/toml.h"

namespace partita::config {
namespace {

using Config = ToolkitConfig;

constexpr std::array kKeys = {
    ToolkitKey{"disable-require", &Config::disable_require},
    ToolkitKey{"swarm-resource", &Config::swarm_resource},
    ToolkitKey{"accept-nvidia-visible-devices-envvar-when-unprivileged",
               &Config::accept_envvar_unprivileged},
    ToolkitKey{"accept-nvidia-visible-devices-as-volume-mounts", &Config::accept_volume_mounts},
    ToolkitKey{"supported-driver-capabilities", &Config::supported_capabilities},
    ToolkitKey{"nvidia-container-cli.root", &Config::cli_root},
    ToolkitKey{"nvidia-container-cli.path", &Config::cli_path},
    ToolkitKey{"nvidia-container-cli.environment", &Config::cli_environment},
    ToolkitKey{"nvidia-container-cli.debug", &Config::cli_debug},
    ToolkitKey{"nvidia-container-cli.ldcache", &Config::cli_ldcache},
    ToolkitKey{"nvidia-container-cli.load-kmods", &Config::cli_load_kmods},
    ToolkitKey{"nvidia-container-cli.no-pivot", &Config::cli_no_pivot},
    ToolkitKey{"nvidia-container-cli.no-cgroups", &Config::cli_no_cgroups},
    ToolkitKey{"nvidia-container-cli.user", &Config::cli_user},
    ToolkitKey{"nvidia-container-cli.ldconfig", &Config::cli_ldconfig},
    ToolkitKey{"nvidia-container-runtime.debug", &Config::runtime_debug},
    ToolkitKey{"nvidia-container-runtime.log-level", &Config::runtime_log_level},
    ToolkitKey{"nvidia-container-runtime.mode", &Config::runtime_mode},
    ToolkitKey{"nvidia-container-runtime.runtimes", &Config::runtimes},
    ToolkitKey{"nvidia-container-runtime.modes.cdi.annotation-prefixes",
               &Config::cdi_annotation_prefixes},
    ToolkitKey{"nvidia-container-runtime.modes.cdi.default-kind", &Config::cdi_default_kind},
    ToolkitKey{"nvidia-container-runtime.modes.cdi.spec-dirs", &Config::cdi_spec_dirs},
    ToolkitKey{"nvidia-container-runtime.modes.csv.mount-spec-path", &Config::csv_mount_spec_path},
    ToolkitKey{"nvidia-container-runtime.modes.csv.compat-container-root",
               &Config::csv_compat_container_root},
    ToolkitKey{"nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags",
               &Config::jit_feature_flags},
    ToolkitKey{"nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks",
               &Config::jit_disable_hooks},
    ToolkitKey{"nvidia-container-runtime.modes.legacy.cuda-compat-mode",
               &Config::legacy_cuda_compat_mode},
    ToolkitKey{"nvidia-container-runtime-hook.path", &Config::hook_path},
    ToolkitKey{"nvidia-container-runtime-hook.skip-mode-detection",
               &Config::hook_skip_mode_detection},
    ToolkitKey{"nvidia-ctk.path", &Config::ctk_path},
    ToolkitKey{"features.allow-cuda-compat-libs-from-container",
               &Config::allow_cuda_compat_libs_from_container},
    ToolkitKey{"features.allow-ldconfig-from-container", &Config::allow_ldconfig_from_container},
    ToolkitKey{"features.allow-unknown-oci-spec-fields", &Config::allow_unknown_oci_spec_fields},
    ToolkitKey{"features.check-requirements", &Config::check_requirements},
    ToolkitKey{"features.disable-cuda-compat-lib-hook", &Config::disable_cuda_compat_lib_hook},
    ToolkitKey{"features.disable-imex-channel-creation", &Config::disable_imex_channel_creation},
    ToolkitKey{"features.ignore-imex-channel-requests", &Config::ignore_imex_channel_requests},
    ToolkitKey{"features.no-additional-gids-for-device-nodes",
               &Config::no_additional_gids_for_device_nodes},
    ToolkitKey{"features.restrict-proc", &Config::restrict_proc},
};
constexpr std::string_view kLdconfig = "nvidia-container-cli.ldconfig";
// Directories of the host. A relative one would count from where the engine stands, which is the
// bundle, beside the image.
constexpr std::array<std::string_view, 2> kDirectories = {
    "nvidia-container-cli.root", "nvidia-container-runtime.modes.cdi.spec-dirs"};

void AddExpectedInToml(const Node& node, Problems& problems, std::string_view expected) {
  problems.Add(node, fmt::format("expected {}, not {}", expected, Describe(node)));
}

// TOML tells texts and switches apart by their quotes.
struct KeyReader {
  const Node& node;
  Problems& problems;
  Config& config;

  void operator()(bool Config::*member) const {
    if (const std::optional<bool> value = Switch()) config.*member = *value;
  }
  void operator()(std::optional<bool> Config::*member) const { config.*member = Switch(); }
  void operator()(std::string Config::*member) const {
    if (IsText(node))
      config.*member = node.text;
    else
      AddExpectedInToml(node, problems, "a text in quotes");
  }
  void operator()(std::vector<std::string> Config::*member) const {
    if (!node.IsList()) return AddExpectedInToml(node, problems, "a list of texts");
    (config.*member).clear();
    for (const Node& item : node.items) {
      if (IsText(item))
        (config.*member).push_back(item.text);
      else
        AddExpectedInToml(item, problems, "a text in quotes");
    }
  }

  [[nodiscard]] std::optional<bool> Switch() const {
    if (node.IsScalar() && !node.quoted && (node.text == "true" || node.text == "false"))
      return node.text == "true";
    AddExpectedInToml(node, problems, "true or false");
    return std::nullopt;
  }
  static bool IsText(const Node& node) { return node.IsScalar() && node.quoted; }
};

const ToolkitKey* FindToolkitKey(std::string_view key) {
  const auto found = std::find_if(kKeys.begin(), kKeys.end(),
                                  [&](const ToolkitKey& row) { return row.key == key; });
  return found == kKeys.end() ? nullptr : &*found;
}

bool IsTable(const std::string& key) {
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const ToolkitKey& row) { return row.key.starts_with(key + "."); });
}

class FileReader {
 public:
  FileReader(const Toml& toml, std::vector<std::string>* warnings)
      : toml_(toml), problems_(toml.text(), toml.file_name()), warnings_(warnings) {}

  base::Result<Config> Read() {
    ReadTable(toml_.root(), "");
    CheckLdconfig();
    TRY_VOID(problems_.ToResult());
    return config_;
  }

 private:
  void ReadTable(const Node& table, const std::string& prefix) {
    for (const Node::Entry& entry : table.entries) {
      const std::string key = prefix + entry.key.text;
      // "a.b" in quotes is one key, and none of ours.
      const bool dotted = entry.key.text.find('.') != std::string::npos;
      const ToolkitKey* row = dotted ? nullptr : FindToolkitKey(key);
      if (row != nullptr) {
        std::visit(KeyReader{entry.value, problems_, config_}, row->member);
        if (std::find(kDirectories.begin(), kDirectories.end(), key) != kDirectories.end())
          CheckAbsolute(entry.value);
      } else if (dotted || !IsTable(key)) {
        WarnOfUnknown(entry.key, key);
      } else if (entry.value.IsMap()) {
        ReadTable(entry.value, key + ".");
      } else {
        AddExpectedInToml(entry.value, problems_, "a table");
      }
    }
  }

  void WarnOfUnknown(const Node& node, const std::string& key) {
    std::vector<std::string> known;
    known.reserve(kKeys.size());
    for (const ToolkitKey& row : kKeys) known.emplace_back(row.key);
    const std::string near = base::DidYouMean(key, known);
    warnings_->push_back(fmt::format("{}:{}:{}: unknown key {} is ignored{}", toml_.file_name(),
                                     node.line, node.column, base::Quoted(key),
                                     near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }

  void CheckAbsolute(const Node& node) {
    for (const Node& item : node.items) CheckAbsolute(item);
    if (node.IsScalar() && node.quoted && !node.text.empty() && !node.text.starts_with('/'))
      problems_.Add(node, fmt::format("{} is not an absolute path", base::Quoted(node.text)));
  }

  // A program of the image would run with the host's rights.
  void CheckLdconfig() {
    if (config_.cli_ldconfig.starts_with("@/") || config_.allow_ldconfig_from_container == true)
      return;
    const Node* node = &toml_.root();
    for (const std::string_view part : base::Split(kLdconfig, '.')) node = node->Find(part);
    problems_.Add(*node, fmt::format("{} is no path of the host", base::Quoted(node->text)),
                  "write it from / on, with @ in front");
  }

  const Toml& toml_;
  Problems problems_;
  std::vector<std::string>* warnings_;
  Config config_;
};

}  // namespace

std::span<const ToolkitKey> ToolkitKeys() { return kKeys; }

base::Result<ToolkitConfig> ReadToolkitConfig(std::string text,
                                              std::string file,
                                              std::vector<std::string>* warnings) {
  TRY(toml, Toml::Parse(std::move(text), std::move(file)));
  return FileReader(toml, warnings).Read();
}

base::Result<ToolkitConfig> LoadToolkitConfig(const std::string& path,
                                              bool required,
                                              std::vector<std::string>* warnings) {
  // Whoever wants no file names this one.
  if (path == "/dev/null") return ToolkitConfig{};
  // Anything else might be waited for, also by commands that end containers.
  base::Result<std::string> text = base::ReadRegularFile(path, Document::kMaxBytes);
  if (!text.ok() && text.error().code() == base::ErrorCode::kNotFound && !required)
    return ToolkitConfig{};
  if (!text.ok()) return std::move(text).error();
  return ReadToolkitConfig(*std::move(text), path, warnings);
}

std::string ToolkitConfigPath(const Environment& environment) {
  std::string file = environment("NVIDIA_CTK_CONFIG_FILE_PATH").value_or("");
  if (!file.empty()) return file;
  const std::string home = environment("XDG_CONFIG_HOME").value_or("");
  return base::JoinPath(home.empty() ? "/etc" : home, "nvidia-container-runtime/config.toml");
}

}  // namespace partita::config
