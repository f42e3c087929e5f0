#include "sim/state/use.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/state/holders.h"
#include "sim/state/mig.h"

namespace partita::sim {
namespace {

UseStatus StatusOfError(int error) {
  switch (error) {
    case 0: return UseStatus::kDone;
    case ENOSPC: return UseStatus::kNoEntry;
    case EACCES:
    case EPERM:
    case EROFS: return UseStatus::kReadOnly;
    default: return UseStatus::kGone;
  }
}

bool IsOwn(const Holder& holder) {
  const ProcessIdentity self = Self();
  return holder.live != 0 && holder.lock_owner_pid == self.pid &&
         holder.lock_owner_pid_ns == self.pid_ns;
}

}  // namespace

Room RoomOn(const Machine& machine, const Slot& slot, uint32_t gpu, uint32_t gpu_instance) {
  const Board& board = machine.boards[gpu];
  Room room{};
  room.total =
      board.memory_total > board.memory_reserved ? board.memory_total - board.memory_reserved : 0;
  if (gpu_instance != kNone) {
    const GiProfile* profile = FindGiProfile(board, slot.gpus[gpu].instances[gpu_instance].profile);
    room.total = profile == nullptr ? 0 : profile->memory_mb * kMebibyte;
  }
  uint64_t used = 0;
  for (const Holder& holder : slot.holders) {
    if (holder.live != 0 && holder.gpu == gpu && holder.gpu_instance == gpu_instance) {
      used += holder.memory_bytes;
    }
  }
  room.free = used < room.total ? room.total - used : 0;
  return room;
}

bool IsTakenExclusively(const Slot& slot, uint32_t gpu) {
  if (slot.gpus[gpu].compute_mode != kComputeExclusiveProcess) return false;
  for (const Holder& holder : slot.holders) {
    if (holder.live != 0 && holder.gpu == gpu && holder.kind == HolderKind::kCompute) return true;
  }
  return false;
}

UseStatus CheckUse(const Machine& machine, const Slot& slot, const Holder& description) {
  if (slot.driver_loaded == 0 || description.gpu >= machine.gpu_count) return UseStatus::kGone;
  const Gpu& gpu = slot.gpus[description.gpu];
  if (gpu.pci_driver != PciDriver::kNvidia || gpu.lost != 0) return UseStatus::kGone;
  if (gpu.mig_current != 0 && description.gpu_instance == kNone) return UseStatus::kGone;
  if (gpu.compute_mode == kComputeProhibited) return UseStatus::kProhibited;
  if (description.kind != HolderKind::kMps && IsTakenExclusively(slot, description.gpu)) {
    return UseStatus::kTaken;
  }
  return UseStatus::kDone;
}

int OpenHolders(const char* root) {
  char path[kMaxPath];
  HoldersPath(root, path);
  return open(path, O_RDWR | O_CLOEXEC);
}

UseStatus BeginUse(Store& store, int holders, const Holder& description, uint32_t* index) {
  Transaction transaction;
  const int error = Transaction::Begin(store, &transaction);
  if (error != 0) return StatusOfError(error);
  Slot& slot = transaction.slot();
  const Machine& machine = transaction.machine();
  Reap(store.root(), machine, slot);
  const UseStatus allowed = CheckUse(machine, slot, description);
  if (allowed != UseStatus::kDone) return allowed;
  const int entered = EnterHolder(holders, machine, slot, description, index);
  if (entered != 0) return StatusOfError(entered);
  // Entered first, looked at then: with it, the memory must not be more than there is.
  slot.holders[*index].memory_bytes = 0;
  if (description.memory_bytes >
      RoomOn(machine, slot, description.gpu, description.gpu_instance).free) {
    ReleaseHolder(holders, *index);
    return UseStatus::kNoMemory;
  }
  slot.holders[*index].memory_bytes = description.memory_bytes;
  transaction.Commit();
  return UseStatus::kDone;
}

UseStatus SetUsedMemory(Store& store, uint32_t index, uint64_t bytes) {
  Transaction transaction;
  const int error = Transaction::Begin(store, &transaction);
  if (error != 0) return StatusOfError(error);
  Slot& slot = transaction.slot();
  Holder& own = slot.holders[index];
  if (!IsOwn(own)) return UseStatus::kGone;  // the driver or the GPU went, and its holders with it
  if (bytes > own.memory_bytes) {
    Reap(store.root(), transaction.machine(), slot);
    const Room room = RoomOn(transaction.machine(), slot, own.gpu, own.gpu_instance);
    if (bytes - own.memory_bytes > room.free) return UseStatus::kNoMemory;
  }
  own.memory_bytes = bytes;
  transaction.Commit();
  return UseStatus::kDone;
}

void EndUse(Store& store, int holders, uint32_t index) {
  Transaction transaction;
  if (Transaction::Begin(store, &transaction) == 0 && IsOwn(transaction.slot().holders[index])) {
    EndHolder(transaction.machine(), transaction.slot(), index);
    transaction.Commit();
  }
  ReleaseHolder(holders, index);
}

}  // namespace partita::sim
