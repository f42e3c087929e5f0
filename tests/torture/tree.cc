#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace partita::torture {
namespace {

std::string ReadBytes(const std::string& path) {
  std::string content;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return content;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
    content.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return content;
}

void ReadInto(const std::string& root, const std::string& path, Tree* tree) {
  const std::string full = root + "/" + path;
  struct stat status {};
  if (lstat(full.c_str(), &status) != 0) return;
  Entry entry{status.st_mode, S_ISCHR(status.st_mode) ? status.st_rdev : 0, ""};
  if (S_ISREG(status.st_mode)) entry.content = ReadBytes(full);
  if (S_ISLNK(status.st_mode)) {
    char target[4096];
    const ssize_t length = readlink(full.c_str(), target, sizeof target);
    if (length > 0) entry.content.assign(target, static_cast<std::size_t>(length));
  }
  tree->emplace(path, std::move(entry));
  if (!S_ISDIR(status.st_mode)) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(full.c_str()), closedir);
  if (directory == nullptr) return;
  while (const dirent* item = readdir(directory.get())) {
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") ReadInto(root, fmt::format("{}/{}", path, name), tree);
  }
}

bool Make(const std::string& path, const Entry& entry) {
  if (S_ISDIR(entry.mode)) {
    return mkdir(path.c_str(), 0700) == 0 && chmod(path.c_str(), entry.mode & 07777) == 0;
  }
  if (S_ISLNK(entry.mode)) return symlink(entry.content.c_str(), path.c_str()) == 0;
  if (!S_ISREG(entry.mode)) {
    return mknod(path.c_str(), entry.mode, entry.device) == 0 &&
           chmod(path.c_str(), entry.mode & 07777) == 0;
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = write(fd, entry.content.data(), entry.content.size()) ==
                           static_cast<ssize_t>(entry.content.size()) &&
                       fchmod(fd, entry.mode & 07777) == 0;
  return close(fd) == 0 && written;
}

bool Remove(const std::string& path, const Entry& entry) {
  return (S_ISDIR(entry.mode) ? rmdir(path.c_str()) : unlink(path.c_str())) == 0;
}

}  // namespace

Tree ReadTree(const std::string& root, const std::vector<std::string>& parts) {
  Tree tree;
  for (const std::string& part : parts) ReadInto(root, part, &tree);
  return tree;
}

bool RestoreTree(const std::string& root, const Tree& disk, const Tree& wanted) {
  // Backwards, so that a directory is empty when its turn comes.
  for (auto it = disk.rbegin(); it != disk.rend(); ++it) {
    const auto same = wanted.find(it->first);
    const bool keep =
        same != wanted.end() &&
        (same->second == it->second || (S_ISDIR(same->second.mode) && S_ISDIR(it->second.mode)));
    if (!keep && !Remove(root + "/" + it->first, it->second)) return false;
  }
  for (const auto& [path, entry] : wanted) {
    const auto same = disk.find(path);
    if (same != disk.end() && same->second == entry) continue;
    const std::string full = fmt::format("{}/{}", root, path);
    const bool directory_stays =
        same != disk.end() && S_ISDIR(entry.mode) && S_ISDIR(same->second.mode);
    if (directory_stays ? chmod(full.c_str(), entry.mode & 07777) != 0 : !Make(full, entry)) {
      return false;
    }
  }
  return true;
}

TreeWatch::TreeWatch(std::string root, std::vector<std::string> parts)
    : root_(std::move(root)),
      parts_(std::move(parts)),
      fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (fd_ < 0) {
    std::perror("torture: inotify_init1");
    std::abort();
  }
  AddAll();
}

TreeWatch::~TreeWatch() { close(fd_); }

void TreeWatch::Add(const std::string& path) {
  constexpr unsigned kEvents = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVE | IN_ATTRIB | IN_ONLYDIR;
  if (inotify_add_watch(fd_, path.c_str(), kEvents) < 0) {
    std::perror(("torture: watch " + path).c_str());
    std::abort();
  }
}

void TreeWatch::AddAll() {
  for (const auto& [path, entry] : ReadTree(root_, parts_)) {
    if (S_ISDIR(entry.mode)) Add(root_ + "/" + path);
  }
}

bool TreeWatch::Changed() {
  alignas(inotify_event) char events[16384];
  bool changed = false;
  while (read(fd_, events, sizeof events) > 0) changed = true;
  if (changed) AddAll();  // adding a watch that exists is harmless, and new directories need one
  return changed;
}

}  // namespace partita::torture
