// What a command of nvidia-mig-parted begins with: the node as it is, the configuration it is
// given.
#pragma once

#include <memory>
#include <string>

#include "base/command_line.h"
#include "cli/parted/outcome.h"
#include "config/mig_config.h"
#include "model/inventory.h"
#include "service/inventory/reader.h"

namespace partita::cli::parted {

[[nodiscard]] service::inventory::ReaderOptions Reading();

// Fails when no driver answers.
[[nodiscard]] base::Result<model::Inventory> ReadNode();

struct Selected {
  std::string path;  // of the file, as the command line names it
  std::shared_ptr<const config::MigConfigFile> file;
  const config::MigConfig* config = nullptr;  // inside file
};

// By --config-file and --selected-config.
[[nodiscard]] base::Result<Selected> LoadSelected(const base::Invocation& invocation);

}  // namespace partita::cli::parted
