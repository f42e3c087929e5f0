// systemd's notification protocol (sd_notify(3)), by hand: one datagram a message. Without a
// NOTIFY_SOCKET nothing is sent.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/loop.h"

namespace partita::agent {

class Notifier {
 public:
  // What systemd put into the environment, which is taken out of it: programs that we start are
  // not the ones to speak.
  [[nodiscard]] static Notifier FromEnvironment();
  // A path, or "@name" of an abstract socket; empty: nobody listens.
  explicit Notifier(std::string socket, std::optional<net::Duration> watchdog = std::nullopt)
      : socket_(std::move(socket)), watchdog_(watchdog) {}

  void Ready(std::string_view status) const;
  void Status(std::string_view status) const;
  // Type=notify-reload wants the time at which it began.
  void Reloading(base::Clock::Steady now) const;
  void Stopping() const;
  void Watchdog() const;
  // How often Watchdog is to be called: half of what systemd waits for. Absent: never.
  [[nodiscard]] std::optional<net::Duration> watchdog_period() const;

 private:
  void Send(std::string_view message) const;
  std::string socket_;
  std::optional<net::Duration> watchdog_;  // systemd's patience
};

}  // namespace partita::agent
