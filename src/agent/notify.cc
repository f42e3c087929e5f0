#include "agent/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::agent {
namespace {

std::string Take(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

Notifier Notifier::FromEnvironment() {
  const std::string socket = Take("NOTIFY_SOCKET");
  const std::optional<std::uint64_t> patience = base::ParseUnsigned(Take("WATCHDOG_USEC"));
  const std::string watched = Take("WATCHDOG_PID");
  const bool ours = watched.empty() || watched == std::to_string(getpid());
  if (!patience || *patience == 0 || !ours) return Notifier(socket);
  return Notifier(socket, std::chrono::microseconds(*patience));
}

std::optional<net::Duration> Notifier::watchdog_period() const {
  if (!watchdog_ || socket_.empty()) return std::nullopt;
  return *watchdog_ / 2;
}

void Notifier::Ready(std::string_view status) const {
  Send(fmt::format("READY=1\nSTATUS={}", base::Printable(status)));
}

void Notifier::Status(std::string_view status) const {
  Send(fmt::format("STATUS={}", base::Printable(status)));
}

void Notifier::Reloading(base::Clock::Steady now) const {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", since.count()));
}

void Notifier::Stopping() const { Send("STOPPING=1"); }

void Notifier::Watchdog() const { Send("WATCHDOG=1"); }

// A message that systemd does not take is lost, as sd_notify(3) says of its own.
void Notifier::Send(std::string_view message) const {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(where.sun_path)) return;
  std::memcpy(where.sun_path, socket_.data(), socket_.size());
  if (where.sun_path[0] == '@') where.sun_path[0] = '\0';
  const base::UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)!sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                reinterpret_cast<const sockaddr*>(&where), size);
}

}  // namespace partita::agent
