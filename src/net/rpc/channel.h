// Calls of somebody else's gRPC server on a unix socket, from the loop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop.h"

namespace partita::net::rpc {

// Connects at the first call, and again after the connection broke. Loop's thread only.
class Channel {
 public:
  using Answer = std::function<void(base::Result<std::string>)>;

  // `name` is that of its wake-ups.
  Channel(Loop& loop, std::string name, std::string path);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Answers that are still due never come.
  ~Channel();

  // Unary. Answered once, on the loop, never from within. The deadline passes: kTimeout. Nobody
  // listens, or the connection breaks: kUnavailable. What the server says: rpc::ErrorOf.
  void Call(std::string method, std::string request, Duration deadline, Answer answer);
  // Calls under way: kUnavailable. The next call connects again.
  void Close();

  // The pid of whoever listens, as of the last connection. 0: none was made, or its pid is unknown,
  // as of one in another PID namespace.
  [[nodiscard]] pid_t peer() const;

  // An answer of more bytes is refused: kInvalid.
  std::size_t most_answer = std::size_t{64} << 20;

 private:
  class Calls;
  std::shared_ptr<Calls> calls_;
};

}  // namespace partita::net::rpc
