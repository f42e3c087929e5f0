// Which boot of the machine this is.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::agent {

// The kernel's boot id: another one after every reboot.
[[nodiscard]] base::Result<std::string> ReadBootId();

}  // namespace partita::agent
