// Whether an inventory tells the whole truth of a GPU. What was not read is not what is not there.
#pragma once

#include <optional>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::model {

// kNoDriver, with why. Only of an inventory without a driver.
[[nodiscard]] base::Error WhyNoDriver(const Inventory& inventory);

// Why `gpu.mig` is not all there is to know of this GPU's MIG; nothing when it is.
[[nodiscard]] std::optional<base::Error> WhyMigUnknown(const Gpu& gpu);

// False while a driver that tells what it can make only under MIG has it off.
[[nodiscard]] bool TellsInstances(const Mig& mig);

// Why somebody may use this GPU who is not among `gpu.processes`; nothing when all are.
[[nodiscard]] std::optional<base::Error> WhyHoldersUnknown(const Gpu& gpu);

}  // namespace partita::model
