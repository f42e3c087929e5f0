// gRPC on a unix socket, from the loop: methods by name, bytes in and bytes out.
//
// `:authority` of any form is taken and unknown headers are ignored. An unknown method is answered
// kUnimplemented, a request over 4 MiB kResourceExhausted, a compressed one kUnimplemented. The
// caller's deadline (grpc-timeout) is kept: kDeadlineExceeded. A peer that does not read is closed
// when 16 MiB wait for it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop.h"
#include "net/rpc/status.h"

namespace partita::net::rpc {

inline constexpr std::size_t kMostRequest = std::size_t{4} << 20;
// Of answers that wait for one peer, all its calls together; also of one answer.
inline constexpr std::size_t kMostWaiting = std::size_t{16} << 20;

// A unary call under way. Finish once, also later; the peer may be gone by then. Dropped without
// it, the peer is told kInternal. All of it on the loop's thread.
class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  [[nodiscard]] virtual const std::string& request() const = 0;
  virtual void Finish(base::Result<std::string> answer) = 0;
};

// A call that is answered by many messages. The server keeps it until it is closed.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  [[nodiscard]] virtual const std::string& request() const = 0;
  // The pid of whoever made the connection. 0: unknown, as of one in another PID namespace.
  [[nodiscard]] virtual pid_t peer() const = 0;
  // Takes the place of a message that nobody began to send: the newest counts. Nothing happens once
  // it is closed.
  virtual void Publish(std::string message) = 0;
  // What was published is sent before.
  virtual void Finish(Status status) = 0;
  // Once: cancelled, its deadline, connection lost, Finish, or the server stopped. Called at once
  // where it is closed already.
  virtual void OnClosed(Task task) = 0;
  [[nodiscard]] virtual bool closed() const = 0;
};

class Server {
 public:
  static constexpr std::size_t kMostConnections = 64;
  using Served = std::function<void(const std::shared_ptr<Call>&)>;
  using ServedStream = std::function<void(const std::shared_ptr<Stream>&)>;

  // `name` is that of its wake-ups.
  Server(Loop& loop, std::string name);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // "/v1beta1.DevicePlugin/Allocate"; before or after Listen. Called on the loop with a whole
  // request; it may do anything, also stop or destroy the server.
  void OnCall(std::string method, Served served);
  void OnStream(std::string method, ServedStream served);

  // As net::Listener: takes a dead one's place. A server that listens already stops first.
  [[nodiscard]] base::Result<void> Listen(const std::string& path, mode_t mode = 0600);
  // The socket's file goes, every connection is closed.
  void Stop();

  [[nodiscard]] bool listening() const;
  // Its file was removed or replaced: nobody can connect.
  [[nodiscard]] bool Lost() const;
  [[nodiscard]] std::size_t connections() const;

 private:
  class Peers;
  std::shared_ptr<Peers> peers_;
};

}  // namespace partita::net::rpc
