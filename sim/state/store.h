// The state file of one simulated node: lock-free consistent reads, crash-safe transactions.
//
// A store only ever maps the file read-only. A transaction opens the file a second time (an OFD
// lock belongs to the open file description: two threads that shared one would not exclude each
// other), locks it, maps it writable, works on the slot that nobody reads and publishes it with one
// store. Whoever dies on the way leaves the old state or the new one, and the kernel drops the
// lock.
//
// libc only; no call throws, allocates or keeps a lock between calls. Errors are errno values.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/state/layout.h"

namespace partita::sim {

inline constexpr size_t kMaxPath = 1024;

enum class Access { kReadOnly, kReadWrite };

// Bytes of a slot that are in use: the GPUs come last.
inline size_t SlotBytes(const Machine& machine) {
  const uint32_t gpus = machine.gpu_count < kMaxGpus ? machine.gpu_count : kMaxGpus;
  return offsetof(Slot, gpus) + gpus * sizeof(Gpu);
}

// What was read before stays before what is read after.
inline void OrderReads() {
#ifdef __SANITIZE_THREAD__  // gcc refuses fences under it; x86 keeps loads in order by itself
  asm volatile("" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

// Thread-safe but for Open and Close. Trivially destructible on purpose: the NVML library keeps one
// for the life of the process and must not register a destructor.
class Store {
 public:
  // 0, the errno of open or mmap, or EPROTO: not a state file, or one of another version.
  static int Open(const char* state_path, Access access, Store* out);
  void Close();

  bool is_open() const { return file_ != nullptr; }
  Access access() const { return access_; }
  const char* path() const { return path_; }
  const char* root() const { return root_; }  // "<root>" of "<root>/sim/state"
  bool SameFile(const Store& other) const {
    return device_ == other.device_ && inode_ == other.inode_ && strcmp(path_, other.path_) == 0;
  }
  const Machine& machine() const { return file_->machine; }

  uint64_t generation() const {
    return __atomic_load_n(&file_->header.generation, __ATOMIC_ACQUIRE);
  }

  // Calls `f(const Slot&)` until the slot was stable meanwhile and returns its last answer. While
  // it runs, `f` may see a mixture of two states: every loop in it must be bounded by a constant of
  // layout.h and every index checked.
  template <class F>
  auto Read(F f) const {
    for (int attempt = 0;; ++attempt) {
      // A reader slower than the writers would never finish: after a while it keeps them out.
      const int lock = attempt >= kOptimisticReads ? LockForReading() : -1;
      const uint64_t before = generation();
      auto answer = f(static_cast<const Slot&>(file_->slots[before & 1]));
      OrderReads();
      const bool stable = __atomic_load_n(&file_->header.generation, __ATOMIC_RELAXED) == before;
      if (lock >= 0) Unlock(lock);
      if (stable) return answer;
    }
  }

  // A whole consistent slot. Only the GPUs of the machine are written.
  void Snapshot(Slot* out) const {
    Read([this, out](const Slot& slot) {
      memcpy(static_cast<void*>(out), &slot, SlotBytes(file_->machine));
      return 0;
    });
  }

  // For waiting: moves with every commit.
  uint32_t Wakeups() const { return static_cast<uint32_t>(generation()); }

  // Sleeps until a commit after `seen`, also of another process or PID namespace: 0, or ETIMEDOUT.
  // Signals do not end the wait. A negative timeout waits for ever.
  int WaitForChange(uint32_t seen, int64_t timeout_ns) const;
  // One sleep of at most `nanos` and at most a quarter of a second, ended early by a commit after
  // `seen` or by a signal.
  void Sleep(uint32_t seen, uint64_t nanos) const;

 private:
  friend class Transaction;
  static constexpr int kOptimisticReads = 64;

  int LockForReading() const;  // a descriptor for Unlock, or -1
  static void Unlock(int fd);

  const StateFile* file_ = nullptr;
  int fd_ = -1;
  Access access_ = Access::kReadOnly;
  uint64_t device_ = 0, inode_ = 0;
  char path_[kMaxPath] = {};
  char root_[kMaxPath] = {};
};

// One change of the state. Only one exists per node at a time, over all processes.
class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { Abandon(); }

  // Waits for the lock and copies the current slot. EACCES, EPERM or EROFS: this process may only
  // read; ESTALE: the file at the path is not the one mapped (the node was taken down).
  static int Begin(Store& store, Transaction* out);

  const Machine& machine() const { return file_->machine; }
  Slot& slot() { return file_->slots[(file_->header.generation + 1) & 1]; }
  const Slot& before() const { return file_->slots[file_->header.generation & 1]; }

  // Publishes, wakes who waits, brings the driver's files in line, unlocks. A failure to render is
  // returned and does not undo the commit: the next owner of the lock tries again.
  int Commit();
  void Abandon();

 private:
  int Render();

  const char* root_ = nullptr;
  StateFile* file_ = nullptr;
  int fd_ = -1;
};

// Writes a new state file at `path` by rename; `<root>/sim` must exist. The generation starts at 1.
int Create(const char* path, const Machine& machine, const Slot& initial);

}  // namespace partita::sim
