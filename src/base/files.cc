#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "base/descriptor_io.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::base {
namespace {

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  for (;;) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EINTR) return fd;
  }
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

// Where a path leads, once its links were followed.
struct Destination {
  std::string path;
  bool replaceable = false;       // a regular file, or nothing yet
  std::optional<int> descriptor;  // one of this process, named through /proc or /dev/fd
};

std::optional<int> OwnDescriptor(const std::string& path) {
  using Resolved = std::unique_ptr<char, decltype([](char* text) { free(text); })>;
  const Resolved parent(realpath(ParentOf(path).c_str(), nullptr));
  const Resolved own(realpath("/proc/self/fd", nullptr));
  if (parent == nullptr || own == nullptr || std::string_view(parent.get()) != own.get())
    return std::nullopt;
  const auto number = ParseUnsigned(std::string_view(path).substr(path.find_last_of('/') + 1));
  if (!number || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

// The rule of fs.protected_symlinks, which is not on everywhere: others can put a link where root
// is about to write, and choose what it overwrites.
Result<void> CheckLink(const std::string& path, const struct stat& link) {
  struct stat directory = {};
  if (stat(ParentOf(path).c_str(), &directory) != 0)
    return ErrnoError(fmt::format("look at {}", ParentOf(path)));
  const bool is_public = (directory.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
  if (!is_public || link.st_uid == geteuid() || link.st_uid == directory.st_uid) return {};
  return MakeError(ErrorCode::kDenied,
                   "{} is a link that user {} put into a directory that everybody may write: not "
                   "followed",
                   path, link.st_uid)
      .WithHint("name the file itself, or one in a directory of your own");
}

// Links of procfs lead to open files, whatever their text says.
bool IsOnProc(const std::string& directory) {
  struct statfs about = {};
  return statfs(directory.c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

// Where a link in `directory` points.
std::string LinkedPath(const std::string& directory, const std::string& target) {
  return target.starts_with('/') ? target : JoinPath(directory, target);
}

Result<Destination> FollowLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  Destination to{path, false, std::nullopt};
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat about = {};
    if (lstat(to.path.c_str(), &about) != 0) {
      if (errno != ENOENT) return ErrnoError(fmt::format("look at {}", to.path));
      to.replaceable = true;
      return to;
    }
    if (!S_ISLNK(about.st_mode)) {
      to.replaceable = S_ISREG(about.st_mode);
      return to;
    }
    const std::string directory = ParentOf(to.path);
    if (IsOnProc(directory)) {
      to.descriptor = OwnDescriptor(to.path);
      return to;
    }
    TRY_VOID(CheckLink(to.path, about));
    Result<std::string> target = ReadLink(to.path);
    if (!target.ok()) return std::move(target).error();
    to.path = LinkedPath(directory, *target);
  }
  return ErrnoError(fmt::format("follow {}", path), ELOOP);
}

// A device, a pipe, an open descriptor: what is there stays, and gets the bytes.
Result<void> WriteInto(const Destination& to, std::string_view bytes) {
  // A descriptor is copied: opened anew, a file would be written from its beginning. And what was
  // no link a moment ago is not followed if it is one now.
  const int flags = O_WRONLY | O_NOCTTY |
                    (to.replaceable || IsOnProc(ParentOf(to.path)) ? O_TRUNC : 0) |
                    (IsOnProc(ParentOf(to.path)) ? 0 : O_NOFOLLOW);
  UniqueFd fd(to.descriptor ? fcntl(*to.descriptor, F_DUPFD_CLOEXEC, 0)
                            : OpenRetrying(to.path, flags));
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", to.path));
  TRY_VOID(WriteAll(fd.get(), bytes, to.path));
  return CloseChecked(std::move(fd), to.path);
}

struct NewFile {
  std::string name;
  UniqueFd fd;
};

// In a directory that others may write they could wait for a name that they can guess, with a file
// of theirs or a link behind it.
Result<NewFile> MakeBeside(int directory, const std::string& path) {
  for (;;) {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
      return ErrnoError("get a random number");
    std::string name = fmt::format(".partita-{:016x}.new", number);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(openat(directory, name.c_str(), flags, 0600));
    if (fd.valid()) return NewFile{std::move(name), std::move(fd)};
    if (errno != EEXIST && errno != EINTR)
      return ErrnoError(fmt::format("create a file beside {}", path));
  }
}

// What was closed stays closed: a file that is replaced keeps its owner, and of the mode asked for
// what it had. Not where others may write beside it: they chose who owns what is there.
Result<mode_t> TakeAfter(int directory, const char* name, int fd, mode_t mode) {
  struct stat before = {}, around = {};
  if (fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) != 0) return mode;
  if (fstat(directory, &around) != 0) return ErrnoError("look at a directory");
  if ((around.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
      fchown(fd, before.st_uid, before.st_gid) != 0 && errno != EPERM)
    return ErrnoError(fmt::format("give {} its owner", name));
  return mode & before.st_mode & 0777;
}

Result<void> Replace(const std::string& path,
                     std::string_view bytes,
                     mode_t mode,
                     Heritage heritage) {
  const std::string parent = ParentOf(path);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const UniqueFd directory(OpenRetrying(parent, O_RDONLY | O_DIRECTORY));
  if (!directory.valid()) return ErrnoError(fmt::format("open {}", parent));
  TRY(beside, MakeBeside(directory.get(), path));
  const Result<mode_t> kept = heritage == Heritage::kNothing
                                  ? Result<mode_t>(mode)
                                  : TakeAfter(directory.get(), name.c_str(), beside.fd.get(), mode);
  Result<void> stored = kept.ok() ? WriteSyncClose(std::move(beside.fd), path, bytes, *kept)
                                  : Result<void>(kept.error());
  if (stored.ok() &&
      renameat(directory.get(), beside.name.c_str(), directory.get(), name.c_str()) != 0)
    stored = ErrnoError(fmt::format("replace {}", path));
  if (!stored.ok()) {
    unlinkat(directory.get(), beside.name.c_str(), 0);
    return stored;
  }
  if (fsync(directory.get()) != 0) return ErrnoError(fmt::format("sync {}", parent));
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
  const DirectoryStream stream(fdopendir(fd.get()));
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

std::string NameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Of a directory of which the last parts need not be there.
Result<std::string> RealDirectory(const std::string& path) {
  using Resolved = std::unique_ptr<char, decltype([](char* text) { free(text); })>;
  const Resolved resolved(realpath(path.empty() ? "." : path.c_str(), nullptr));
  if (resolved != nullptr) return std::string(resolved.get());
  const std::string parent = ParentOf(path), name = NameOf(path);
  if (errno != ENOENT || parent == path || name == "..")
    return ErrnoError(fmt::format("look at {}", path));
  TRY(above, RealDirectory(parent));
  return name.empty() || name == "." ? above : JoinPath(above, name);
}

Result<std::string> ReadAll(int fd, std::size_t most, const std::string& path) {
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
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

Error NoRegularFile(const std::string& path) {
  return MakeError(ErrorCode::kInvalid, "{} is no regular file", path)
      .WithHint("remove it: nothing else can be kept there");
}

}  // namespace

// A signal that somebody handles ends it: a pipe without a writer would otherwise keep a program
// that was told to stop.
Result<std::string> ReadFile(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", path));
  return ReadAll(fd.get(), most, path);
}

Result<std::string> ReadRegularFile(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // A socket, or a node without its driver.
  if (!fd.valid() && errno == ENXIO) return NoRegularFile(path);
  if (!fd.valid()) return ErrnoError(fmt::format("open {}", path));
  struct stat about = {};
  if (fstat(fd.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", path));
  if (!S_ISREG(about.st_mode)) return NoRegularFile(path);
  return ReadAll(fd.get(), most, path);
}

Result<void> WriteFile(const std::string& path, std::string_view bytes, mode_t mode) {
  UniqueFd fd(OpenRetrying(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  if (!fd.valid()) return ErrnoError(fmt::format("create {}", path));
  TRY_VOID(WriteAll(fd.get(), bytes, path));
  return CloseChecked(std::move(fd), path);
}

Result<void> WriteFileAtomically(const std::string& path,
                                 std::string_view bytes,
                                 mode_t mode,
                                 Heritage heritage) {
  TRY(to, FollowLinks(path));
  if (!to.replaceable) return WriteInto(to, bytes);
  Result<void> replaced = Replace(to.path, bytes, mode, heritage);
  // A file that is mounted over another, as containers have them, cannot be renamed onto.
  const bool mounted =
      !replaced.ok() && replaced.error().native() && replaced.error().native()->value == EBUSY;
  return mounted ? WriteInto(to, bytes) : replaced;
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  const DirectoryStream stream(opendir(path.c_str()));
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

std::string OnHost(std::string path, std::string host_root) {
  for (std::string* each : {&path, &host_root})
    while (each->ends_with('/')) each->pop_back();
  const std::optional<std::string_view> below = WithoutPrefix(path, host_root);
  if (below && (below->empty() || below->starts_with('/'))) path = std::string(*below);
  return path.empty() ? "/" : path;
}

Result<void> ReplaceRegularFile(const std::string& path, std::string_view bytes, mode_t mode) {
  struct stat about = {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return NoRegularFile(path);
  return WriteFileAtomically(path, bytes, mode, Heritage::kNothing);
}

Result<std::string> RealPath(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::string way = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::string name = NameOf(way);
    const bool is_directory = name.empty() || name == "." || name == "..";
    TRY(directory, RealDirectory(is_directory ? way : ParentOf(way)));
    if (is_directory) return directory;
    std::string whole = JoinPath(directory, name);
    Result<std::string> target = ReadLink(whole);
    if (!target.ok()) return whole;
    way = target->starts_with('/') ? *target : JoinPath(directory, *target);
  }
  return ErrnoError(fmt::format("follow {}", path), ELOOP);
}

}  // namespace partita::base
