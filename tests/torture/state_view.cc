#include "state_view.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "checker.h"

namespace partita::torture {

base::Result<StateView> StateView::Open(const std::string& path, Access access) {
  const bool writes = access == Access::kReadWrite;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return base::ErrnoError("open " + path);
  struct stat status {};
  void* mapping = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size == sizeof(sim::StateFile)) {
    mapping = mmap(nullptr, sizeof(sim::StateFile), writes ? PROT_READ | PROT_WRITE : PROT_READ,
                   MAP_SHARED, fd, 0);
  }
  if (mapping == MAP_FAILED) {
    close(fd);
    return base::MakeError(base::ErrorCode::kInvalid, "{}: {} bytes, the layout has {}", path,
                           status.st_size, sizeof(sim::StateFile));
  }
  return StateView(fd, static_cast<sim::StateFile*>(mapping),
                   static_cast<std::uint64_t>(status.st_size));
}

StateView::StateView(StateView&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      file_(std::exchange(other.file_, nullptr)),
      size_(other.size_) {}

StateView& StateView::operator=(StateView&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}

StateView::~StateView() {
  if (file_ != nullptr) munmap(file_, sizeof(sim::StateFile));
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<Snapshot> StateView::Take() const {
  auto snapshot = std::make_unique<Snapshot>();
  for (;;) {
    const std::uint64_t before = __atomic_load_n(&file_->header.generation, __ATOMIC_ACQUIRE);
    std::memcpy(static_cast<void*>(&snapshot->slot), &file_->slots[before & 1],
                UsedBytes(file_->machine));
    snapshot->header = file_->header;
#ifdef __SANITIZE_THREAD__  // gcc refuses fences under it; x86 keeps loads in order by itself
    asm volatile("" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    if (__atomic_load_n(&file_->header.generation, __ATOMIC_RELAXED) == before) {
      snapshot->header.generation = before;
      return snapshot;
    }
  }
}

std::unique_ptr<StateView::Lock> StateView::TakeLock() const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  while (fcntl(fd_, F_OFD_SETLKW, &lock) != 0) {
  }
  return std::make_unique<Lock>(fd_);
}

StateView::Lock::~Lock() {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  fcntl(fd_, F_OFD_SETLK, &lock);
}

}  // namespace partita::torture
