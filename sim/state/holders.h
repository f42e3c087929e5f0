// Processes that use a GPU or a slice, and how one knows that they still live.
//
// A holder lives while it, or a guardian, holds the record lock on byte `index` of
// <root>/sim/holders. The kernel drops that lock at death in any PID namespace, keeps it over exec,
// and translates its owner's pid for whoever asks. One rule makes classic record locks safe:
// closing *any* descriptor of the file drops the locks of the closing process. So this code opens
// the file once per process and never closes it, and leaves it open over exec where the process
// itself is a holder.
#pragma once

#include <stdint.h>

#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::sim {

struct HolderView {
  bool alive;
  uint32_t pid;  // in the caller's PID namespace; 0: not visible there
};

struct ProcessIdentity {
  uint64_t pid_ns;  // inode of the PID namespace, 0 without /proc
  uint32_t pid;
};
ProcessIdentity Self();

// "<root>/sim/holders" of a store or transaction root.
void HoldersPath(const char* root, char* path /* kMaxPath */);

// `holder` is a consistent copy (Store::Read); entries that are not live are never alive. Without
// access to the file everybody counts as alive.
HolderView LookAtHolder(const char* root, const Holder& holder, uint32_t index);

// Makes this process a holder: the lock stays while `*keep_open_fd` is open, also over exec. Takes
// the lock before it commits the entry. ENOSPC: no entry left; ENOENT: the instance is not there.
int HoldAsSelf(Store& store,
               const char* holders_path,
               const Holder& description,
               int* keep_open_fd);
// The same for a process that the caller watches; `description.pids` name it. Closing the
// descriptor, or the guardian's death, ends the hold.
int HoldGuarded(Store& store,
                const char* holders_path,
                const Holder& description,
                int* keep_open_fd);

// Inside a transaction: takes the lock on a free entry and fills it in for this process. To be
// followed by a commit; without one ReleaseHolder gives the lock back.
int EnterHolder(
    int fd, const Machine& machine, Slot& slot, const Holder& description, uint32_t* index);
void ReleaseHolder(int fd, uint32_t index);

// Millijoules that a holder has drawn beyond the idle GPU, at simulated time `now_ns`.
uint64_t HolderEnergyMj(const Board& board, const Holder& holder, uint64_t now_ns);

// Frees the entry; its energy stays with the GPU, so that counters never go back.
void EndHolder(const Machine& machine, Slot& slot, uint32_t index);
// Frees the entries of the dead. To be called before deciding that something is in use.
void Reap(const char* root, const Machine& machine, Slot& slot);

// A live entry on this GPU and, unless kNone, in this GPU instance and compute instance.
bool IsHeld(const Slot& slot, uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance);

}  // namespace partita::sim
