// Who uses a GPU without being listed. In a PID namespace of its own a process is told of no other
// one, and the driver answers with an empty list and no error; its count of memory tells all the
// same.
#pragma once

#include <vector>

#include "model/inventory.h"

namespace partita::model {

// By `gpu.memory`, the memory of its instances and what the listed processes say they hold. Nobody
// where the driver counts its own reserve as used, or a listed process may hold it all.
[[nodiscard]] std::vector<HiddenHolder> HiddenHolders(const Gpu& gpu);

}  // namespace partita::model
