// The answer of an HTTP/1.1 server, read from its bytes as they come. Pure: no socket, no clock.
//
// Exact where two readers could disagree about where an answer ends: a length and chunks at once,
// two lengths, other codings than "chunked", folded lines, line ends without a carriage return are
// all refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/messages.h"

namespace partita::net {

class AnswerReader {
 public:
  static constexpr std::size_t kMostHead = std::size_t{64} << 10;  // trailers too
  static constexpr std::size_t kMostHeaders = 256;
  static constexpr std::size_t kMostChunkLine = 4096;  // a size with its extensions
  static constexpr int kMostInterim = 8;               // answers 1xx before the one that counts

  // `method` is that of the request: an answer to HEAD has no body.
  explicit AnswerReader(std::string_view method) : bodiless_(method == "HEAD") {}

  // More bytes. kInvalid: this is no answer; nothing may be fed any more.
  [[nodiscard]] base::Result<void> Take(std::string_view bytes);
  // There are no more. kUnavailable where something is missing.
  [[nodiscard]] base::Result<void> End();

  // The first byte has come.
  [[nodiscard]] bool begun() const { return begun_; }
  // Status and headers are there; `answer().body` stays empty.
  [[nodiscard]] bool has_head() const { return has_head_; }
  [[nodiscard]] const HttpClientAnswer& answer() const { return answer_; }
  // What the body said it would have, if it did.
  [[nodiscard]] std::optional<std::uint64_t> announced() const { return announced_; }
  // Bytes of the body that nobody has taken yet.
  [[nodiscard]] std::string TakeBody() { return std::exchange(body_, {}); }
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] bool whole() const { return state_ == State::kWhole; }
  // Another request may follow on the same connection.
  [[nodiscard]] bool reusable() const { return whole() && persistent_ && !surplus_; }

 private:
  enum class State : std::uint8_t {
    kStatus,
    kHeader,
    kLength,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailer,
    kUntilClose,
    kWhole,
  };

  std::string_view TakePart(std::string_view bytes);
  base::Result<void> TakeText(std::string_view& bytes, std::size_t most);
  base::Result<void> ReadLine(std::string_view line);
  base::Result<void> ReadStatus(std::string_view line);
  base::Result<void> ReadHeader(std::string_view line);
  base::Result<void> ReadChunkSize(std::string_view line);
  base::Result<void> EndHead();
  base::Result<void> ChooseBody();

  State state_ = State::kStatus;
  bool bodiless_ = false;
  bool begun_ = false;
  bool has_head_ = false;
  bool persistent_ = false;
  bool surplus_ = false;
  int interim_ = 0;
  std::size_t head_bytes_ = 0;
  std::size_t header_lines_ = 0;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  std::string line_;        // its beginning
  std::string body_;
  std::optional<std::uint64_t> announced_;
  HttpClientAnswer answer_;
};

}  // namespace partita::net
