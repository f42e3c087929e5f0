// This program under the name nvidia-device-plugin: the flags, variables, configuration and exit
// statuses of NVIDIA's device plugin for Kubernetes, so that its manifests work unchanged. It is
// `partita agent` with the device plugin alone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "base/command_line.h"
#include "base/result.h"
#include "config/plugin_flags.h"

namespace partita::cli {

inline constexpr std::string_view kDevicePluginName = "nvidia-device-plugin";

// For --help, completion and the man page; the words are read as the reference reads them.
[[nodiscard]] base::Program MakeDevicePluginProgram();

// As this process sees them.
struct DriverPlaces {
  std::string host_root, driver_root, dev_root;
  bool operator==(const DriverPlaces&) const = default;
};
[[nodiscard]] base::Result<DriverPlaces> PlacesOf(
    const config::PluginConfig& config,
    const std::function<bool(const std::string& path)>& is_directory);

struct DevicePluginOptions {
  agent::AgentOptions agent;
  std::vector<std::string> warnings;  // of the file and of variables
};
// What the agent is started with: the file read, flags and variables laid over it, all of it
// judged.
[[nodiscard]] base::Result<DevicePluginOptions> ReadDevicePluginOptions(
    const config::PluginFlags& flags, const config::Variables& variables);

// Every error ends with status 1.
int DevicePluginMain(int argc, char** argv);

}  // namespace partita::cli
