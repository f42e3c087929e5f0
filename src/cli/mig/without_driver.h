// `--mode-only` while no driver is loaded: modes are changed and compared through PCI.
#pragma once

#include "cli/mig/change.h"
#include "cli/mig/node.h"
#include "hw/inventory_reader.h"
#include "model/inventory.h"
#include "service/mig/modes_without_driver.h"

namespace partita::cli {

// No driver answers, and none is loaded that could be asked to.
[[nodiscard]] bool NeedsPci(const hw::ReaderOptions& options, const model::Inventory& node);

[[nodiscard]] hw::PciMigOptions PciOptions(const hw::ReaderOptions& options);

// What applying modes means for an exit status: where no GPU is in reach, there is no driver.
[[nodiscard]] int ModesStatus(const service::mig::ApplyReport& report,
                              const service::mig::NodeGoal& goal);

// CarryOutChange from where it has found no driver; returns the exit status.
int CarryOutWithoutDriver(const MigOptions& options, const ChangeRequest& request);

}  // namespace partita::cli
