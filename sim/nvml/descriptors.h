// What the library keeps open, as that of driver 580 was seen to on a machine with one H200: each
// node once by init (/dev/nvidia-uvm twice), a GPU's node twice more by its first handle and once
// more by a registration for its events; two eventfds and four ends of pipes for good. A process is
// told from its descriptors (`lsof /dev/nvidia*`, a reset that is refused), so they are part of
// what a session is. Of several GPUs we take it that each has its own node opened so.
#pragma once

#include <stdint.h>

#include "sim/nvml/session.h"

namespace partita::sim::nvml {

// Opens the node until CloseNodes. The error says whether it is granted.
int KeepNode(Session& session, const char* path, uint32_t major, uint32_t minor, int mode);
int KeepGpuNode(Session& session, uint32_t gpu);
void CloseNodes(Session& session);

// For the first handle of the GPU in this session.
void KeepHandleNodes(uint32_t gpu);

// One more of the GPU's node, the caller's to close: -1 where there is none to open.
int OpenGpuNode(uint32_t gpu);

// Eventfds and pipes: made once in a process and never closed. Nothing is told through them here.
void MakeWakeDescriptors(Session& session);

}  // namespace partita::sim::nvml
