#include <string_view>

#include "base/command_line.h"
#include "cli/commands.h"
#include "cli/ctk/ctk.h"
#include "cli/device_plugin/device_plugin.h"
#include "cli/labels/feature_discovery.h"
#include "cli/mps_control_daemon.h"
#include "cli/parted/parted.h"
#include "cli/selector/config_selector.h"

namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

int main(int argc, char** argv) {
  // A link with the name of NVIDIA's partition editor is that program.
  if (argc > 0 && FileName(argv[0]) == partita::cli::kMigPartedName) {
    return partita::cli::MigPartedMain(argc, argv);
  }
  if (argc > 0 && FileName(argv[0]) == partita::cli::kDevicePluginName)
    return partita::cli::DevicePluginMain(argc, argv);
  if (argc > 0 && FileName(argv[0]) == partita::cli::kFeatureDiscoveryName)
    return partita::cli::FeatureDiscoveryMain(argc, argv);
  if (argc > 0 && FileName(argv[0]) == partita::cli::kConfigSelectorName)
    return partita::cli::ConfigSelectorMain(argc, argv);
  if (argc > 0 && FileName(argv[0]) == partita::cli::kMpsControlDaemonName)
    return partita::cli::MpsControlDaemonMain();
  // partita-hook, which is nvidia-ctk, calls this for what is no hook.
  if (argc > 0 && FileName(argv[0]) == partita::cli::kCtkName)
    return partita::cli::CtkMain(argc, argv);
  return partita::base::Main(partita::cli::MakeProgram(), argc, argv);
}
