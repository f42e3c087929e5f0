// Connections to one server: made at need, kept for a while when an answer has ended, given to the
// next who asks.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/messages.h"
#include "net/http/name_lookup.h"
#include "net/http/tls.h"
#include "net/http/transport.h"
#include "net/loop.h"

namespace partita::net {

// Loop's thread only.
class PooledConnection {
 public:
  // Who has it. Told only while it does; it may close or give back from inside of what it is told.
  class User {
   public:
    User() = default;
    User(const User&) = delete;
    User& operator=(const User&) = delete;
    virtual ~User() = default;
    virtual void Connected() = 0;
    virtual void Received(std::string_view bytes) = 0;
    // Nothing: the server ended in order.
    virtual void Closed(std::optional<base::Error> why) = 0;
  };

  [[nodiscard]] bool open() const { return transport_ != nullptr && transport_->open(); }
  // Somebody had an answer on it before.
  [[nodiscard]] bool reused() const { return reused_; }
  void Send(std::string_view bytes) { transport_->Send(bytes); }
  // Its user is not told.
  void Close();

 private:
  friend class ConnectionPool;
  std::unique_ptr<NameLookup> lookup_;
  std::shared_ptr<Transport> transport_;
  // Of the target that it is made for, until it begins; null: none.
  std::shared_ptr<const TlsContext> tls_;
  User* user_ = nullptr;
  bool reused_ = false;
  std::uint64_t generation_ = 0;
  base::Clock::Steady idle_since_{};
};

class ConnectionPool {
 public:
  static constexpr std::chrono::seconds kIdle{30};
  static constexpr std::size_t kMostIdle = 2;

  ConnectionPool(Loop& loop, std::string name);
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;
  ~ConnectionPool();

  // Another one: idle connections are closed, those in use end with their answer.
  void SetTarget(HttpTarget target);
  [[nodiscard]] const HttpTarget& target() const { return target_; }
  // One that is open, or a new one that will tell its user. `fresh`: a new one.
  // kInvalid: certificates or key of the target cannot be used.
  [[nodiscard]] base::Result<std::shared_ptr<PooledConnection>> Take(bool fresh,
                                                                     PooledConnection::User& user);
  // After a whole answer. It has no user from then on.
  void GiveBack(const std::shared_ptr<PooledConnection>& connection);
  void CloseIdle();
  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

 private:
  std::shared_ptr<PooledConnection> TakeIdle();
  void Begin(const std::shared_ptr<PooledConnection>& connection, SocketAddresses addresses);
  void CloseOld();

  Loop& loop_;
  std::string name_;
  HttpTarget target_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const TlsContext> tls_;              // made with the first connection of a target
  std::list<std::shared_ptr<PooledConnection>> idle_;  // oldest first
  std::unique_ptr<Timer> ageing_;
};

}  // namespace partita::net
