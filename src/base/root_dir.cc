#include "base/root_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <limits>
#include <memory>
#include <optional>

#include "base/descriptor_io.h"
#include "base/mount_id.h"
#include "base/root_walk.h"

namespace partita::base {
namespace {

int Openat2(int directory, const char* path, int flags, std::uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  return static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof how));
}

Result<void> CheckPath(std::string_view path) {
  if (path.find('\0') != std::string_view::npos)
    return MakeError(ErrorCode::kInvalid, "a path has a NUL byte in it");
  if (path.size() >= PATH_MAX)
    return MakeError(ErrorCode::kInvalid, "a path has {} bytes, more than 4095", path.size());
  for (const std::string& component : Components(path)) {
    if (component.size() > NAME_MAX)
      return MakeError(ErrorCode::kInvalid, "a path has a name of {} bytes, more than 255",
                       component.size());
  }
  return {};
}

// The kernel gives up (EAGAIN) where somebody renames or mounts while it goes through "..": a
// hostile one could do that for ever.
Result<UniqueFd> OpenByKernel(int root, const std::string& path, int flags, std::string called) {
  constexpr int kTries = 128;
  for (int tries = 0; tries < kTries; ++tries) {
    UniqueFd fd(Openat2(root, path.c_str(), flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
    if (fd.valid()) return fd;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return ErrnoError(std::move(called));
}

Result<UniqueFd> OpenByWalk(
    int root, std::string_view path, int flags, const std::string& name, std::string called) {
  const bool stay = (flags & O_NOFOLLOW) != 0;
  RootWalk walk(root, name, RootWalk::For::kReading);
  TRY_VOID(walk.Go(path, stay ? RootWalk::Last::kStay : RootWalk::Last::kFollow, std::nullopt));
  if (MeansDirectory(path)) flags |= O_DIRECTORY;
  // Whatever is there by now: not followed if it has become a link.
  UniqueFd fd(walk.last_name().empty() ? openat(walk.here(), ".", flags | O_CLOEXEC)
                                       : openat(walk.parent(), walk.last_name().c_str(),
                                                flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(std::move(called));
  return fd;
}

Result<struct stat> RegularFacts(int fd, const std::string& called) {
  struct stat about = {};
  if (fstat(fd, &about) != 0) return ErrnoError(fmt::format("look at {}", called));
  if (!S_ISREG(about.st_mode))
    return MakeError(ErrorCode::kInvalid, "{} is no regular file", called);
  return about;
}

Result<std::string> ReadOpened(const UniqueFd& fd, std::size_t most, const std::string& called) {
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(fmt::format("read {}", called));
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > most)
      return MakeError(ErrorCode::kInvalid, "{} has more than {} bytes", called, most);
  }
}

bool Matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = n;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsPattern(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

Result<std::string> UnusedName() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    return ErrnoError("get a random number");
  return fmt::format(".partita-{:016x}.new", number);
}

struct Owner {
  uid_t uid;
  gid_t gid;
};
struct Rights {
  mode_t mode;
  std::optional<Owner> owner;
};

Result<void> WriteFileIn(int directory,
                         const std::string& name,
                         std::string_view bytes,
                         const Rights& rights,
                         const std::string& called) {
  const UniqueFd file(
      openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EEXIST)
    return MakeError(ErrorCode::kConflict, "{} is there already", called);
  if (!file.valid()) return ErrnoError(fmt::format("create {}", called));
  Result<void> written = WriteAll(file.get(), bytes, called);
  // The owner first: another one loses the bits that let programs act as the owner.
  if (written.ok() && rights.owner && fchown(file.get(), rights.owner->uid, rights.owner->gid) != 0)
    written = ErrnoError(fmt::format("chown {}", called));
  if (written.ok() && fchmod(file.get(), rights.mode) != 0)
    written = ErrnoError(fmt::format("chmod {}", called));
  if (!written.ok()) unlinkat(directory, name.c_str(), 0);
  return written;
}

Result<void> PutInPlace(int directory,
                        const std::string& beside,
                        const std::string& name,
                        const std::string& called) {
  if (renameat(directory, beside.c_str(), directory, name.c_str()) == 0) return {};
  const int reason = errno;
  unlinkat(directory, beside.c_str(), 0);
  return ErrnoError(fmt::format("replace {}", called), reason);
}

Result<void> PutLinkIn(int directory,
                       const std::string& name,
                       const std::string& target,
                       const std::string& called) {
  std::array<char, PATH_MAX> text;
  const ssize_t length = readlinkat(directory, name.c_str(), text.data(), text.size());
  if (length >= 0 && std::string_view(text.data(), static_cast<std::size_t>(length)) == target)
    return {};
  TRY(beside, UnusedName());
  if (symlinkat(target.c_str(), directory, beside.c_str()) != 0)
    return ErrnoError(fmt::format("make a link beside {}", called));
  return PutInPlace(directory, beside, name, called);
}

// Of something in a directory, and no other way to call a directory.
bool IsName(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.size() <= NAME_MAX &&
         text.find('\0') == std::string_view::npos;
}

FileFacts FactsOf(const struct stat& about) {
  return {about.st_mode, about.st_rdev, about.st_uid, about.st_gid,
          static_cast<std::uint64_t>(about.st_size)};
}

}  // namespace

bool HasOpenat2() {
  static const bool has = UniqueFd(Openat2(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0)).valid();
  return has;
}

Result<UniqueFd> OpenOwnDescriptors() {
  UniqueFd own(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statfs about = {};
  if (own.valid() && fstatfs(own.get(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC)
    return own;
  return MakeError(ErrorCode::kUnavailable, "/proc is not the kernel's")
      .WithHint("mount -t proc proc /proc");
}

Result<UniqueFd> Reopen(const UniqueFd& path_descriptor, int flags) {
  TRY(own, OpenOwnDescriptors());
  UniqueFd fd(openat(own.get(), fmt::format("{}", path_descriptor.get()).c_str(),
                     (flags & ~O_NOFOLLOW) | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError("open a file anew");
  struct stat wanted = {}, got = {};
  if (fstat(path_descriptor.get(), &wanted) != 0 || fstat(fd.get(), &got) != 0)
    return ErrnoError("look at a file");
  if (wanted.st_dev != got.st_dev || wanted.st_ino != got.st_ino)
    return MakeError(ErrorCode::kDenied, "/proc/self/fd leads to another file")
        .WithHint("something is mounted over /proc/self or below it");
  return fd;
}

Result<RootDir> RootDir::Open(const std::string& directory) {
  if (directory.find('\0') != std::string::npos)
    return MakeError(ErrorCode::kInvalid, "a path has a NUL byte in it");
  UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(fmt::format("open directory {}", directory));
  return RootDir(std::move(fd), directory);
}

Result<RootDir> RootDir::At(UniqueFd directory, std::string name) {
  struct stat about = {};
  if (fstat(directory.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", name));
  if (!S_ISDIR(about.st_mode)) return ErrnoError(fmt::format("open directory {}", name), ENOTDIR);
  return RootDir(std::move(directory), std::move(name));
}

std::string RootDir::Called(std::string_view path) const {
  if (name_ == "/") return std::string(path);
  return fmt::format("{} in {}", path, name_);
}

Result<UniqueFd> RootDir::OpenAt(std::string_view path, int flags) const {
  PARTITA_CHECK((flags & (O_CREAT | O_TMPFILE)) == (flags & O_DIRECTORY));
  TRY_VOID(CheckPath(path));
  std::string called = fmt::format("open {}", Called(path));
  if (!HasOpenat2()) return OpenByWalk(fd(), path, flags, Called(path), std::move(called));
  // The kernel takes an empty path for an error; here it is the root, as "/" is.
  return OpenByKernel(fd(), path.empty() ? "/" : std::string(path), flags, std::move(called));
}

Result<FileFacts> RootDir::Look(std::string_view path) const {
  TRY(file, OpenAt(path, O_PATH | O_NOFOLLOW));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", Called(path)));
  return FactsOf(about);
}

Result<std::string> RootDir::Read(std::string_view path, std::size_t most) const {
  TRY(file, OpenAt(path, O_PATH));
  if (const auto about = RegularFacts(file.get(), Called(path)); !about.ok()) return about.error();
  TRY(bytes, Reopen(file, O_RDONLY | O_NONBLOCK | O_NOCTTY), "open {}", Called(path));
  return ReadOpened(bytes, most, Called(path));
}

Result<std::string> RootDir::ReadLink(std::string_view path) const {
  TRY(link, OpenAt(path, O_PATH | O_NOFOLLOW));
  std::array<char, PATH_MAX> text;
  const ssize_t length = readlinkat(link.get(), "", text.data(), text.size());
  // The kernel's ENOENT for what is no link would read as if nothing were there.
  if (length < 0)
    return ErrnoError(fmt::format("read link {}", Called(path)), errno == ENOENT ? EINVAL : errno);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

Result<std::vector<std::string>> RootDir::List(std::string_view path) const {
  return ListSome(path, std::numeric_limits<std::size_t>::max());
}

Result<std::vector<std::string>> RootDir::ListSome(std::string_view path, std::size_t most) const {
  TRY(directory, OpenAt(path, O_RDONLY | O_DIRECTORY));
  const DirectoryStream stream(fdopendir(directory.get()));
  if (stream == nullptr) return ErrnoError(fmt::format("read {}", Called(path)));
  // The stream closes it.
  [[maybe_unused]] const int taken = directory.Release();
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = readdir(stream.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most)
      return MakeError(ErrorCode::kInvalid, "{} has more than {} names", Called(path), most);
    names.emplace_back(name);
  }
  if (errno != 0) return ErrnoError(fmt::format("read {}", Called(path)));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> RootDir::Resolve(std::string_view path) const {
  TRY_VOID(CheckPath(path));
  RootWalk walk(fd(), Called(path), RootWalk::For::kReading);
  TRY_VOID(walk.Go(path, RootWalk::Last::kFollow, std::nullopt));
  return walk.path();
}

std::vector<std::string> RootDir::Glob(std::string_view pattern) const {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  Result<std::vector<std::string>> found = GlobWithin(pattern, most);
  return found.ok() ? *std::move(found) : std::vector<std::string>();
}

Result<std::vector<std::string>> RootDir::GlobWithin(std::string_view pattern,
                                                     std::size_t& names_left) const {
  std::vector<std::string> found{""};
  for (const std::string& component : Components(pattern)) {
    std::vector<std::string> next;
    for (const std::string& base : found) {
      if (!IsPattern(component)) {
        next.push_back(fmt::format("{}/{}", base, component));
        continue;
      }
      Result<std::vector<std::string>> names = ListSome(base.empty() ? "/" : base, names_left);
      if (!names.ok() && names.error().code() == ErrorCode::kInvalid)
        return std::move(names).error();
      if (!names.ok()) continue;
      names_left -= names->size();
      for (const std::string& name : *names) {
        if (Matches(component, name)) next.push_back(fmt::format("{}/{}", base, name));
      }
    }
    found = std::move(next);
  }
  std::erase_if(found, [this](const std::string& path) { return !Look(path).ok(); });
  std::sort(found.begin(), found.end());
  return found;
}

Result<UniqueFd> RootDir::OpenToChange(std::string_view path, std::optional<mode_t> make) const {
  TRY_VOID(CheckPath(path));
  RootWalk walk(fd(), Called(path), RootWalk::For::kWriting);
  TRY_VOID(walk.Go(path, RootWalk::Last::kFollow, make));
  UniqueFd there = walk.TakeHere();
  if (!there.valid()) return ErrnoError(fmt::format("open {}", Called(path)));
  return there;
}

Result<bool> RootDir::IsOnOwnMount(std::string_view path) const {
  TRY(there, OpenToChange(path, std::nullopt));
  TRY(mount, MountIdOf(there.get()));
  TRY(own, MountIdOf(fd()));
  return mount == own;
}

Result<UniqueFd> RootDir::MakeDirectories(std::string_view path, mode_t mode) const {
  TRY(made, OpenToChange(path, mode));
  struct stat about = {};
  if (fstat(made.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", Called(path)));
  if (!S_ISDIR(about.st_mode))
    return ErrnoError(fmt::format("make directory {}", Called(path)), ENOTDIR);
  return made;
}

// The directory of a new entry, and its name there.
Result<std::pair<UniqueFd, std::string>> RootDir::Parent(std::string_view path, bool make) const {
  TRY_VOID(CheckPath(path));
  const std::size_t slash = path.rfind('/');
  const bool has_slash = slash != std::string_view::npos;
  std::string name(has_slash ? path.substr(slash + 1) : path);
  if (name.empty() || name == "." || name == "..")
    return MakeError(ErrorCode::kInvalid, "{} does not end with the name of a file", Called(path));
  const std::string_view above = has_slash ? path.substr(0, slash + 1) : "/";
  Result<UniqueFd> directory =
      make ? MakeDirectories(above, 0755) : OpenToChange(above, std::nullopt);
  if (!directory.ok()) return std::move(directory).error();
  return std::pair(*std::move(directory), std::move(name));
}

Result<void> RootDir::WriteNew(std::string_view path, std::string_view bytes, mode_t mode) const {
  TRY(place, Parent(path, false));
  return WriteFileIn(place.first.get(), place.second, bytes, {mode, std::nullopt}, Called(path));
}

Result<void> RootDir::Replace(std::string_view path, std::string_view bytes, mode_t mode) const {
  TRY(place, Parent(path, false));
  TRY(beside, UnusedName());
  TRY_VOID(WriteFileIn(place.first.get(), beside, bytes, {mode, std::nullopt}, Called(path)));
  return PutInPlace(place.first.get(), beside, place.second, Called(path));
}

// The directory and the name that the path's links lead to.
Result<void> RootDir::Rewrite(std::string_view path, std::string_view bytes, mode_t mode) const {
  TRY_VOID(CheckPath(path));
  RootWalk walk(fd(), Called(path), RootWalk::For::kWriting);
  Result<void> went = walk.Go(path, RootWalk::Last::kFollow, std::nullopt);
  if (!went.ok() && went.error().code() == ErrorCode::kNotFound) return Replace(path, bytes, mode);
  if (!went.ok()) return went;
  TRY(about, RegularFacts(walk.here(), Called(path)));
  TRY(beside, UnusedName());
  const int directory = walk.parent();
  TRY_VOID(WriteFileIn(directory, beside, bytes,
                       {about.st_mode & 07777, Owner{about.st_uid, about.st_gid}}, Called(path)));
  return PutInPlace(directory, beside, walk.last_name(), Called(path));
}

Result<void> RootDir::PutLink(std::string_view target, std::string_view path) const {
  const NewLink link{target, path};
  return PutLinks({&link, 1});
}

Result<void> RootDir::PutLinks(std::span<const NewLink> links) const {
  std::optional<std::string_view> above;
  UniqueFd directory;
  for (const auto& [target, path] : links) {
    TRY_VOID(CheckPath(target), "target of {}", Called(path));
    const std::string_view folder = path.substr(0, path.rfind('/') + 1);
    std::string name(path.substr(folder.size()));
    if (above != folder || !IsName(name)) {
      TRY(place, Parent(path, true));
      directory = std::move(place.first);
      above = folder;
    }
    TRY_VOID(PutLinkIn(directory.get(), name, std::string(target), Called(path)));
  }
  return {};
}

}  // namespace partita::base
