#include "service/ledger/testing/recorded_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <limits>

namespace partita::service::ledger::testing {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

struct Recorder {
  bool on = false;
  bool skip_syncs = false;
  std::size_t fail_in = kNever;
  std::vector<DiskStep> steps;
};
Recorder& Now() {
  static Recorder recorder;
  return recorder;
}

std::string LastName(const char* path) {
  const std::string text = path;
  return text.substr(text.find_last_of('/') + 1);
}

std::uint64_t InodeOf(int fd) {
  struct stat about = {};
  return fstat(fd, &about) == 0 ? about.st_ino : 0;
}

bool IsDirectory(int fd) {
  struct stat about = {};
  return fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
}

bool IsFile(int fd) {
  struct stat about = {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

// True when this step is the one to fail.
bool Fails() {
  Recorder& now = Now();
  if (now.fail_in == kNever || now.fail_in-- != 0) return false;
  now.fail_in = kNever;
  errno = ENOSPC;
  return true;
}

void Record(DiskStep step) {
  if (Now().on) Now().steps.push_back(std::move(step));
}

struct Disk {
  std::map<std::uint64_t, std::string> bytes, synced_bytes;
  std::map<std::string, std::uint64_t> names, synced_names;

  void Do(const DiskStep& step, std::size_t most) {
    switch (step.step) {
      case Step::kCreate: names[step.name] = step.inode; break;
      case Step::kTruncate: bytes[step.inode].resize(step.length); break;
      case Step::kWrite: bytes[step.inode].append(step.bytes.substr(0, most)); break;
      case Step::kSyncFile: synced_bytes[step.inode] = bytes[step.inode]; break;
      case Step::kSyncDirectory: synced_names = names; break;
      case Step::kRename: {
        const auto found = names.find(step.name);
        if (found == names.end()) break;
        names[step.to] = found->second;
        names.erase(step.name);
        break;
      }
      case Step::kRemove: names.erase(step.name); break;
    }
  }
};

}  // namespace

void StartRecording() {
  Now().steps.clear();
  Now().on = true;
}
std::vector<DiskStep> StopRecording() {
  Now().on = false;
  return std::move(Now().steps);
}
std::size_t RecordedSteps() { return Now().steps.size(); }
void FailStep(std::size_t n) { Now().fail_in = n; }
void FailNoStep() { Now().fail_in = kNever; }
void SkipSyncs(bool skip) { Now().skip_syncs = skip; }

std::map<std::string, std::string> FilesAfter(const std::vector<DiskStep>& steps,
                                              std::size_t count,
                                              std::size_t partial,
                                              Kept kept) {
  Disk disk;
  for (std::size_t i = 0; i < count; ++i) disk.Do(steps[i], kNever);
  if (count < steps.size() && steps[count].step == Step::kWrite) disk.Do(steps[count], partial);
  const bool new_names = kept == Kept::kAll || kept == Kept::kNamesOnly;
  const bool new_bytes = kept == Kept::kAll || kept == Kept::kBytesOnly;
  std::map<std::string, std::string> files;
  for (const auto& [name, inode] : new_names ? disk.names : disk.synced_names)
    files[name] = (new_bytes ? disk.bytes : disk.synced_bytes)[inode];
  return files;
}

}  // namespace partita::service::ledger::testing

using partita::service::ledger::testing::DiskStep;
using partita::service::ledger::testing::Step;
namespace disk = partita::service::ledger::testing;

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {
int __real_open(const char* path, int flags, ...);
int __real_openat(int directory, const char* path, int flags, ...);
ssize_t __real_write(int fd, const void* bytes, std::size_t count);
int __real_ftruncate(int fd, off_t length);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_rename(const char* from, const char* to);
int __real_renameat(int from_directory, const char* from, int to_directory, const char* to);
int __real_unlinkat(int directory, const char* path, int flags);

static int Opened(int fd, const char* path, int flags) {
  if (fd < 0 || (flags & O_CREAT) == 0) return fd;
  disk::Record({Step::kCreate, disk::InodeOf(fd), disk::LastName(path), "", "", 0});
  // A fresh inode may have the number of one that was removed.
  if ((flags & (O_TRUNC | O_EXCL)) != 0)
    disk::Record({Step::kTruncate, disk::InodeOf(fd), "", "", "", 0});
  return fd;
}

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && disk::Fails()) return -1;
  return Opened(__real_open(path, flags, mode), path, flags);
}

int __wrap_openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && disk::Fails()) return -1;
  return Opened(__real_openat(directory, path, flags, mode), path, flags);
}

ssize_t __wrap_write(int fd, const void* bytes, std::size_t count) {
  if (!disk::IsFile(fd)) return __real_write(fd, bytes, count);
  const bool fails = disk::Fails();
  const ssize_t written = __real_write(fd, bytes, fails ? count / 2 : count);
  if (written > 0)
    disk::Record({Step::kWrite, disk::InodeOf(fd), "", "",
                  std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(written)),
                  0});
  if (!fails) return written;
  errno = ENOSPC;
  return -1;
}

int __wrap_ftruncate(int fd, off_t length) {
  if (disk::Fails()) return -1;
  disk::Record({Step::kTruncate, disk::InodeOf(fd), "", "", "", static_cast<std::size_t>(length)});
  return __real_ftruncate(fd, length);
}

static int Synced(int fd, int (*sync)(int)) {
  if (disk::Fails()) return -1;
  const Step step = disk::IsDirectory(fd) ? Step::kSyncDirectory : Step::kSyncFile;
  disk::Record({step, disk::InodeOf(fd), "", "", "", 0});
  return disk::Now().skip_syncs ? 0 : sync(fd);
}
int __wrap_fsync(int fd) { return Synced(fd, __real_fsync); }
int __wrap_fdatasync(int fd) { return Synced(fd, __real_fdatasync); }

int __wrap_rename(const char* from, const char* to) {
  if (disk::Fails()) return -1;
  const int result = __real_rename(from, to);
  if (result == 0)
    disk::Record({Step::kRename, 0, disk::LastName(from), disk::LastName(to), "", 0});
  return result;
}

int __wrap_renameat(int from_directory, const char* from, int to_directory, const char* to) {
  if (disk::Fails()) return -1;
  const int result = __real_renameat(from_directory, from, to_directory, to);
  if (result == 0)
    disk::Record({Step::kRename, 0, disk::LastName(from), disk::LastName(to), "", 0});
  return result;
}

int __wrap_unlinkat(int directory, const char* path, int flags) {
  const int result = __real_unlinkat(directory, path, flags);
  if (result == 0) disk::Record({Step::kRemove, 0, disk::LastName(path), "", "", 0});
  return result;
}
}
// NOLINTEND(bugprone-reserved-identifier)
