// The process's own side of NVML: how often it initialised, what it sees, which nodes it keeps
// open.
#pragma once

#include <stdint.h>

#include "sim/nvml/nvml_abi.h"
#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::sim::nvml {

inline constexpr uint32_t kMaxNodes = 8 + 3 * kMaxGpus;  // descriptors.h says which

// Lives in a page that the kernel clears in a child of fork: the child starts uninitialised, with
// free locks, whatever the parent's threads were doing. The members are atomics or under `lock`.
struct Session {
  uint32_t lock;               // of Init and Shutdown
  uint32_t references;         // atomic: 0 = uninitialised
  uint32_t in_flight;          // atomic: calls between Enter and Leave
  uint32_t events_lock;        // of the event sets
  uint32_t waits;              // atomic, a futex: calls that wait for events
  uint32_t attached;           // the GPUs' nodes were opened (not with NO_ATTACH alone)
  uint32_t visibility;         // the filter is on
  uint32_t may_configure_mig;  // the MIG config capability was granted
  uint32_t strict;
  uint64_t driver_loads;  // the driver load this client belongs to
  int32_t log_fd;         // atomic: -1 or 0 = none
  uint32_t visible_count;
  uint32_t visible[kMaxGpus];   // index into Machine::boards
  uint32_t index_of[kMaxGpus];  // NVML index or kNone
  uint32_t node_count;
  uint32_t has_wakes;             // of this process, over all its sessions
  uint32_t has_handle[kMaxGpus];  // atomic: a handle of the GPU was given out
  int32_t nodes[kMaxNodes];       // O_PATH descriptors, as a driver library keeps its nodes open
  uint64_t epoch;      // atomic; names this initialisation: event sets of another one are gone
  uint64_t owner_pid;  // where the kernel cannot clear the page (before 4.14): who initialised
  // Atomic: the view (visibility.cc) in which both nodes of a MIG device could be opened.
  uint64_t mig_seen_in[kMaxGpus][kMaxGpuInstances][kMaxComputeInstances];
};

Session& TheSession();

inline uint64_t CurrentEpoch() { return __atomic_load_n(&TheSession().epoch, __ATOMIC_SEQ_CST); }
Store& TheStore();  // open once any init succeeded, and never closed under a running call

// Held for short work, and by a shutdown while somebody waits for events; fork-safe because the
// word is in the session.
class ScopedLock {
 public:
  explicit ScopedLock(uint32_t* word);
  ~ScopedLock();
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  uint32_t* word_;
};

// The session is initialised by this very process.
bool Initialised();

// The driver was unloaded or loaded again since this process initialised: its calls answer UNKNOWN
// until it shuts down and initialises anew. (A real unload waits for the clients; `partita-sim`
// does not, and "Unknown Error" is what a client of a vanished driver prints.)
bool IsCutOff();

// Neither a set of events is freed nor the session shut down while a call waits for events: until
// it has one or its time is over. `set_waits` counts those in one set, the session's those in all.
void BeginWait(uint32_t* set_waits);
void EndWait(uint32_t* set_waits);
void AwaitNoWaits(const uint32_t* waits);

}  // namespace partita::sim::nvml
