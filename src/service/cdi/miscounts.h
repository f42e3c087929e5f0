// Where numbers of GPUs and MIG devices mean others than usual. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "model/inventory.h"
#include "service/cdi/device_files.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi {

// Why the driver's library does not list a GPU that is on the bus: it lists none whose node it
// cannot open, and gives its index to the next one. Nothing is wrong with one that the driver was
// told to leave alone, or that is not shown to us at all.
[[nodiscard]] std::optional<base::Error> WhyUnlisted(const model::Gpu& gpu,
                                                     const DeviceFiles& devices,
                                                     const Places& places,
                                                     const HookSet& hooks);

[[nodiscard]] std::vector<partita::cdi::Miscount> MiscountsOf(const model::Inventory& inventory,
                                                              const DeviceFiles& devices,
                                                              const Places& places,
                                                              const HookSet& hooks);

}  // namespace partita::service::cdi
