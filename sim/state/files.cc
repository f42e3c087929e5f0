#include "sim/state/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sim/state/store.h"

namespace partita::sim {
namespace {

int Identify(int directory, const char* path, int flags, FileIdentity* out) {
  struct stat found {};
  if (syscall(SYS_newfstatat, directory, path, &found, flags) != 0) return errno;
  out->device = found.st_dev;
  out->inode = found.st_ino;
  out->size = static_cast<uint64_t>(found.st_size);
  out->node = found.st_rdev;
  out->changed_ns = static_cast<uint64_t>(found.st_ctim.tv_sec) * 1000000000 +
                    static_cast<uint64_t>(found.st_ctim.tv_nsec);
  out->mode = found.st_mode;
  return 0;
}

int WriteAll(int fd, const char* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t written = pwrite(fd, bytes + done, size - done, static_cast<off_t>(done));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    done += static_cast<size_t>(written);
  }
  return 0;
}

bool HasContents(const char* path, const char* bytes, size_t size, uint32_t mode) {
  FileIdentity identity{};
  if (IdentifyPath(path, &identity) != 0 || identity.mode != (S_IFREG | mode) ||
      identity.size != size) {
    return false;
  }
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char chunk[4096];
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd, chunk, sizeof chunk);
    if (got <= 0 || done + static_cast<size_t>(got) > size ||
        memcmp(chunk, bytes + done, static_cast<size_t>(got)) != 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  close(fd);
  return done == size;
}

}  // namespace

int IdentifyFile(int fd, FileIdentity* out) { return Identify(fd, "", AT_EMPTY_PATH, out); }

int IdentifyPath(const char* path, FileIdentity* out) {
  return Identify(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, out);
}

int MakeDirectory(const char* path, uint32_t mode) {
  if (mkdir(path, mode) == 0) return chmod(path, mode) == 0 ? 0 : errno;
  return errno == EEXIST ? 0 : errno;
}

int MakeDirectoryPath(const char* path, uint32_t mode) {
  char part[kMaxPath];
  if (strlen(path) >= sizeof part) return ENAMETOOLONG;
  strcpy(part, path);
  for (char* slash = strchr(part + 1, '/'); slash != nullptr; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const int error = MakeDirectory(part, mode);
    if (error != 0) return error;
    *slash = '/';
  }
  return MakeDirectory(part, mode);
}

int PutFile(const char* path, const char* bytes, size_t size, uint32_t mode) {
  if (HasContents(path, bytes, size, mode)) return 0;
  char temporary[kMaxPath];
  const int length = snprintf(temporary, sizeof temporary, "%s.new", path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof temporary) return ENAMETOOLONG;
  unlink(temporary);
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = WriteAll(fd, bytes, size);
  if (error == 0 && fchmod(fd, mode) != 0) error = errno;
  close(fd);
  if (error == 0 && rename(temporary, path) != 0) error = errno;
  if (error != 0) unlink(temporary);
  return error;
}

int PutFileInPlace(const char* path, const char* bytes, size_t size, uint32_t mode) {
  if (HasContents(path, bytes, size, mode)) return 0;
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = WriteAll(fd, bytes, size);
  if (error == 0 && ftruncate(fd, static_cast<off_t>(size)) != 0) error = errno;
  if (error == 0 && fchmod(fd, mode) != 0) error = errno;
  close(fd);
  return error;
}

int PutCharacterDevice(const char* path, uint32_t major, uint32_t minor, uint32_t mode) {
  const uint64_t number = makedev(major, minor);
  FileIdentity identity{};
  const int error = IdentifyPath(path, &identity);
  if (error == 0 && S_ISCHR(identity.mode) && identity.node == number) {
    if ((identity.mode & 07777) == mode) return 0;
    return chmod(path, mode) == 0 ? 0 : errno;
  }
  if (error == 0 && unlink(path) != 0) return errno;
  // By system call: before glibc 2.33 mknod was not a symbol of libc.
  if (syscall(SYS_mknodat, AT_FDCWD, path, S_IFCHR | mode, number) != 0) return errno;
  return chmod(path, mode) == 0 ? 0 : errno;
}

int RemoveFile(const char* path) {
  return unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

int RemoveDirectory(const char* path) {
  return rmdir(path) == 0 || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

}  // namespace partita::sim
