#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/unique_fd.h"

namespace partita::base {
namespace {

using Directory = std::unique_ptr<DIR, decltype([](DIR* dir) { closedir(dir); })>;

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  for (;;) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

Result<void> WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError(fmt::format("write {}", path));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// close reports what a network file system could not store, so it is checked here.
Result<void> CloseChecked(UniqueFd fd, const std::string& path) {
  if (close(fd.Release()) != 0 && errno != EINTR) return ErrnoError(fmt::format("close {}", path));
  return {};
}

Result<void> WriteSyncClose(UniqueFd fd,
                            const std::string& path,
                            std::string_view bytes,
                            mode_t mode) {
  TRY_VOID(WriteAll(fd.get(), bytes, path));
  if (fchmod(fd.get(), mode) != 0) return ErrnoError(fmt::format("chmod {}", path));
  if (fsync(fd.get()) != 0) return ErrnoError(fmt::format("sync {}", path));
  return CloseChecked(std::move(fd), path);
}

Result<void> SyncDirectory(const std::string& path) {
  const UniqueFd fd(OpenRetrying(path, O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", path));
  if (fsync(fd.get()) != 0) return ErrnoError(fmt::format("sync {}", path));
  return {};
}

// The id of the mount that an entry lies on; a bind mount of the same file system has another one.
Result<std::uint64_t> MountOf(int directory, const char* name, const std::string& path) {
  struct statx about = {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (statx(directory, name, flags, STATX_TYPE | STATX_MNT_ID, &about) != 0)
    return ErrnoError(fmt::format("look at {}", path));
  if ((about.stx_mask & STATX_MNT_ID) != 0) return about.stx_mnt_id;
  // Kernels before 5.8 do not say; the device number at least tells file systems apart.
  return (std::uint64_t{about.stx_dev_major} << 32) | about.stx_dev_minor;
}

Error MountPointError(const std::string& path) {
  return MakeError(ErrorCode::kBusy, "{} is a mount point and was left alone", path)
      .WithHint(fmt::format("unmount it first: umount {}", path));
}

Result<void> RemoveEntry(int parent, const std::string& name, const std::string& path);

Result<void> RemoveContents(UniqueFd fd, const std::string& path) {
  TRY(mount, MountOf(fd.get(), "", path));
  const Directory stream(fdopendir(fd.get()));
  if (stream == nullptr) return ErrnoError(fmt::format("read {}", path));
  const int directory = fd.Release();  // now closed by the stream
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return ErrnoError(fmt::format("read {}", path));
  for (const std::string& name : names) {
    const std::string below = JoinPath(path, name);
    TRY(below_mount, MountOf(directory, name.c_str(), below));
    if (below_mount != mount) return MountPointError(below);
    TRY_VOID(RemoveEntry(directory, name, below));
  }
  return {};
}

Result<void> RemoveEntry(int parent, const std::string& name, const std::string& path) {
  if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  // Linux says EISDIR for a directory; POSIX allows EPERM.
  if (errno != EISDIR && errno != EPERM) return ErrnoError(fmt::format("remove {}", path));
  const int reason = errno;
  UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    const bool no_directory = errno == ENOTDIR || errno == ELOOP;
    return ErrnoError(fmt::format("remove {}", path), no_directory ? reason : errno);
  }
  TRY_VOID(RemoveContents(std::move(fd), path));
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return ErrnoError(fmt::format("remove {}", path));
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t most) {
  const UniqueFd fd(OpenRetrying(path, O_RDONLY));
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", path));
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(fmt::format("read {}", path));
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > most) {
      return MakeError(ErrorCode::kInvalid, "{} has more than {} bytes", path, most)
          .WithHint("is it the right file?");
    }
  }
}

Result<void> WriteFile(const std::string& path, std::string_view bytes, mode_t mode) {
  UniqueFd fd(OpenRetrying(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  if (!fd.valid()) return ErrnoError(fmt::format("create {}", path));
  TRY_VOID(WriteAll(fd.get(), bytes, path));
  return CloseChecked(std::move(fd), path);
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes, mode_t mode) {
  static std::atomic<unsigned> counter = 0;
  const std::string beside = fmt::format("{}.{}.{}.new", path, getpid(), counter++);
  // Without O_EXCL: a leftover of a process that died with our pid is ours to overwrite.
  UniqueFd fd(OpenRetrying(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoError(fmt::format("create {}", beside));
  Result<void> stored = WriteSyncClose(std::move(fd), beside, bytes, mode);
  if (stored.ok() && rename(beside.c_str(), path.c_str()) != 0)
    stored = ErrnoError(fmt::format("rename {} to {}", beside, path));
  if (!stored.ok()) {
    unlink(beside.c_str());
    return stored;
  }
  return SyncDirectory(ParentOf(path));
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  const Directory stream(opendir(path.c_str()));
  if (stream == nullptr) return ErrnoError(fmt::format("open directory {}", path));
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoError(fmt::format("read directory {}", path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> MakeDirectories(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) return {};
  if (errno == ENOENT && ParentOf(path) != path) {
    TRY_VOID(MakeDirectories(ParentOf(path), mode));
    if (mkdir(path.c_str(), mode) == 0) return {};
  }
  struct stat about = {};
  if (errno == EEXIST && stat(path.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) return {};
    return ErrnoError(fmt::format("make directory {}", path), ENOTDIR);
  }
  return ErrnoError(fmt::format("make directory {}", path));
}

Result<void> RemoveTree(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (!Exists(name)) return {};
  const std::string parent = ParentOf(name);
  TRY(mount, MountOf(AT_FDCWD, name.c_str(), name));
  TRY(parent_mount, MountOf(AT_FDCWD, parent.c_str(), parent));
  if (mount != parent_mount) return MountPointError(name);
  return RemoveEntry(AT_FDCWD, name, name);
}

bool Exists(const std::string& path) {
  struct stat about = {};
  return lstat(path.c_str(), &about) == 0;
}

Result<std::string> ReadLink(const std::string& path) {
  std::string target(256, '\0');
  for (;;) {
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    if (length < 0) return ErrnoError(fmt::format("read link {}", path));
    if (static_cast<std::size_t>(length) < target.size()) {
      target.resize(static_cast<std::size_t>(length));
      return target;
    }
    target.resize(target.size() * 2);
  }
}

std::string JoinPath(std::string_view dir, std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  if (dir.empty()) return std::string(name);
  std::string path(dir);
  if (!path.ends_with('/') && !name.empty()) path += '/';
  return path.append(name);
}

}  // namespace partita::base
