#include "net/http/pool.h"

#include <utility>

namespace partita::net {

void PooledConnection::Close() {
  user_ = nullptr;
  lookup_.reset();
  if (transport_ != nullptr) transport_->Close();
}

ConnectionPool::ConnectionPool(Loop& loop, std::string name)
    : loop_(loop), name_(std::move(name)), ageing_(loop.NewTimer(name_ + "-idle")) {}

ConnectionPool::~ConnectionPool() { CloseIdle(); }

void ConnectionPool::SetTarget(HttpTarget target) {
  if (target == target_) return;
  target_ = std::move(target);
  tls_.reset();
  ++generation_;
  CloseIdle();
}

void ConnectionPool::CloseIdle() {
  ageing_->Cancel();
  for (const auto& connection : std::exchange(idle_, {})) connection->Close();
}

void ConnectionPool::CloseOld() {
  const base::Clock::Steady now = loop_.clock().Now();
  while (!idle_.empty() && (!idle_.front()->open() || idle_.front()->idle_since_ + kIdle <= now)) {
    idle_.front()->Close();
    idle_.pop_front();
  }
  if (!idle_.empty())
    ageing_->After(idle_.front()->idle_since_ + kIdle - now, [this] { CloseOld(); });
}

void ConnectionPool::GiveBack(const std::shared_ptr<PooledConnection>& connection) {
  connection->user_ = nullptr;
  if (connection->generation_ != generation_ || !connection->open() || idle_.size() >= kMostIdle)
    return connection->Close();
  connection->idle_since_ = loop_.clock().Now();
  idle_.push_back(connection);
  if (!ageing_->armed()) CloseOld();
}

std::shared_ptr<PooledConnection> ConnectionPool::TakeIdle() {
  while (!idle_.empty()) {
    // The one that was used last is the least likely to be closed.
    std::shared_ptr<PooledConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    // The server's end may have come since the loop last looked.
    connection->transport_->LookNow();
    if (!connection->open()) continue;
    connection->reused_ = true;
    return connection;
  }
  return nullptr;
}

base::Result<std::shared_ptr<PooledConnection>> ConnectionPool::Take(bool fresh,
                                                                     PooledConnection::User& user) {
  if (!fresh) {
    if (auto connection = TakeIdle()) {
      connection->user_ = &user;
      return connection;
    }
  }
  if (target_.tls && tls_ == nullptr) {
    TRY(made, TlsContext::Make(target_));
    tls_ = std::move(made);
  }
  auto connection = std::make_shared<PooledConnection>();
  connection->user_ = &user;
  connection->generation_ = generation_;
  // The target may be another one by the time its name is looked up.
  if (target_.tls) connection->tls_ = tls_;
  SocketAddresses addresses = AddressesWritten(target_.host, target_.port);
  if (!addresses.empty()) {
    Begin(connection, std::move(addresses));
    return connection;
  }
  connection->lookup_ = std::make_unique<NameLookup>(
      loop_, target_.host, target_.port,
      [this, weak = std::weak_ptr(connection)](base::Result<SocketAddresses> found) {
        const auto looked_up = weak.lock();
        if (looked_up == nullptr || looked_up->user_ == nullptr) return;
        if (found.ok()) return Begin(looked_up, *std::move(found));
        std::exchange(looked_up->user_, nullptr)->Closed(std::move(found).error());
      });
  return connection;
}

void ConnectionPool::Begin(const std::shared_ptr<PooledConnection>& connection,
                           SocketAddresses addresses) {
  // The transport is the connection's own: it does not outlive it unseen.
  const std::weak_ptr<PooledConnection> weak = connection;
  Transport::Events events;
  events.connected = [weak] {
    const auto self = weak.lock();
    if (self && self->user_ != nullptr) self->user_->Connected();
  };
  events.bytes = [weak](std::string_view bytes) {
    const auto self = weak.lock();
    if (!self) return;
    // Nobody asked: whatever it is, it would be taken for the next answer.
    if (self->user_ == nullptr) return self->Close();
    self->user_->Received(bytes);
  };
  events.closed = [weak](std::optional<base::Error> why) {
    const auto self = weak.lock();
    if (!self) return;
    PooledConnection::User* user = std::exchange(self->user_, nullptr);
    if (user != nullptr) user->Closed(std::move(why));
  };
  connection->transport_ = Transport::Make(loop_, name_, Authority(target_), std::move(addresses),
                                           std::move(connection->tls_), std::move(events));
}

}  // namespace partita::net
