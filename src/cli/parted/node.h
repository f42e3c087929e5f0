// What a command of nvidia-mig-parted begins with: the node as it is, the configuration it is
// given.
#pragma once

#include <optional>

#include "base/command_line.h"
#include "cli/parted/outcome.h"
#include "config/mig_config.h"
#include "model/inventory.h"
#include "service/inventory/reader.h"

namespace partita::cli::parted {

[[nodiscard]] service::inventory::ReaderOptions Reading();

// Fails when no driver answers.
[[nodiscard]] Outcome ReadNode(service::inventory::Reader& reader, model::Inventory& node);

struct Selected {
  config::MigConfigFile file;
  const config::MigConfig* config = nullptr;  // inside file
};

// By --config-file and --selected-config. Fills `selected`, which must not move afterwards.
[[nodiscard]] Outcome LoadSelected(const base::Invocation& invocation,
                                   std::optional<Selected>& selected);

}  // namespace partita::cli::parted
