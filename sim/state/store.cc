#include "sim/state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/state/files.h"
#include "sim/state/render.h"
#include "sim/state/time.h"

namespace partita::sim {
namespace {

// A writer killed between its commit and its wake-up leaves the sleepers asleep: they look again
// after this long.
constexpr uint64_t kLongestSleep = 250 * kNanosPerMilli;

int Lock(int fd, short type, int command) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  while (fcntl(fd, command, &lock) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

const uint32_t* FutexWord(const FileHeader& header) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half comes first");
  return static_cast<const uint32_t*>(static_cast<const void*>(&header.generation));
}

bool IsStateFile(const FileHeader& header) {
  return header.magic == kMagic && header.layout_version == kLayoutVersion &&
         header.file_size == sizeof(StateFile);
}

// "<root>" of "<root>/sim/state"; "." when the path has no such form.
void RootOf(const char* path, char* root) {
  strcpy(root, path);
  for (int component = 0; component < 2; ++component) {
    char* slash = strrchr(root, '/');
    if (slash == nullptr) {
      strcpy(root, ".");
      return;
    }
    *slash = '\0';
  }
  if (root[0] == '\0') strcpy(root, "/");
}

}  // namespace

int Store::Open(const char* state_path, Access access, Store* out) {
  if (strlen(state_path) >= kMaxPath) return ENAMETOOLONG;
  const int fd = open(state_path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  FileIdentity identity{};
  int error = IdentifyFile(fd, &identity);
  if (error == 0 && identity.size != sizeof(StateFile)) error = EPROTO;
  void* mapping = MAP_FAILED;
  if (error == 0) {
    mapping = mmap(nullptr, sizeof(StateFile), PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  if (error == 0 && !IsStateFile(static_cast<const StateFile*>(mapping)->header)) {
    munmap(mapping, sizeof(StateFile));
    error = EPROTO;
  }
  if (error != 0) {
    close(fd);
    return error;
  }
  out->file_ = static_cast<const StateFile*>(mapping);
  out->fd_ = fd;
  out->access_ = access;
  out->device_ = identity.device;
  out->inode_ = identity.inode;
  strcpy(out->path_, state_path);
  RootOf(state_path, out->root_);
  return 0;
}

void Store::Close() {
  if (file_ == nullptr) return;
  munmap(const_cast<StateFile*>(file_), sizeof(StateFile));
  close(fd_);
  file_ = nullptr;
  fd_ = -1;
}

// With a description of its own: one shared with a forked child that is killed would stay locked.
// It only makes a stable read likely; the generation decides.
int Store::LockForReading() const {
  const int fd = open(path_, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && Lock(fd, F_RDLCK, F_OFD_SETLK) == 0) return fd;
  if (fd >= 0) close(fd);
  sched_yield();
  return -1;
}

// Explicitly: a child forked meanwhile by another thread has the descriptor too.
void Store::Unlock(int fd) {
  Lock(fd, F_UNLCK, F_OFD_SETLK);
  close(fd);
}

int Store::WaitForChange(uint32_t seen, int64_t timeout_ns) const {
  const uint64_t start = MonotonicNow();
  while (Wakeups() == seen) {
    uint64_t left = kLongestSleep;
    if (timeout_ns >= 0) {
      const uint64_t gone = MonotonicNow() - start;
      if (gone >= static_cast<uint64_t>(timeout_ns)) return ETIMEDOUT;
      left = static_cast<uint64_t>(timeout_ns) - gone;
    }
    Sleep(seen, left);
  }
  return 0;
}

void Store::Sleep(uint32_t seen, uint64_t nanos) const {
  if (nanos > kLongestSleep) nanos = kLongestSleep;
  const timespec relative = {static_cast<time_t>(nanos / kNanosPerSecond),
                             static_cast<long>(nanos % kNanosPerSecond)};
  // Without FUTEX_PRIVATE_FLAG: the kernel keys the word by the file, so processes meet. How it
  // returned does not matter, every caller looks again.
  syscall(SYS_futex, FutexWord(file_->header), FUTEX_WAIT, seen, &relative, nullptr, 0);
}

int Transaction::Begin(Store& store, Transaction* out) {
  if (store.access_ != Access::kReadWrite) return EACCES;
  const int fd = open(store.path_, O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  FileIdentity identity{};
  int error = IdentifyFile(fd, &identity);
  if (error == 0 && (identity.device != store.device_ || identity.inode != store.inode_)) {
    error = ESTALE;
  }
  if (error == 0) error = Lock(fd, F_WRLCK, F_OFD_SETLKW);
  // Whoever had the lock may have put another file in its place: a change of this one is lost.
  if (error == 0) error = IdentifyPath(store.path_, &identity);
  if (error == 0 && identity.inode != store.inode_) error = ESTALE;
  void* mapping = MAP_FAILED;
  if (error == 0) {
    mapping =
        mmap(nullptr, sizeof(StateFile), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    close(fd);
    return error;
  }
  out->Abandon();
  out->file_ = static_cast<StateFile*>(mapping);
  out->fd_ = fd;
  out->root_ = store.root_;
  // An owner killed between its commit and its rendering: finish that before the shadow, from which
  // the difference is computed, is overwritten.
  if (out->file_->header.rendered != out->file_->header.generation) out->Render();
  // The copy must not be seen before the generation that made the shadow free to use.
  __atomic_load_n(&out->file_->header.generation, __ATOMIC_ACQUIRE);
  memcpy(static_cast<void*>(&out->slot()), &out->before(), SlotBytes(out->machine()));
  return 0;
}

int Transaction::Commit() {
  FileHeader& header = file_->header;
  __atomic_store_n(&header.generation, header.generation + 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, FutexWord(header), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  const int error = Render();
  Abandon();
  return error;
}

// `rendered` is the current generation, the one before (whose slot is then still whole) or 0.
int Transaction::Render() {
  FileHeader& header = file_->header;
  const Slot& now = file_->slots[header.generation & 1];
  const Slot& then = file_->slots[(header.generation + 1) & 1];
  const bool knows_difference = header.rendered != 0 && header.rendered + 1 == header.generation;
  const int error = knows_difference ? RenderDifference(root_, file_->machine, then, now)
                                     : RenderCommitted(root_, file_->machine, now);
  __atomic_store_n(&header.rendered, error == 0 ? header.generation : 0, __ATOMIC_RELEASE);
  return error;
}

void Transaction::Abandon() {
  if (file_ == nullptr) return;
  munmap(file_, sizeof(StateFile));
  Store::Unlock(fd_);
  file_ = nullptr;
  fd_ = -1;
}

int Create(const char* path, const Machine& machine, const Slot& initial) {
  char temporary[kMaxPath];
  const int length = snprintf(temporary, sizeof temporary, "%s.new", path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof temporary) return ENAMETOOLONG;
  unlink(temporary);
  const int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  int error = ftruncate(fd, sizeof(StateFile)) == 0 ? 0 : errno;
  void* mapping = MAP_FAILED;
  if (error == 0) {
    mapping = mmap(nullptr, sizeof(StateFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  if (error == 0) {
    auto* file = static_cast<StateFile*>(mapping);
    file->header.magic = kMagic;
    file->header.layout_version = kLayoutVersion;
    file->header.file_size = sizeof(StateFile);
    file->header.generation = 1;
    file->machine = machine;
    file->slots[1] = initial;
    munmap(mapping, sizeof(StateFile));
    // Any user may drive the simulated GPUs, as /dev/nvidia* with mode 0666 lets them.
    if (fchmod(fd, 0666) != 0 || rename(temporary, path) != 0) error = errno;
  }
  close(fd);
  if (error != 0) unlink(temporary);
  return error;
}

}  // namespace partita::sim
