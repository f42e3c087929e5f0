// Which mount a file was reached by. A bind mount of the same file system is another mount.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace partita::base {

// Of an open descriptor, O_PATH too: the number that /proc/self/mountinfo begins its line with.
// kUnavailable where neither the kernel (5.8) nor /proc tells.
[[nodiscard]] Result<std::uint64_t> MountIdOf(int fd);

}  // namespace partita::base
