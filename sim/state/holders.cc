#include "sim/state/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/state/time.h"

namespace partita::sim {
namespace {

// The file last looked at; never closed (see the header). Under `watch_lock`, which is only held
// for an open and a comparison; a child of fork that inherits it held gives up after a while and
// opens its own.
int watched_fd = -1;
char watched_path[kMaxPath];
uint32_t watch_lock = 0;

class WatchLock {
 public:
  WatchLock() {
    for (int spins = 0; spins < 100000; ++spins) {
      if (__atomic_exchange_n(&watch_lock, 1, __ATOMIC_ACQUIRE) == 0) {
        owned_ = true;
        return;
      }
    }
  }
  ~WatchLock() {
    if (owned_) __atomic_store_n(&watch_lock, 0, __ATOMIC_RELEASE);
  }
  WatchLock(const WatchLock&) = delete;
  WatchLock& operator=(const WatchLock&) = delete;

 private:
  bool owned_ = false;
};

int WatchedFile(const char* path) {
  WatchLock lock;
  if (watched_fd >= 0 && strcmp(watched_path, path) == 0) return watched_fd;
  // Without O_CLOEXEC: closing at exec would drop the lock of a process that is itself a holder.
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  watched_fd = fd;
  snprintf(watched_path, sizeof watched_path, "%s", path);
  return fd;
}

struct flock Byte(uint32_t index, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

uint32_t GuardedPid(const Holder& holder, uint64_t pid_ns) {
  for (uint32_t i = 0; i < holder.pid_count && i < 4; ++i) {
    if (holder.pids[i].pid_ns == pid_ns) return holder.pids[i].pid;
  }
  return 0;
}

bool IsThere(const Slot& slot, const Machine& machine, const Holder& holder) {
  if (holder.gpu >= machine.gpu_count) return false;
  if (holder.gpu_instance == kNone) return true;
  if (holder.gpu_instance >= kMaxGpuInstances) return false;
  const GpuInstance& instance = slot.gpus[holder.gpu].instances[holder.gpu_instance];
  if (instance.live == 0) return false;
  if (holder.compute_instance == kNone) return true;
  return holder.compute_instance < kMaxComputeInstances &&
         instance.compute[holder.compute_instance].live != 0;
}

// A free entry whose byte nobody else still locks.
int TakeEntry(int fd, const Slot& slot, uint32_t* index) {
  for (*index = 0; *index < kMaxHolders; ++*index) {
    if (slot.holders[*index].live != 0) continue;
    struct flock lock = Byte(*index, F_WRLCK);
    if (fcntl(fd, F_SETLK, &lock) == 0) return 0;
  }
  return ENOSPC;
}

int Enter(Store& store, int fd, const Holder& description, uint32_t guarded) {
  Transaction transaction;
  int error = Transaction::Begin(store, &transaction);
  if (error != 0) return error;
  Slot& slot = transaction.slot();
  Reap(store.root(), transaction.machine(), slot);
  uint32_t index = 0;
  error = EnterHolder(fd, transaction.machine(), slot, description, &index);
  if (error != 0) return error;
  slot.holders[index].guarded = guarded;
  transaction.Commit();
  return 0;
}

int Hold(Store& store, const char* path, const Holder& description, uint32_t guarded, int* fd) {
  *fd = open(path, O_RDWR | O_CREAT, 0666);
  if (*fd < 0) return errno;
  fchmod(*fd, 0666);  // whatever the umask: any user may be a holder
  // On failure the descriptor stays open: closing it would end other holds of this process.
  return Enter(store, *fd, description, guarded);
}

}  // namespace

ProcessIdentity Self() {
  ProcessIdentity self{0, static_cast<uint32_t>(getpid())};
  char link[64] = {};
  if (readlink("/proc/self/ns/pid", link, sizeof link - 1) > 5 && strncmp(link, "pid:[", 5) == 0) {
    self.pid_ns = strtoull(link + 5, nullptr, 10);
  }
  return self;
}

void HoldersPath(const char* root, char* path) {
  snprintf(path, kMaxPath, "%.1000s/sim/holders", root);
}

HolderView LookAtHolder(const char* root, const Holder& holder, uint32_t index) {
  if (holder.live == 0 || index >= kMaxHolders) return {false, 0};
  const ProcessIdentity self = Self();
  const bool own = holder.lock_owner_pid == self.pid && holder.lock_owner_pid_ns == self.pid_ns;
  const uint32_t guarded_pid = GuardedPid(holder, self.pid_ns);
  // The kernel never reports a process's own lock as a conflict: know it by name.
  if (own) return {true, holder.guarded != 0 ? guarded_pid : self.pid};
  char path[kMaxPath];
  HoldersPath(root, path);
  const int fd = WatchedFile(path);
  if (fd < 0) return {true, holder.guarded != 0 ? guarded_pid : 0};
  struct flock lock = Byte(index, F_WRLCK);
  if (fcntl(fd, F_GETLK, &lock) != 0) return {true, 0};
  if (lock.l_type == F_UNLCK) return {false, 0};
  if (holder.guarded != 0) return {true, guarded_pid};
  return {true, lock.l_pid > 0 ? static_cast<uint32_t>(lock.l_pid) : 0};
}

int HoldAsSelf(Store& store,
               const char* holders_path,
               const Holder& description,
               int* keep_open_fd) {
  return Hold(store, holders_path, description, 0, keep_open_fd);
}

int HoldGuarded(Store& store,
                const char* holders_path,
                const Holder& description,
                int* keep_open_fd) {
  return Hold(store, holders_path, description, 1, keep_open_fd);
}

int EnterHolder(
    int fd, const Machine& machine, Slot& slot, const Holder& description, uint32_t* index) {
  if (!IsThere(slot, machine, description)) return ENOENT;
  const int error = TakeEntry(fd, slot, index);
  if (error != 0) return error;
  const ProcessIdentity self = Self();
  Holder& holder = slot.holders[*index];
  holder = description;
  holder.live = 1;
  holder.since_ns = SimulatedNow(slot.clock);
  holder.lock_owner_pid_ns = self.pid_ns;
  holder.lock_owner_pid = self.pid;
  holder.incarnation = description.gpu_instance == kNone
                           ? 0
                           : slot.gpus[holder.gpu].instances[holder.gpu_instance].incarnation;
  return 0;
}

void ReleaseHolder(int fd, uint32_t index) {
  struct flock lock = Byte(index, F_UNLCK);
  fcntl(fd, F_SETLK, &lock);
}

uint64_t HolderEnergyMj(const Board& board, const Holder& holder, uint64_t now_ns) {
  if (board.power_busy_mw.known == 0 || board.power_idle_mw.known == 0 ||
      board.power_busy_mw.value <= board.power_idle_mw.value || now_ns <= holder.since_ns) {
    return 0;
  }
  const uint64_t range = board.power_busy_mw.value - board.power_idle_mw.value;
  const uint64_t load = holder.utilization > 100 ? 100 : holder.utilization;
  const uint64_t microseconds = (now_ns - holder.since_ns) / 1000;
  return range * load / 100 * microseconds / 1000000;
}

void EndHolder(const Machine& machine, Slot& slot, uint32_t index) {
  Holder& holder = slot.holders[index];
  if (holder.live == 0) return;
  if (holder.gpu < machine.gpu_count && holder.gpu < kMaxGpus) {
    slot.gpus[holder.gpu].energy_before_mj +=
        HolderEnergyMj(machine.boards[holder.gpu], holder, SimulatedNow(slot.clock));
  }
  memset(static_cast<void*>(&holder), 0, sizeof holder);
}

void Reap(const char* root, const Machine& machine, Slot& slot) {
  for (uint32_t index = 0; index < kMaxHolders; ++index) {
    const Holder& holder = slot.holders[index];
    if (holder.live != 0 && !LookAtHolder(root, holder, index).alive)
      EndHolder(machine, slot, index);
  }
}

bool IsHeld(const Slot& slot, uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance) {
  for (const Holder& holder : slot.holders) {
    if (holder.live != 0 && holder.gpu == gpu &&
        (gpu_instance == kNone || holder.gpu_instance == gpu_instance) &&
        (compute_instance == kNone || holder.compute_instance == compute_instance ||
         holder.compute_instance == kNone)) {
      return true;
    }
  }
  return false;
}

}  // namespace partita::sim
