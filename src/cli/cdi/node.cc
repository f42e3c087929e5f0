#include "cli/cdi/node.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "cli/report_error.h"
#include "model/unread.h"
#include "service/cdi/driver_root.h"
#include "service/inventory/reader.h"

namespace partita::cli {

namespace {

constexpr std::string_view kHookName = "partita-hook";
// The name by which partita-hook knows that it is to run a hook, and other tools know ours.
constexpr const char* kHookFirstArgument = "nvidia-cdi-hook";

}  // namespace

base::Option DevRootOption() {
  return {.name = "dev-root",
          .value_name = "DIR",
          .help = "where /dev is, when not below the driver root"};
}

base::Option HookPathOption() {
  return {.name = "hook-path",
          .value_name = "FILE",
          .help =
              "the program that carries out hooks, as the host calls it; else partita-hook "
              "beside this one, else /usr/bin/partita-hook"};
}

base::Option LdconfigPathOption() {
  return {.name = "ldconfig-path",
          .value_name = "FILE",
          .help = "the host's ldconfig for the hook that updates the loader's cache"};
}

service::cdi::NodeFilesOptions NodeFilesOptionsOf(const base::Invocation& invocation,
                                                  const CommandOptions& common) {
  service::cdi::NodeFilesOptions options;
  options.host_root = common.reader.root;
  options.driver_root = common.reader.driver_root;
  options.dev_root = invocation.Get("dev-root").value_or("");
  return options;
}

base::Result<service::cdi::HookSet> HookSetOf(const base::Invocation& invocation) {
  service::cdi::HookSet hooks;
  hooks.path = invocation.Get("hook-path").value_or(service::cdi::InstalledHook());
  if (!hooks.path.starts_with('/')) {
    return base::MakeError(base::ErrorCode::kInvalid, "--hook-path {}: not an absolute path",
                           base::Quoted(hooks.path));
  }
  const std::string_view name = service::cdi::NameOf(hooks.path);
  hooks.first_argument = name == kHookName ? std::string(kHookFirstArgument) : std::string(name);
  hooks.ldconfig_path = invocation.Get("ldconfig-path").value_or("");
  return hooks;
}

base::Result<model::Inventory> ReadInventory(const CommandOptions& common) {
  service::inventory::ReaderOptions options = common.reader;
  options.readings = false;
  service::inventory::Reader reader(options);
  model::Inventory inventory = reader.Read();
  if (!inventory.driver) return SayWhereToFind(model::WhyNoDriver(inventory));
  return inventory;
}

}  // namespace partita::cli
