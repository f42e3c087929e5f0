// What this process gives up before it becomes another program.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace partita::service::run {

enum class Rights : std::uint8_t {
  kRoot,  // as before
  kUser,  // none outside of a user namespace, which has this user alone
};

// A mount namespace of its own, from which nothing reaches the host's; in a user namespace where it
// takes rights that this process does not have.
[[nodiscard]] base::Result<Rights> EnterOwnMounts();

// For this process and whatever it executes: no device nodes are made. In a user namespace nothing
// is left of the rights that making it gave.
[[nodiscard]] base::Result<void> DropRights(Rights rights);

}  // namespace partita::service::run
