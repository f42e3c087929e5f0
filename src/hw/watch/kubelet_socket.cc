#include "hw/watch/kubelet_socket.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::hw::watch {
namespace {

// A socket's time is that of its making: nobody writes to the file itself.
std::optional<std::string> Identify(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return std::nullopt;
  return fmt::format("{}:{}:{}.{}", about.st_dev, about.st_ino, about.st_mtim.tv_sec,
                     about.st_mtim.tv_nsec);
}

}  // namespace

base::Result<KubeletSocket> KubeletSocket::Open(const std::string& path) {
  TRY(paths, Paths::Open());
  // The two above its directory too: they tell that one was removed in which somebody still is, as
  // every plugin is that has a socket there.
  std::string directory = path;
  for (int level = 0; level < 3 && directory.rfind('/') > 0; ++level) {
    directory.resize(directory.rfind('/'));
    TRY_VOID(paths.Watch(directory));
  }
  KubeletSocket socket(std::move(paths), path);
  socket.socket_ = Identify(socket.path_);
  return socket;
}

KubeletSocket::Change KubeletSocket::Read() {
  return paths_.Read().empty() ? Change::kNone : Look();
}

KubeletSocket::Change KubeletSocket::Look() {
  paths_.PlaceAgain();
  const std::optional<std::string> before = std::exchange(socket_, Identify(path_));
  if (before == socket_) return Change::kNone;
  if (!socket_) return Change::kGone;
  return before ? Change::kReplaced : Change::kAppeared;
}

}  // namespace partita::hw::watch
