// Which devices a container's processes may open.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/container/device_filter.h"

namespace partita::hook {

struct DeviceCgroup {
  int version = 0;  // 1 or 2
  std::string directory;
  bool operator==(const DeviceCgroup&) const = default;
};

// Where the devices of a process are decided: its line of /proc/<pid>/cgroup below the mount of
// that hierarchy. A version 1 hierarchy of devices counts before version 2. kNotFound: neither is
// mounted. kInvalid: the cgroup is above what is mounted here.
[[nodiscard]] base::Result<DeviceCgroup> FindDeviceCgroup(std::string_view mountinfo,
                                                          std::string_view cgroup);

// Lets the process and all of its cgroup open these too.
[[nodiscard]] base::Result<void> AllowDevices(std::int64_t pid, std::span<const DeviceRule> rules);

}  // namespace partita::hook
