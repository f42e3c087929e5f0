#include "config/discovery_flags.h"

#include <algorithm>
#include <utility>

namespace partita::config {
namespace {

using Type = PluginOption::Type;

struct Row {
  std::string key;
  std::vector<std::string> flags, variables;
  std::string help, reference_default = {};
};

// Options of the document, with what feature discovery calls them.
std::vector<Row> DocumentRows() {
  return {
      {"flags.migStrategy",
       {"mig-strategy"},
       {"GFD_MIG_STRATEGY", "MIG_STRATEGY"},
       "how MIG devices are described: not, as nvidia.com/gpu, or by profile"},
      {"flags.failOnInitError",
       {"fail-on-init-error"},
       {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"},
       "end with an error where the driver cannot be reached"},
      {"flags.gfd.oneshot", {"oneshot"}, {"GFD_ONESHOT"}, "label once and end"},
      {"flags.gfd.noTimestamp",
       {"no-timestamp"},
       {"GFD_NO_TIMESTAMP"},
       "no label that says when this began"},
      {"flags.gfd.sleepInterval",
       {"sleep-interval"},
       {"GFD_SLEEP_INTERVAL"},
       "between two looks: 60s, 1m30s; infinite: look once and wait for signals"},
      {"flags.gfd.outputFile",
       {"output-file", "output", "o"},
       {"GFD_OUTPUT_FILE"},
       "where labels are written, for NFD; empty: standard output"},
      {"flags.gfd.machineTypeFile",
       {"machine-type-file"},
       {"GFD_MACHINE_TYPE_FILE"},
       "a file with the name of the machine; empty: unknown"},
      {"flags.useNodeFeatureAPI",
       {"use-node-feature-api"},
       {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"},
       "publish labels as NFD's NodeFeature object; false: in the file"},
      {"flags.deviceDiscoveryStrategy",
       {"device-discovery-strategy"},
       {"DEVICE_DISCOVERY_STRATEGY"},
       "how GPUs are found"},
      {"flags.plugin.containerDriverRoot",
       {"driver-root-ctr-path", "container-driver-root"},
       {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
       "where this program sees the driver's root"},
  };
}

// Those that no document has.
std::vector<Row> OwnRows() {
  return {
      {"",
       {"config-file"},
       {"GFD_CONFIG_FILE", "CONFIG_FILE"},
       "the configuration, version v1; flags and variables win over it"},
      {"", {"kubeconfig"}, {"KUBECONFIG"}, "how the API server is reached; empty: as a pod does"},
      {"", {"kube-api-qps"}, {"KUBE_API_QPS"}, "taken and not needed: writes are few", "5"},
      {"", {"kube-api-burst"}, {"KUBE_API_BURST"}, "taken and not needed: writes are few", "10"},
      {"", {"namespace"}, {"NAMESPACE"}, "of the NodeFeature object", "default"},
      {"", {"node-name"}, {"NODE_NAME"}, "the node that is labelled"},
      {"", {"pod-name"}, {"POD_NAME"}, "this pod, whose DaemonSet owns the NodeFeature object"},
  };
}

PluginOption OptionFor(const Row& row) {
  const PluginOption* known = FindPluginOption(row.key);
  PluginOption option = known != nullptr ? *known : PluginOption{};
  option.key = row.key;
  option.flags = row.flags;
  option.variables = row.variables;
  option.help = row.help;
  if (known == nullptr) option.reference_default = row.reference_default;
  return option;
}

}  // namespace

std::span<const PluginOption> DiscoveryOptions() {
  static const std::vector<PluginOption> options = [] {
    std::vector<PluginOption> all;
    for (const std::vector<Row>& rows : {DocumentRows(), OwnRows()})
      for (const Row& row : rows) all.push_back(OptionFor(row));
    return all;
  }();
  return options;
}

base::Result<DiscoveryFlags> ReadDiscoveryFlags(std::span<const std::string> words,
                                                const Variables& variables) {
  TRY(read, ReadFlagWords(DiscoveryOptions(), words, variables));
  DiscoveryFlags flags{.help = read.help,
                       .version = read.version,
                       .config_file = read.own.at("config-file"),
                       .kubeconfig = read.own.at("kubeconfig"),
                       .name_space = read.own.at("namespace"),
                       .node_name = read.own.at("node-name"),
                       .pod_name = read.own.at("pod-name"),
                       .ignored = std::move(read.ignored)};
  for (PluginOverride& each : read.overrides) {
    if (each.key == "flags.migStrategy") {
      flags.bad_mig_strategy = WrongWord(*FindPluginOption(each.key), each.value);
      if (flags.bad_mig_strategy) {
        flags.bad_mig_strategy = (*std::move(flags.bad_mig_strategy)).Within(each.where);
        continue;
      }
    }
    flags.overrides.push_back(std::move(each));
  }
  return flags;
}

}  // namespace partita::config
