// How a process of a simulated node finds the node's state, and which devices it may use.
#pragma once

#include <stdint.h>

#include "sim/state/layout.h"

namespace partita::sim {

inline constexpr char kCapabilityNodes[] = "/dev/nvidia-caps";

// Finds the state file: PARTITA_SIM_STATE, else sim/state in a directory above the real path of the
// library or program that `own` lies in, else the node's fixed path. False: none exists.
bool LocateState(const void* own, char* path /* kMaxPath */);

// A variable such as PARTITA_SIM_VISIBILITY: "0" and "off" are off.
bool IsSwitchedOn(const char* variable, bool otherwise);

// 0 when the process may use the node. Without the driver a granted open fails with ENXIO, while a
// device cgroup refuses with EPERM first. A node masked by another file is not granted.
int Grant(const char* path, uint32_t major, uint32_t minor, int mode);

// Both capability nodes are granted.
bool MayOpenMigDevice(const Machine& machine,
                      uint32_t gpu,
                      uint32_t gpu_instance,
                      uint32_t compute_instance);

}  // namespace partita::sim
