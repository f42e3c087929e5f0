// One peer of a server on the loop. It can be slow, silent, greedy or gone: each costs it the
// connection, and nobody else anything.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "net/loop.h"

namespace partita::net {

struct ConnectionLimits {
  std::size_t most_input = 0;   // bytes that wait to be understood
  std::size_t most_output = 0;  // bytes that wait to be taken
  Duration to_ask{};            // until a whole request is there, counted from the last answer
  Duration to_take{};           // until all that was sent is taken
};

// Loop's thread only. Whoever serves it keeps the pointer until `closed`.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Events {
    // All input that nobody took yet; the callee takes what it understands off its front.
    std::function<void(std::string& input)> input;
    // Once, whoever closed it.
    Task closed;
  };

  // `name` is that of its wake-ups. The descriptor does not block.
  static std::shared_ptr<Connection> Make(Loop& loop,
                                          const std::string& name,
                                          base::UniqueFd fd,
                                          ConnectionLimits limits,
                                          Events events);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void Send(std::string_view bytes);
  // A request is being answered, which takes as long as it takes; the peer's time to ask counts
  // anew from when it is no longer.
  void SetBusy(bool busy);
  void CloseAfterSending();
  void Close();
  // Hands over input that came while nobody could take it.
  void OfferInput();

  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] bool closed() const { return !fd_.valid(); }
  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  Connection(Loop& loop,
             const std::string& name,
             base::UniqueFd fd,
             ConnectionLimits limits,
             Events events);
  void Read();
  void Flush();
  void WaitForRequest();

  base::UniqueFd fd_;
  ConnectionLimits limits_;
  Events events_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> asking_;
  std::unique_ptr<Timer> taking_;
  std::string input_;
  std::string output_;
  bool busy_ = false;
  bool closing_ = false;
  bool offering_ = false;
  bool again_ = false;
};

}  // namespace partita::net
