// The table alone: what each option is called, takes and means.
#include <algorithm>

#include "config/duration.h"
#include "config/plugin_config_options.h"

namespace partita::config {
namespace {

using Type = PluginOption::Type;
using Words = std::vector<std::string>;

bool IsTrue(const std::string& word) { return word[0] == '1' || word[0] == 't' || word[0] == 'T'; }

PluginOption Switch(PluginOption option, bool PluginConfig::*member) {
  option.type = Type::kFlag;
  option.set = [member](PluginConfig& config, const Words& words) {
    config.*member = IsTrue(words.front());
  };
  option.get = [member](const PluginConfig& config) { return base::Value(config.*member); };
  return option;
}

PluginOption Text(PluginOption option, std::string PluginConfig::*member) {
  option.set = [member](PluginConfig& config, const Words& words) {
    config.*member = words.front();
  };
  option.get = [member](const PluginConfig& config) { return base::Value(config.*member); };
  return option;
}

// The enumeration's values are in the order of the choices.
template <typename Enum>
PluginOption Choice(PluginOption option, Enum PluginConfig::*member) {
  option.type = Type::kChoice;
  option.set = [member, choices = option.choices](PluginConfig& config, const Words& words) {
    const auto found = std::find(choices.begin(), choices.end(), words.front());
    config.*member = static_cast<Enum>(found - choices.begin());
  };
  option.get = [member](const PluginConfig& config) {
    return base::Value(ToString(config.*member));
  };
  return option;
}

// Options of feature discovery. Their flags are in discovery_flags.cc: the device plugin knows them
// in the file alone.
PluginOption ForFeatureDiscovery(std::string key,
                                 Type type,
                                 const std::string& reference_default,
                                 std::function<void(DiscoverySettings&, const std::string&)> set) {
  PluginOption option = {.key = std::move(key),
                         .flags = {},
                         .variables = {},
                         .type = type,
                         .reference_default = reference_default,
                         .product_default = reference_default,
                         .for_feature_discovery = true};
  option.set = [set = std::move(set)](PluginConfig& config, const Words& words) {
    set(config.feature_discovery, words.front());
  };
  return option;
}

const std::vector<PluginOption::Refused>& OtherDiscoveries() {
  static const std::vector<PluginOption::Refused> refused = {
      {"tegra", "is not served", "GPUs are found through NVML only: write auto or nvml"},
      {"vfio", "is not served", "GPUs are found through NVML only: write auto or nvml"}};
  return refused;
}

std::vector<PluginOption> NodeOptions() {
  return {
      Choice({.key = "flags.migStrategy",
              .flags = {"mig-strategy"},
              .variables = {"MIG_STRATEGY"},
              .reference_default = "none",
              .product_default = "none",
              .choices = {"none", "single", "mixed"},
              .help = "how MIG devices are offered: not, as nvidia.com/gpu, or by profile"},
             &PluginConfig::mig_strategy),
      Switch({.key = "flags.failOnInitError",
              .flags = {"fail-on-init-error"},
              .variables = {"FAIL_ON_INIT_ERROR"},
              .reference_default = "true",
              .product_default = "false",
              .help = "end with an error where the driver cannot be reached"},
             &PluginConfig::fail_on_init_error),
      Text({.key = "flags.mpsRoot",
            .flags = {"mps-root"},
            .variables = {"MPS_ROOT"},
            .type = Type::kPath,
            .help = "on the host: where MPS keeps its files; nothing uses it without MPS"},
           &PluginConfig::mps_root),
      Text({.key = "flags.nvidiaDriverRoot",
            .flags = {"driver-root", "nvidia-driver-root"},
            .variables = {"NVIDIA_DRIVER_ROOT"},
            .type = Type::kPath,
            .reference_default = "/",
            .product_default = "/",
            .help = "on the host: where the driver is installed"},
           &PluginConfig::driver_root),
      Text({.key = "flags.nvidiaDevRoot",
            .flags = {"dev-root", "nvidia-dev-root"},
            .variables = {"NVIDIA_DEV_ROOT"},
            .type = Type::kPath,
            .help = "on the host: above /dev; empty: the driver's root"},
           &PluginConfig::dev_root),
      Switch({.key = "flags.gdrcopyEnabled",
              .flags = {"gdrcopy-enabled"},
              .variables = {"GDRCOPY_ENABLED"},
              .reference_default = "false",
              .product_default = "false",
              .help = "give GDRCopy to containers"},
             &PluginConfig::gdrcopy),
      Switch({.key = "flags.gdsEnabled",
              .flags = {"gds-enabled"},
              .variables = {"GDS_ENABLED"},
              .reference_default = "false",
              .product_default = "false",
              .help = "give GPUDirect Storage to containers"},
             &PluginConfig::gds),
      Switch({.key = "flags.mofedEnabled",
              .flags = {"mofed-enabled"},
              .variables = {"MOFED_ENABLED"},
              .reference_default = "false",
              .product_default = "false",
              .help = "give Mellanox devices to containers"},
             &PluginConfig::mofed),
      ForFeatureDiscovery("flags.useNodeFeatureAPI", Type::kFlag, "",
                          [](DiscoverySettings& settings, const std::string& word) {
                            if (!word.empty()) settings.use_node_feature_api = IsTrue(word);
                          }),
      Text({.key = "flags.deviceDiscoveryStrategy",
            .flags = {"device-discovery-strategy"},
            .variables = {"DEVICE_DISCOVERY_STRATEGY"},
            .type = Type::kChoice,
            .reference_default = "auto",
            .product_default = "auto",
            .choices = {"auto", "nvml"},
            .help = "how GPUs are found",
            .refused = OtherDiscoveries()},
           &PluginConfig::discovery),
  };
}

PluginOption ListStrategyOption() {
  PluginOption option = {
      .key = "flags.plugin.deviceListStrategy",
      .flags = {"device-list-strategy"},
      .variables = {"DEVICE_LIST_STRATEGY"},
      .type = Type::kChoices,
      .reference_default = "envvar",
      .product_default = "cdi-cri",
      .choices = {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"},
      .help = "how a container's devices are told to its runtime; several with commas between"};
  option.set = [choices = option.choices](PluginConfig& config, const Words& words) {
    config.list_strategies.clear();
    for (const std::string& word : words) {
      const auto found = std::find(choices.begin(), choices.end(), word);
      const auto strategy = static_cast<ListStrategy>(found - choices.begin());
      const auto end = config.list_strategies.end();
      if (std::find(config.list_strategies.begin(), end, strategy) == end)
        config.list_strategies.push_back(strategy);
    }
  };
  option.get = [](const PluginConfig& config) {
    base::Value list = base::Value::List();
    for (const ListStrategy strategy : config.list_strategies) list.Add(ToString(strategy));
    return list;
  };
  return option;
}

std::vector<PluginOption> ContainerOptions() {
  return {
      Switch({.key = "flags.plugin.passDeviceSpecs",
              .flags = {"pass-device-specs"},
              .variables = {"PASS_DEVICE_SPECS"},
              .reference_default = "false",
              .product_default = "false",
              .help = "also name the device nodes to kubelet"},
             &PluginConfig::pass_device_specs),
      ListStrategyOption(),
      Choice({.key = "flags.plugin.deviceIDStrategy",
              .flags = {"device-id-strategy"},
              .variables = {"DEVICE_ID_STRATEGY"},
              .reference_default = "uuid",
              .product_default = "uuid",
              .choices = {"uuid", "index"},
              .help = "how devices are named to the runtime"},
             &PluginConfig::id_strategy),
      Text({.key = "flags.plugin.cdiAnnotationPrefix",
            .flags = {"cdi-annotation-prefix"},
            .variables = {"CDI_ANNOTATION_PREFIX"},
            .type = Type::kPrefix,
            .reference_default = "cdi.k8s.io/",
            .product_default = "cdi.k8s.io/",
            .help = "of the annotation that names CDI devices"},
           &PluginConfig::cdi_annotation_prefix),
      Text({.key = "flags.plugin.nvidiaCTKPath",
            .flags = {"nvidia-cdi-hook-path", "nvidia-ctk-path"},
            .variables = {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
            .type = Type::kPath,
            .reference_default = "/usr/bin/nvidia-ctk",
            .help = "on the host: the hook that CDI files name"},
           &PluginConfig::cdi_hook_path),
      Text({.key = "flags.plugin.containerDriverRoot",
            .flags = {"driver-root-ctr-path", "container-driver-root"},
            .variables = {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
            .type = Type::kPath,
            .reference_default = "/driver-root",
            .product_default = "/driver-root",
            .help = "where this program sees the driver's root"},
           &PluginConfig::container_driver_root),
      Choice({.key = "flags.plugin.sharedDevicesAllocationPolicy",
              .flags = {"shared-devices-allocation-policy"},
              .variables = {"SHARED_DEVICES_ALLOCATION_POLICY"},
              .reference_default = "distributed",
              .product_default = "distributed",
              .choices = {"distributed", "packed", "spread"},
              .help = "on which devices the shares of a container lie"},
             &PluginConfig::share_policy),
  };
}

std::vector<PluginOption> DiscoveryOptionsOfTheDocument() {
  using Settings = DiscoverySettings;
  return {
      ForFeatureDiscovery(
          "flags.gfd.oneshot", Type::kFlag, "false",
          [](Settings& settings, const std::string& word) { settings.oneshot = IsTrue(word); }),
      ForFeatureDiscovery("flags.gfd.noTimestamp", Type::kFlag, "false",
                          [](Settings& settings, const std::string& word) {
                            settings.no_timestamp = IsTrue(word);
                          }),
      ForFeatureDiscovery("flags.gfd.sleepInterval", Type::kDuration, "60s",
                          [](Settings& settings, const std::string& word) {
                            settings.sleep_interval = ParseDuration(word);  // none of "infinite"
                          }),
      ForFeatureDiscovery(
          "flags.gfd.outputFile", Type::kText,
          "/etc/kubernetes/node-feature-discovery/features.d/gfd",
          [](Settings& settings, const std::string& word) { settings.output_file = word; }),
      ForFeatureDiscovery(
          "flags.gfd.machineTypeFile", Type::kText, "/sys/class/dmi/id/product_name",
          [](Settings& settings, const std::string& word) { settings.machine_type_file = word; }),
  };
}

PluginOption ImexChannelsOption() {
  PluginOption option = {.key = "imex.channelIDs",
                         .flags = {"imex-channel-ids"},
                         .variables = {"IMEX_CHANNEL_IDS"},
                         .type = Type::kNumbers,
                         .choices = {"0"},
                         .help = "IMEX channels that every container gets: none or 0"};
  option.set = [](PluginConfig& config, const Words& words) {
    config.imex_channels.clear();
    if (!words.empty()) config.imex_channels.push_back(0);
  };
  option.get = [](const PluginConfig& config) {
    base::Value list = base::Value::List();
    for (const std::uint32_t channel : config.imex_channels) list.Add(channel);
    return list;
  };
  return option;
}

// Those that no document has.
std::vector<PluginOption> ProgramOptions() {
  return {
      {.key = "",
       .flags = {"config-file"},
       .variables = {"CONFIG_FILE"},
       .type = Type::kText,
       .help = "the configuration, version v1; flags and variables win over it"},
      {.key = "",
       .flags = {"kubelet-socket"},
       .variables = {"KUBELET_SOCKET"},
       .type = Type::kPath,
       .reference_default = "/var/lib/kubelet/device-plugins/kubelet.sock",
       .product_default = "/var/lib/kubelet/device-plugins/kubelet.sock",
       .help = "where kubelet takes registrations; empty: register nowhere"},
      {.key = "",
       .flags = {"cdi-feature-flags"},
       .variables = {"CDI_FEATURE_FLAGS"},
       .type = Type::kTexts,
       .help = "for CDI files, as nvidia-ctk cdi generate --feature-flag takes them"},
      {.key = "",
       .flags = {"cdi-disable-hooks"},
       .variables = {"CDI_DISABLE_HOOKS"},
       .type = Type::kTexts,
       .help = "hooks that CDI files leave out; all: every one"},
  };
}

}  // namespace

std::span<const PluginOption> PluginOptions() {
  static const std::vector<PluginOption> options = [] {
    std::vector<PluginOption> all = NodeOptions();
    const auto append = [&](std::vector<PluginOption> more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    append(ContainerOptions());
    append(DiscoveryOptionsOfTheDocument());
    append({ImexChannelsOption(), Switch({.key = "imex.required",
                                          .flags = {"imex-required"},
                                          .variables = {"IMEX_REQUIRED"},
                                          .reference_default = "false",
                                          .product_default = "false",
                                          .help = "fail where an IMEX channel is absent"},
                                         &PluginConfig::imex_required)});
    append(ProgramOptions());
    return all;
  }();
  return options;
}

}  // namespace partita::config
