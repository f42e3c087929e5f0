// The agent's side of the control socket. Methods are registered by name and answer when they can;
// a peer that is slow, silent or malicious costs itself the connection and nobody anything else.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "agent/control/protocol.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "net/connection.h"
#include "net/listener.h"
#include "net/loop.h"

namespace partita::agent::control {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};

// One request. Loop's thread only; it may be kept until the answer is known. One that is dropped
// without Finish is answered with an error, so that nobody waits for ever.
class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  [[nodiscard]] const std::string& method() const { return request_.method; }
  [[nodiscard]] const base::Value& params() const { return request_.params; }
  [[nodiscard]] Peer peer() const { return peer_; }

  // Nothing is said to a peer that is gone, nor after Finish.
  void Progress(base::Value value);
  void Finish(base::Result<base::Value> result);

  [[nodiscard]] bool gone() const { return gone_; }
  // Once, when the peer goes before the answer; at once if it is gone. Whoever does something for
  // it may stop.
  void OnGone(net::Task task);

 private:
  friend class Server;
  Call(std::weak_ptr<net::Connection> connection, Peer peer, Request request)
      : connection_(std::move(connection)), peer_(peer), request_(std::move(request)) {}
  void SetGone();

  std::weak_ptr<net::Connection> connection_;
  Peer peer_;
  Request request_;
  net::Task on_gone_;
  bool gone_ = false;
  bool finished_ = false;
};

// Loop's thread only.
class Server {
 public:
  using Method = std::function<void(std::shared_ptr<Call>)>;
  static constexpr std::size_t kMostConnections = 32;

  // `who` answers, in its errors.
  Server(net::Loop& loop, base::Log& log, std::string who = "the agent")
      : loop_(loop), log_(log), who_(std::move(who)) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { Stop(); }

  // Before or after Listen. A name that is there is replaced.
  void Register(std::string name, Method method) { methods_[std::move(name)] = std::move(method); }

  // 0600, in place of a socket that a dead agent left. Only root and this user are answered.
  // Again: at another place, or where the file was lost; who is connected stays so.
  [[nodiscard]] base::Result<void> Listen(const std::string& path);
  // It listens, and its file is gone or another's.
  [[nodiscard]] bool Lost() const { return listener_ != nullptr && listener_->Lost(); }
  // Removes the socket and closes every connection; calls that are kept are gone.
  void Stop();
  [[nodiscard]] std::size_t connections() const { return sessions_.size(); }

 private:
  struct Session {
    std::shared_ptr<net::Connection> connection;
    Peer peer;
    std::weak_ptr<Call> call;
  };
  using Place = std::list<Session>::iterator;
  void Accept(base::UniqueFd fd);
  bool MakeRoom();
  void Take(Place session, std::string& input);
  void Begin(Place session, Request request);
  void Refuse(net::Connection& connection, base::Error error);

  net::Loop& loop_;
  base::Log& log_;
  std::string who_;
  std::map<std::string, Method, std::less<>> methods_;
  std::unique_ptr<net::Listener> listener_;
  std::list<Session> sessions_;  // oldest first
};

}  // namespace partita::agent::control
