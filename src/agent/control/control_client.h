// The other side of the control socket, for commands: it waits, with a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/value.h"

namespace partita::agent::control {

// <run directory>/agent.sock.
[[nodiscard]] std::string SocketPath();

// Whom a client talks to, in its errors.
struct Words {
  std::string_view who, to_look, when_gone;
  // Its silence and its going away. Other than these where its answers say them of somebody else.
  base::ErrorCode silent = base::ErrorCode::kTimeout, gone = base::ErrorCode::kUnavailable;
};
inline constexpr Words kAgentWords{
    .who = "the agent",
    .to_look = "`systemctl status partita-agent` and its log say what it does",
    .when_gone = "`journalctl -u partita-agent` says why; ask again when it is back"};

struct CallOptions {
  // For each word from the agent, not for all of them: who sees progress knows that it works.
  // Absent: as long as it takes.
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
  std::function<void(const base::Value&)> progress = nullptr;
  // Ends the wait when it becomes true (kTimeout); the agent sees the peer go.
  const std::atomic<bool>* stop = nullptr;
};

// One thread.
class Client {
 public:
  // kUnavailable: no agent runs here, so the caller may do it itself. Any other error means that
  // one may be running: kDenied, kTimeout (it does not take the connection), kIo.
  [[nodiscard]] static base::Result<Client> Connect(
      const std::string& path = SocketPath(),
      std::chrono::milliseconds patience = std::chrono::seconds(5),
      const Words& words = kAgentWords);

  // The agent's answer, or its error as it would be told there. kUnavailable: it went away without
  // an answer.
  [[nodiscard]] base::Result<base::Value> Call(const std::string& method,
                                               const base::Value& params,
                                               const CallOptions& options);
  // Waits on for the answer to a call whose wait was ended (kTimeout).
  [[nodiscard]] base::Result<base::Value> Await(const CallOptions& options);

 private:
  Client(base::UniqueFd fd, const Words& words) : fd_(std::move(fd)), words_(words) {}
  [[nodiscard]] base::Result<void> Send(const std::string& frame, const CallOptions& options);
  [[nodiscard]] base::Result<base::Value> ReceiveFrame(const CallOptions& options);
  base::UniqueFd fd_;
  Words words_;
  std::string input_;
};

}  // namespace partita::agent::control
