#include "base/root_walk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/mount_id.h"

namespace partita::base {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

// Links of procfs below a process lead to open files, whatever their text says; those of its root
// ("self", "mounts") are plain ones.
bool IsMagic(int link, int parent) {
  constexpr ino_t kRootOfProc = 1;
  struct statfs about = {};
  struct stat around = {};
  if (fstatfs(link, &about) != 0 || about.f_type != PROC_SUPER_MAGIC) return false;
  return fstat(parent, &around) != 0 || around.st_ino != kRootOfProc;
}

}  // namespace

std::vector<std::string> Components(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    if (!component.empty() && component != ".") components.emplace_back(component);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

bool MeansDirectory(std::string_view path) { return path.ends_with('/') || path.ends_with("/."); }

int RootWalk::parent() const {
  return steps_.size() < 2 ? root_ : steps_[steps_.size() - 2].fd.get();
}

std::string RootWalk::last_name() const { return steps_.empty() ? "" : steps_.back().name; }

std::string RootWalk::path() const {
  std::string path;
  for (const Step& step : steps_) path += "/" + step.name;
  return path.empty() ? "/" : path;
}

UniqueFd RootWalk::TakeHere() {
  if (steps_.empty()) return UniqueFd(fcntl(root_, F_DUPFD_CLOEXEC, 0));
  return std::move(steps_.back().fd);
}

// A directory that somebody else makes, or takes away, in the same moment is tried again; not for
// ever.
Result<UniqueFd> RootWalk::Enter(const std::string& name, std::optional<mode_t> make) const {
  constexpr int kTries = 64;
  for (int tries = 0; tries < kTries; ++tries) {
    UniqueFd fd(openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd.valid()) return fd;
    if (errno != ENOENT || !make) return ErrnoError(fmt::format("open {}", name_));
    TRY_VOID(CheckMount());
    if (mkdirat(here(), name.c_str(), *make) != 0 && errno != EEXIST)
      return ErrnoError(fmt::format("make directory {}", name_));
  }
  return ErrnoError(fmt::format("make directory {}", name_), EAGAIN);
}

Result<std::optional<std::string>> RootWalk::LinkText(int fd) const {
  struct stat about = {};
  if (fstat(fd, &about) != 0) return ErrnoError(fmt::format("look at {}", name_));
  if (!S_ISLNK(about.st_mode)) return std::optional<std::string>();
  if (IsMagic(fd, here()))
    return ErrnoError(fmt::format("follow a link of /proc in {}", name_), ELOOP);
  std::array<char, PATH_MAX> text;
  const ssize_t length = readlinkat(fd, "", text.data(), text.size());
  if (length < 0) return ErrnoError(fmt::format("read a link in {}", name_));
  if (static_cast<std::size_t>(length) == text.size())
    return ErrnoError(fmt::format("read a link in {}", name_), ENAMETOOLONG);
  return std::optional<std::string>(std::string(text.data(), static_cast<std::size_t>(length)));
}

// A plain path means what is mounted there, as whoever made the container wanted it; a link is only
// what the tree's author wants.
Result<void> RootWalk::CheckMount() const {
  if (!mount_) return {};
  TRY(mount, MountIdOf(here()));
  if (mount == *mount_) return {};
  return MakeError(ErrorCode::kInvalid, "a link in {} leads to another mount: nothing is written",
                   name_);
}

Result<void> RootWalk::Go(std::string_view path, Last last, std::optional<mode_t> make) {
  if (MeansDirectory(path)) last = Last::kFollow;
  std::vector<std::string> rest = Components(path);
  std::reverse(rest.begin(), rest.end());  // the next one is at the end
  for (int links = 0; !rest.empty();) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    if (name == "..") {
      if (!steps_.empty()) steps_.pop_back();
      continue;
    }
    TRY(fd, Enter(name, make));
    TRY(link, LinkText(fd.get()));
    if (!link || (rest.empty() && last == Last::kStay)) {
      steps_.push_back({std::move(fd), name});
      continue;
    }
    if (++links > kMostLinks) return ErrnoError(fmt::format("follow {}", name_), ELOOP);
    if (purpose_ == For::kWriting && !mount_) {
      TRY(mount, MountIdOf(here()));
      mount_ = mount;
    }
    if (link->starts_with('/')) steps_.clear();
    std::vector<std::string> text = Components(*link);
    rest.insert(rest.end(), text.rbegin(), text.rend());
  }
  return CheckMount();
}

}  // namespace partita::base
