// One request on its way: over a connection that was kept or made, once more where a kept one
// turned out to be closed, and its answer read.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "net/http/answer_reader.h"
#include "net/http/pool.h"

namespace partita::net {

// Loop's thread only. Whoever waits for it keeps it until `Failed` or `Done`; both at most once.
class Exchange : public PooledConnection::User, public std::enable_shared_from_this<Exchange> {
 public:
  // Who waits for it.
  class Waiter {
   public:
    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    virtual ~Waiter() = default;
    // Status and headers are there.
    virtual void Head(const HttpClientAnswer& head) = 0;
    // More of the body is there; what it takes it takes.
    virtual void Body(AnswerReader& reader) = 0;
    virtual void Done(AnswerReader& reader) = 0;
    virtual void Failed(base::Error error) = 0;
  };

  Exchange(ConnectionPool& pool, HttpClientRequest request, std::size_t most, Waiter& waiter)
      : pool_(pool), request_(std::move(request)), most_(most), waiter_(&waiter) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override { Abandon(); }

  void Start();
  // Nobody waits any more; the connection is closed.
  void Abandon();
  // From outside, as when its time is over.
  void Fail(base::Error error);

  void Connected() override;
  void Received(std::string_view bytes) override;
  void Closed(std::optional<base::Error> why) override;

 private:
  void TakeConnection(bool fresh);
  void Finish();

  ConnectionPool& pool_;
  HttpClientRequest request_;
  std::size_t most_;
  Waiter* waiter_;
  std::string text_;
  std::shared_ptr<PooledConnection> connection_;
  std::optional<AnswerReader> reader_;
  bool told_head_ = false;
  bool again_ = false;
};

}  // namespace partita::net
