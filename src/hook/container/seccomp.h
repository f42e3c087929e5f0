// Which system calls ldconfig may make.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace partita::hook {

// What a static program needs that reads libraries and writes a cache; execveat of this descriptor
// alone. Everything else is refused with EPERM: a call that a newer libc makes and can do without
// must not end it (nvidia-docker #1456). Syncing is left out.
[[nodiscard]] std::vector<sock_filter> LdconfigFilter(int program);

// For this process, from now on. 0, or -1 with errno.
int InstallFilter(const std::vector<sock_filter>& filter);

}  // namespace partita::hook
