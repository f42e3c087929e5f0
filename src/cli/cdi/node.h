// What the commands that describe this machine share.
#pragma once

#include <string>

#include "base/command_line.h"
#include "base/result.h"
#include "cli/command_options.h"
#include "model/inventory.h"
#include "service/cdi/edits.h"
#include "service/cdi/node_files.h"

namespace partita::cli {

// --dev-root, --hook-path and --ldconfig-path.
[[nodiscard]] base::Option DevRootOption();
[[nodiscard]] base::Option HookPathOption();
[[nodiscard]] base::Option LdconfigPathOption();

[[nodiscard]] service::cdi::NodeFilesOptions NodeFilesOptionsOf(const base::Invocation& invocation,
                                                                const CommandOptions& common);

// kInvalid for a path that is not absolute.
[[nodiscard]] base::Result<service::cdi::HookSet> HookSetOf(const base::Invocation& invocation);

// As the driver tells it, by a look of our own: a specification must be of now. kNoDriver.
[[nodiscard]] base::Result<model::Inventory> ReadInventory(const CommandOptions& common);

}  // namespace partita::cli
