#include "hw/watch/uevents.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace partita::hw::watch {
namespace {

// The group of the kernel's own messages; 2 is udev's.
constexpr unsigned kKernelGroup = 1;
// The kernel's messages are at most 2048 bytes of variables after the head.
constexpr std::size_t kMostBytes = 8192;

std::string_view TakeWord(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

}  // namespace

base::Result<Uevent> ParseUevent(std::string_view message) {
  std::string_view rest = message;
  const std::string_view head = TakeWord(rest);
  const std::size_t at = head.find('@');
  if (at == std::string_view::npos || at == 0 || !head.substr(at + 1).starts_with('/')) {
    return base::MakeError(base::ErrorCode::kInvalid, "no message of the kernel's form");
  }
  Uevent event;
  event.action = head.substr(0, at);
  event.path = head.substr(at + 1);
  while (!rest.empty()) {
    const std::string_view word = TakeWord(rest);
    if (word.starts_with("SUBSYSTEM=")) event.subsystem = word.substr(10);
    if (word.starts_with("DRIVER=")) event.driver = word.substr(7);
  }
  return event;
}

bool ConcernsGpus(const Uevent& event) {
  if (event.subsystem == "pci") return true;
  if (event.subsystem == "module") return event.path.starts_with("/module/nvidia");
  return event.driver.starts_with("nvidia") || event.path.find("/nvidia") != std::string::npos;
}

base::Result<Uevents> Uevents::Open() {
  base::UniqueFd fd(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!fd.valid()) return base::ErrnoError("open a socket for the kernel's device messages");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how sockets take addresses
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return base::ErrnoError("listen to the kernel's device messages");
  }
  return Uevents(std::move(fd));
}

Uevents::Heard Uevents::Read() {
  Heard heard;
  std::array<char, kMostBytes> buffer{};
  for (;;) {
    sockaddr_nl sender{};
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_name = &sender;
    message.msg_namelen = sizeof(sender);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = recvmsg(fd_.get(), &message, 0);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != ENOBUFS) return heard;
      heard.missed = true;
      continue;
    }
    if (sender.nl_pid != 0 || message.msg_namelen != sizeof(sender)) continue;
    base::Result<Uevent> event = ParseUevent({buffer.data(), static_cast<std::size_t>(size)});
    if (event.ok()) heard.events.push_back(*std::move(event));
  }
}

}  // namespace partita::hw::watch
