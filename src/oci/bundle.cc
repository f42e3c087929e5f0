#include "oci/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace partita::oci {
namespace {

constexpr const char* kConfig = "config.json";
constexpr std::size_t kMostConfig = std::size_t{16} << 20;

// What is there of the new file until it has its name.
class Unfinished {
 public:
  Unfinished(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!name_.empty()) unlinkat(directory_, name_.c_str(), 0);
  }
  void Keep() { name_.clear(); }

 private:
  int directory_;
  std::string name_;
};

base::Result<void> WriteAll(int fd, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoError(what);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

base::Result<Bundle> Bundle::Open(const std::string& path) {
  TRY(directory, base::RootDir::Open(path.empty() ? "." : path), "the bundle");
  return Bundle(std::move(directory), path.empty() ? "." : path);
}

base::Result<Bundle::Identity> Bundle::LookAtConfig() const {
  struct stat about = {};
  if (fstatat(directory_.fd(), kConfig, &about, AT_SYMLINK_NOFOLLOW) != 0)
    return base::ErrnoError(fmt::format("look at {}/{}", path_, kConfig));
  if (!S_ISREG(about.st_mode)) {
    return base::MakeError(base::ErrorCode::kInvalid, "{}/{} is no regular file", path_, kConfig)
        .WithHint("put the file itself there: what a link leads to is not followed");
  }
  return Identity{about.st_dev,          about.st_ino,  about.st_size, about.st_mtim.tv_sec,
                  about.st_mtim.tv_nsec, about.st_mode, about.st_uid,  about.st_gid};
}

base::Result<Spec> Bundle::Read() {
  TRY(before, LookAtConfig());
  TRY(text, directory_.Read(kConfig, kMostConfig));
  TRY(spec, Spec::Parse(std::move(text)), "{}", path_);
  read_ = before;
  TRY_VOID(CheckUnchanged());
  return spec;
}

base::Result<void> Bundle::CheckUnchanged() const {
  TRY(held, Look());
  struct stat named = {};
  if (stat(path_.c_str(), &named) != 0 || !IsSameFile(held, named)) {
    return base::MakeError(base::ErrorCode::kConflict,
                           "the bundle {} is another directory than it was", path_);
  }
  TRY(now, LookAtConfig());
  if (now != read_) {
    return base::MakeError(base::ErrorCode::kConflict, "{}/{} was changed while it was read", path_,
                           kConfig);
  }
  return {};
}

base::Result<void> Bundle::Write(const Spec& spec) const {
  PARTITA_CHECK(read_.has_value());
  const std::string name = fmt::format(".{}.partita-{}.new", kConfig, getpid());
  const std::string what = fmt::format("write {}/{}", path_, name);
  // One of a killed process with our number would stay for ever.
  unlinkat(directory_.fd(), name.c_str(), 0);
  base::UniqueFd file(openat(directory_.fd(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return base::ErrnoError(what);
  Unfinished unfinished(directory_.fd(), name);
  TRY_VOID(WriteAll(file.get(), spec.Text(), what));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return base::ErrnoError(what);
  const bool owned = about.st_uid == read_->uid && about.st_gid == read_->gid;
  if (!owned && fchown(file.get(), read_->uid, read_->gid) != 0) return base::ErrnoError(what);
  // Not synced: no container outlives the machine's memory.
  if (fchmod(file.get(), read_->mode & 07777) != 0) return base::ErrnoError(what);
  TRY_VOID(CheckUnchanged());
  if (renameat(directory_.fd(), name.c_str(), directory_.fd(), kConfig) != 0)
    return base::ErrnoError(fmt::format("write {}/{}", path_, kConfig));
  unfinished.Keep();
  return {};
}

base::Result<struct stat> Bundle::Look() const {
  struct stat about = {};
  if (fstat(directory_.fd(), &about) != 0) return base::ErrnoError("look at the bundle");
  return about;
}

base::Result<base::RootDir> Bundle::Root(const Spec& spec) const {
  const std::string path = spec.root_path();
  if (path.empty() || path.find('\0') != std::string::npos)
    return base::MakeError(base::ErrorCode::kInvalid, "{}: config.json names no root", path_);
  // Relative to the bundle that is held, whatever its path leads to by now.
  base::UniqueFd directory(openat(directory_.fd(), path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid())
    return base::ErrnoError(fmt::format("open the container's root {}", path));
  struct stat own = {}, about = {};
  if (stat("/", &own) != 0 || fstat(directory.get(), &about) != 0)
    return base::ErrnoError("look at the container's root");
  if (IsSameFile(own, about)) {
    return base::MakeError(base::ErrorCode::kInvalid, "the container's root {} is the host's",
                           path);
  }
  return base::RootDir::At(std::move(directory), path);
}

}  // namespace partita::oci
