// One connection to a server, TCP with or without TLS: connected, then bytes both ways, then
// closed. Whoever uses it counts the time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/http/name_lookup.h"
#include "net/http/tls.h"
#include "net/loop.h"

namespace partita::net {

// Loop's thread only. Nothing is told from within Make; a transport may be closed and let go of
// from inside of what it tells.
class Transport : public std::enable_shared_from_this<Transport> {
 public:
  // They live as long as it does: what they hold must not hold it.
  struct Events {
    // TLS included: what is sent from now on reaches a server that is who it must be.
    Task connected;
    std::function<void(std::string_view bytes)> bytes;
    // Once, unless Close was called: nothing where the server ended in order, so that what came is
    // all that it sent.
    std::function<void(std::optional<base::Error> why)> closed;
  };

  // Tries the addresses one after the other. `tls` null: none.
  static std::shared_ptr<Transport> Make(Loop& loop,
                                         const std::string& name,
                                         std::string server,
                                         SocketAddresses addresses,
                                         std::shared_ptr<const TlsContext> tls,
                                         Events events);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport();

  // Once connected.
  void Send(std::string_view bytes);
  // Takes what is there without waiting for the loop: whether the server has closed is known then.
  void LookNow();
  void Close();
  [[nodiscard]] bool open() const { return state_ == State::kOpen; }

 private:
  enum class State : std::uint8_t { kConnecting, kGreeting, kOpen, kClosed };

  Transport(Loop& loop,
            const std::string& name,
            std::string server,
            SocketAddresses addresses,
            std::shared_ptr<const TlsContext> tls,
            Events events);
  void Connect();
  void Connected();
  void Opened();
  void Read();
  void Received(std::string_view bytes);
  void Write(std::string_view bytes);
  void Flush();
  void End(std::optional<base::Error> why);

  Loop& loop_;
  std::string name_;
  std::string server_;
  SocketAddresses addresses_;
  std::size_t next_ = 0;
  std::shared_ptr<const TlsContext> context_;
  Events events_;
  State state_ = State::kConnecting;
  std::unique_ptr<TlsSession> tls_;
  base::UniqueFd fd_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> connecting_;
  std::optional<base::Error> failed_;  // the last address's
  std::string output_;
};

}  // namespace partita::net
