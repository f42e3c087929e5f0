// MIG modes while no driver is loaded: before it at boot, or between two of them.
#pragma once

#include <atomic>

#include "base/result.h"
#include "hw/inventory_reader.h"
#include "hw/pci_mig.h"
#include "model/inventory.h"
#include "service/mig/apply.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

// No driver answers, and none is loaded that could be asked to.
[[nodiscard]] bool NeedsPci(const hw::ReaderOptions& options, const model::Inventory& node);
[[nodiscard]] hw::PciMigOptions PciOptions(const hw::ReaderOptions& options);

// The GPUs that no driver has, by address and numbered as the driver will. Of their MIG only the
// mode is known. A GPU whose mode the driver keeps is off, as it will be when the driver comes, and
// has a fault that says so; one whose registers cannot be read has the fault alone.
[[nodiscard]] base::Result<model::Inventory> LookWithoutDriver(const hw::PciMigOptions& options);

// Makes the modes what `goal`, of ResolveModes for this look, wants; GPUs whose mode is right are
// left alone. GPUs are independent: what fails is among the report's errors. The caller holds the
// changing lock.
[[nodiscard]] base::Result<ApplyReport> ApplyModesWithoutDriver(const model::Inventory& node,
                                                                const NodeGoal& goal,
                                                                bool skip_reset,
                                                                const hw::PciMigOptions& options,
                                                                const Progress& progress,
                                                                const std::atomic<bool>& stop);

// Why a target cannot be what it shall be, or cannot be asked whether it is, without the driver.
[[nodiscard]] std::vector<GpuReport> OutOfReach(const model::Inventory& node, const NodeGoal& goal);

}  // namespace partita::service::mig
