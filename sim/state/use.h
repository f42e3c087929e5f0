// A process's own use of a GPU or slice: what a driver asks before it makes a context, and how much
// memory there is. One entry of the holders a process and device; holders.h says how it lives.
#pragma once

#include <stdint.h>

#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::sim {

inline constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Values of Gpu::compute_mode, as NVML numbers them.
inline constexpr uint32_t kComputeProhibited = 2;
inline constexpr uint32_t kComputeExclusiveProcess = 3;

enum class UseStatus : uint32_t {
  kDone,
  kProhibited,  // by the compute mode
  kTaken,       // by the one process that the compute mode lets in
  kNoMemory,
  kGone,      // the driver, the GPU or the slice
  kNoEntry,   // the node has all the holders it can have
  kReadOnly,  // this process may not write the state
};

// What processes may have of the GPU's memory, or of the instance's, and what is left. The entries
// of the dead count: Reap first.
struct Room {
  uint64_t total, free;
};
Room RoomOn(const Machine& machine, const Slot& slot, uint32_t gpu, uint32_t gpu_instance);

// Another process has the GPU to itself. Clients of MPS use the GPU through their server and are
// let in, and so are not asked about.
bool IsTakenExclusively(const Slot& slot, uint32_t gpu);

// Whether the described process may make its first context there, without regard to memory.
UseStatus CheckUse(const Machine& machine, const Slot& slot, const Holder& description);

// The holders file of the node, to be kept open for the life of the process (holders.h); closed by
// exec, as contexts are. -1: it cannot be opened.
int OpenHolders(const char* root);

// Makes this process a holder with `description.memory_bytes`.
UseStatus BeginUse(Store& store, int holders, const Holder& description, uint32_t* index);
// Changes the memory of an entry that BeginUse gave.
UseStatus SetUsedMemory(Store& store, uint32_t index, uint64_t bytes);
void EndUse(Store& store, int holders, uint32_t index);

}  // namespace partita::sim
