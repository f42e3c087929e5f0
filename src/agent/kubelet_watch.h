// Whether a kubelet is there to register with, told on the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/value.h"
#include "hw/watch/kubelet_socket.h"
#include "net/loop.h"

namespace partita::agent {

// Loop's thread only. Loop and log outlive it.
class KubeletWatch {
 public:
  KubeletWatch(net::Loop& loop, base::Log& log) : loop_(loop), log_(log) {}

  // Where the socket cannot be watched that is told, and nothing more happens.
  void Start(const std::string& socket);
  void Stop();
  // Now and then: not everything is told.
  void Look();

  // Called after each change, until what is returned goes, which it must do before this object.
  using Subscriber = std::function<void(hw::watch::KubeletSocket::Change)>;
  [[nodiscard]] std::shared_ptr<void> Subscribe(Subscriber subscriber);

  [[nodiscard]] bool present() const { return socket_ && socket_->present(); }
  // {"socket": path, "present": true, "seconds": since when}; null where nothing is watched.
  [[nodiscard]] base::Value State() const;

 private:
  void Found(hw::watch::KubeletSocket::Change change);

  net::Loop& loop_;
  base::Log& log_;
  std::optional<hw::watch::KubeletSocket> socket_;
  std::unique_ptr<net::Watch> watch_;
  base::Clock::Steady since_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
};

}  // namespace partita::agent
