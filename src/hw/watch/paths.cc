#include "hw/watch/paths.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace partita::hw::watch {
namespace {

constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
                                   IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::string Above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

base::Result<Paths> Paths::Open(Of what) {
  base::UniqueFd fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return base::ErrnoError("open inotify");
  return Paths(std::move(fd),
               what == Of::kNames ? kChanges : kChanges | std::uint32_t{IN_CLOSE_WRITE});
}

base::Result<void> Paths::Watch(const std::string& directory) {
  placed_.emplace(directory, "");
  return Place(directory);
}

base::Result<void> Paths::Place(const std::string& directory) {
  std::string path = directory;
  for (;;) {
    const int number = inotify_add_watch(fd_.get(), path.c_str(), changes_);
    if (number >= 0) {
      paths_[number] = path;
      placed_[directory] = path;
      // It may have come to be after we looked for it and before its parent was watched.
      // What is no directory has nothing to be found at ".".
      if (path == directory || access((directory + "/.").c_str(), F_OK) != 0) return {};
      path = directory;
    } else if ((errno == ENOENT || errno == ENOTDIR) && path != "/") {
      path = Above(path);
    } else {
      return base::ErrnoError("watch " + path);
    }
  }
}

void Paths::PlaceAgain() {
  // One that the kernel has no watch left for has the one above it.
  for (auto& [directory, place] : placed_) (void)Place(directory);
}

std::set<std::string> Paths::Read() {
  std::set<std::string> moved;  // where something happened
  bool everything = false;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = read(fd_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      at += sizeof(event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) everything = true;
      const auto known = paths_.find(event.wd);
      if (known == paths_.end()) continue;
      moved.insert(known->second);
      if ((event.mask & IN_IGNORED) != 0) paths_.erase(known);
    }
  }
  std::set<std::string> changed;
  for (auto& [directory, place] : placed_) {
    if (!everything && !moved.contains(place)) continue;
    const std::string before = place;
    const base::Result<void> again = Place(directory);
    // A sibling on the way to a directory that is still not there is nobody's concern.
    const bool above = before != directory && place == before;
    if (!above || everything || !again.ok()) changed.insert(directory);
  }
  return changed;
}

}  // namespace partita::hw::watch
