#include "net/listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace partita::net {
namespace {

constexpr int kBacklog = 64;
// One wake-up takes so many at most: the loop has other things to do.
constexpr int kMostAtOnce = 16;
constexpr std::chrono::seconds kPause{1};

base::Error CannotListen(const base::ListenAddress& address, int error_number) {
  base::Error error =
      base::ErrnoError(fmt::format("listen on {}", ToString(address)), error_number);
  if (error_number != EADDRINUSE) return error;
  return base::MakeError(base::ErrorCode::kBusy, "listen on {}: another program does already",
                         ToString(address))
      .WithHint(fmt::format("`ss -ltnp sport = :{}` names it; `listen` in the configuration says "
                            "where else",
                            address.port));
}

base::Result<base::UniqueFd> NewSocket(int family, const base::ListenAddress& address) {
  base::UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return CannotListen(address, errno);
  return fd;
}

// Bound beside its place and moved there when it listens: nobody is ever refused by a socket that
// is not ready, and nobody else can open it in between.
base::Result<base::UniqueFd> ListenUnix(const base::ListenAddress& address, mode_t mode) {
  const std::string& path = address.path;
  const std::string beside = path + ".new";
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (beside.size() >= sizeof(where.sun_path)) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "listen on {}: a socket's path has less than {} bytes", path,
                           sizeof(where.sun_path));
  }
  std::memcpy(where.sun_path, beside.c_str(), beside.size() + 1);
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
    return base::MakeError(base::ErrorCode::kConflict,
                           "listen on {}: something else than a socket is there", path)
        .WithHint("move it away");
  }
  TRY(fd, NewSocket(AF_UNIX, address));
  if (unlink(beside.c_str()) != 0 && errno != ENOENT) return base::ErrnoError("remove " + beside);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
    return CannotListen(address, errno);
  if (chmod(beside.c_str(), mode) != 0) return base::ErrnoError("set the mode of " + beside);
  if (listen(fd.get(), kBacklog) != 0) return CannotListen(address, errno);
  if (std::rename(beside.c_str(), path.c_str()) != 0)
    return base::ErrnoError(fmt::format("rename {} to {}", beside, path));
  return fd;
}

base::Result<void> BindTo(int fd, const base::ListenAddress& address, int family) {
  sockaddr_storage where{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    auto& six = reinterpret_cast<sockaddr_in6&>(where);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    if (!address.host.empty()) inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr);
    size = sizeof(six);
    // All of the machine means both families.
    const int only_six = address.host.empty() ? 0 : 1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, sizeof(only_six));
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(where);
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
    if (!address.host.empty()) inet_pton(AF_INET, address.host.c_str(), &four.sin_addr);
    size = sizeof(four);
  }
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&where), size) != 0 || listen(fd, kBacklog) != 0)
    return CannotListen(address, errno);
  return {};
}

base::Result<base::UniqueFd> ListenTcp(base::ListenAddress& address) {
  const bool any = address.host.empty();
  int family = any || address.host.find(':') != std::string::npos ? AF_INET6 : AF_INET;
  base::Result<base::UniqueFd> fd = NewSocket(family, address);
  base::Result<void> bound = fd.ok() ? BindTo(fd->get(), address, family) : fd.error();
  // A machine without IPv6 has no socket of it, or no address.
  const bool no_six = !bound.ok() && bound.error().code() != base::ErrorCode::kBusy;
  if (no_six && any) {
    family = AF_INET;
    fd = NewSocket(family, address);
    if (fd.ok()) bound = BindTo(fd->get(), address, family);
  }
  if (!fd.ok()) return std::move(fd).error();
  if (!bound.ok()) return std::move(bound).error();
  sockaddr_in6 chosen{};  // the port is at the same place in both families
  socklen_t size = sizeof(chosen);
  if (getsockname(fd->get(), reinterpret_cast<sockaddr*>(&chosen), &size) == 0)
    address.port = ntohs(chosen.sin6_port);
  return fd;
}

}  // namespace

base::Result<std::unique_ptr<Listener>> Listener::Open(const base::ListenAddress& address,
                                                       mode_t mode) {
  PARTITA_CHECK(address.kind != base::ListenAddress::Kind::kOff);
  base::ListenAddress bound = address;
  const bool has_file = address.kind == base::ListenAddress::Kind::kUnix;
  TRY(fd, has_file ? ListenUnix(address, mode) : ListenTcp(bound));
  std::unique_ptr<Listener> listener(new Listener(std::move(bound), std::move(fd)));
  struct stat there {};
  if (has_file && lstat(address.path.c_str(), &there) == 0) listener->inode_ = there.st_ino;
  return listener;
}

Listener::~Listener() {
  watch_.reset();
  if (inode_ != 0 && !Lost()) unlink(address_.path.c_str());
}

bool Listener::Lost() const {
  struct stat there {};
  return inode_ != 0 && (lstat(address_.path.c_str(), &there) != 0 || there.st_ino != inode_);
}

void Listener::Start(Loop& loop,
                     const std::string& name,
                     std::function<void(base::UniqueFd)> accepted) {
  accepted_ = std::move(accepted);
  watch_ = loop.NewWatch(name, fd_.get());
  pause_ = loop.NewTimer(name + "-pause");
  Listen();
}

void Listener::Listen() {
  watch_->OnReadable([this] { Accept(); });
}

void Listener::Accept() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    base::UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      accepted_(std::move(fd));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // The peer may be gone already. What else fails, fails again at once: the socket stays ready.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      watch_->OnReadable(nullptr);
      pause_->After(kPause, [this] { Listen(); });
      return;
    }
  }
}

}  // namespace partita::net
