// Where this machine's driver has NVIDIA's MPS control program.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::agent::mps {

// Below the driver's root, as containers get it. kNotFound where the driver has none.
[[nodiscard]] base::Result<std::string> FindControlProgram(const std::string& driver_root);

}  // namespace partita::agent::mps
