#include "cli/device_plugin/device_plugin.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/state_file.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/reference_option.h"
#include "config/plugin_config_options.h"

namespace partita::cli {
namespace {

using config::PluginOption;

// The agent's own file is none of the reference's: everything has its default, but for what is
// said here.
config::AgentConfigSource AgentSettings(const DriverPlaces& places) {
  const config::Origin origin{config::OriginKind::kDefault, std::string(kDevicePluginName)};
  return {.path = "/dev/null",
          .required = true,
          .overrides = {{"health.preset", "reference", origin},
                        {"listen", "", origin},
                        {"node.hostRoot", places.host_root, origin},
                        {"node.driverRoot", places.driver_root, origin},
                        {"node.devRoot", places.dev_root, origin}}};
}

bool IsFolder(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

std::string EnvironmentOr(const char* name, const char* otherwise) {
  const std::optional<std::string> value = base::ReadVariable(name);
  return value && !value->empty() ? *value : otherwise;
}

int Fail(const base::Error& error) {
  std::fputs(base::ErrorText(kDevicePluginName, error).c_str(), stderr);
  return kExitError;
}

int ServePlugin(const config::PluginFlags& flags, const config::Variables& variables) {
  base::Result<DevicePluginOptions> options = ReadDevicePluginOptions(flags, variables);
  if (!options.ok()) return Fail(options.error());
  for (const std::string& warning : options->warnings)
    fmt::print(stderr, "{}: warning: {}\n", kDevicePluginName, base::Printable(warning, "\n"));
  fmt::print(stderr, "Running with config:\n{}",
             base::ToJson(config::PluginConfigDocument(options->agent.device_plugin->config)));
  return agent::RunAgent(std::move(options->agent)).ok() ? kExitDone : kExitError;
}

}  // namespace

base::Program MakeDevicePluginProgram() {
  base::Program program;
  // The version of the reference whose flags and configuration these are.
  program.version = fmt::format("version 0.20.0 (partita {})", Version());
  program.root = {.name = std::string(kDevicePluginName),
                  .summary =
                      "Offer NVIDIA GPUs to kubelet; partita under the name of NVIDIA's "
                      "device plugin",
                  .description =
                      "A flag wins over a variable, that over the file, the file over "
                      "the default, for each option alone. SIGHUP reads the file again; "
                      "one that is bad changes nothing."};
  for (const PluginOption& option : config::PluginOptions())
    if (!option.flags.empty()) program.root.options.push_back(ReferenceOption(option));
  program.exit_statuses = {{kExitDone, "stopped"}, {kExitError, "an error"}};
  program.environment = {
      {"DP_DISABLE_HEALTHCHECKS", "XIDs that take no device out; all: every one"},
      {"DP_ENABLE_HEALTHCHECKS", "XIDs that do, also where the other variable names them"}};
  return program;
}

base::Result<DevicePluginOptions> ReadDevicePluginOptions(const config::PluginFlags& flags,
                                                          const config::Variables& variables) {
  std::string text;
  if (!flags.config_file.empty()) {
    base::Result<std::string> content =
        base::ReadRegularFile(flags.config_file, config::Document::kMaxBytes);
    if (!content.ok())
      return base::Error(content.error())
          .Within("--config-file (CONFIG_FILE)")
          .WithHint("name a file that is there, or leave it out");
    text = *std::move(content);
  }
  TRY(parsed,
      config::ParsePluginConfig(std::move(text), flags.config_file,
                                config::PluginDefaults::kReference, false, false, flags.overrides));
  config::XidOverridesRead xids = config::ParseXidOverrides(variables("DP_DISABLE_HEALTHCHECKS"),
                                                            variables("DP_ENABLE_HEALTHCHECKS"));
  TRY(places, PlacesOf(parsed.config, IsFolder));
  service::cdi::Features features;
  for (const std::string& flag : flags.cdi_feature_flags)
    TRY_VOID(AddFeatureFlag(flag, features), "--cdi-feature-flags");
  for (const std::string& name : flags.cdi_disable_hooks)
    TRY_VOID(DisableHook(name, features), "--cdi-disable-hooks");
  DevicePluginOptions options{
      .agent = {.config = AgentSettings(places),
                .run_directory = base::RunDirectory(),
                .state_directory = base::StateDirectory(),
                .cdi_directory = EnvironmentOr("PARTITA_CDI_DIR", "/var/run/cdi"),
                .device_plugin_directory = EnvironmentOr("PARTITA_DEVICE_PLUGIN_DIR", ""),
                .version = std::string(Version()),
                .xids = std::move(xids.overrides),
                .device_plugin = agent::PluginStart{.config = std::move(parsed.config),
                                                    .kubelet_socket = flags.kubelet_socket,
                                                    .config_file = flags.config_file,
                                                    .overrides = flags.overrides,
                                                    .cdi_features = std::move(features)}},
      .warnings = std::move(parsed.warnings)};
  for (std::string& warning : xids.warnings) options.warnings.push_back(std::move(warning));
  for (const std::string& word : flags.ignored)
    options.warnings.push_back(fmt::format("ignored: {}", base::Quoted(word)));
  return options;
}

base::Result<DriverPlaces> PlacesOf(
    const config::PluginConfig& config,
    const std::function<bool(const std::string& path)>& is_directory) {
  DriverPlaces places{"/", config.driver_root, config.dev_root};
  // The host's root, mounted where the reference expects the driver's.
  if (config.driver_root == "/" && is_directory(config.container_driver_root))
    places.host_root = places.driver_root = config.container_driver_root;
  else if (config.driver_root != "/" && !is_directory(config.driver_root))
    return base::MakeError(base::ErrorCode::kNotFound,
                           "the driver's root {} is not mounted in this container",
                           base::Quoted(config.driver_root))
        .WithHint("mount it at the path that it has on the host, so that CDI files can name it");
  return places;
}

int DevicePluginMain(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const config::Variables variables = [](const std::string& name) {
    return base::ReadVariable(name.c_str());
  };
  const base::Program program = MakeDevicePluginProgram();
  const base::Result<config::PluginFlags> flags = config::ReadPluginFlags(words, variables);
  if (!flags.ok()) {
    fmt::print("Incorrect Usage: {}\n\n{}", flags.error().message(), base::HelpText(program, {}));
    return Fail(flags.error());
  }
  if (flags->help) {
    fmt::print("{}", base::HelpText(program, {}));
    return kExitDone;
  }
  if (flags->version) {
    fmt::print("{} {}\n", kDevicePluginName, program.version);
    return kExitDone;
  }
  return ServePlugin(*flags, variables);
}

}  // namespace partita::cli
