// What gRPC puts into HTTP/2: messages with a length before them, and texts and times in headers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/rpc/status.h"

namespace partita::net::rpc {

// The message with its head before it.
[[nodiscard]] std::string Framed(std::string_view message);

// Gathers the one message of a unary exchange from pieces of any size. Nothing is set aside for
// what was announced and has not come.
class OneMessage {
 public:
  // kResourceExhausted: it is over `most`. kUnimplemented: compressed, or a second one.
  [[nodiscard]] Status Add(std::string_view bytes, std::size_t most);
  [[nodiscard]] bool whole() const { return size_ && message_.size() == *size_; }
  // Nothing came at all.
  [[nodiscard]] bool empty() const { return head_.empty(); }
  [[nodiscard]] std::size_t held() const { return message_.size(); }
  [[nodiscard]] std::string Take() { return std::move(message_); }

 private:
  std::string head_;
  std::optional<std::uint32_t> size_;
  std::string message_;
};

// For grpc-message. Texts are cut at a character where they would take more than 4 KiB: gRPC's own
// clients refuse headers of 8 KiB.
[[nodiscard]] std::string PercentEncoded(std::string_view text);
// What is no code stays as it is: a text is better than none.
[[nodiscard]] std::string PercentDecoded(std::string_view text);

// Beyond what a timer can count; nobody waits so long.
inline constexpr Duration kLongestDeadline = std::chrono::hours(24 * 365);

// For grpc-timeout: up to eight digits and a unit. Nothing: not such a text.
[[nodiscard]] std::optional<Duration> ParseTimeout(std::string_view text);
// Rounded up where it has more than eight digits of microseconds.
[[nodiscard]] std::string FormatTimeout(Duration timeout);

}  // namespace partita::net::rpc
