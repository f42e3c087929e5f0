// Requests to one HTTP/1.1 server from the loop, over TCP or TLS: whole answers, and bodies that
// come bit by bit without an end. docs/decisions/017 says why it is our own, on OpenSSL.
//
// As designed for issue 12, but: `most_answer` bounds an answer; the request may say that it is
// repeatable; what the design calls kPermission is base::ErrorCode::kDenied.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/messages.h"
#include "net/loop.h"

namespace partita::net {

// Connects at need, again after a break, and keeps a connection for half a minute for the next
// request. Loop's thread only.
class HttpClient {
 public:
  using Answer = std::function<void(base::Result<HttpClientAnswer>)>;
  static constexpr std::size_t kMostAtOnce = 4;  // requests; more of them wait. Streams do not.

  // `name` is that of its wake-ups.
  HttpClient(Loop& loop, std::string name);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  // Answers that are still due never come. Streams go before it.
  ~HttpClient();

  // Before the first request. Another one later: requests under way end where they are.
  void SetTarget(HttpTarget target);

  // Answered once, on the loop, never from within; any status is an answer. The deadline counts
  // from now on and passes: kTimeout. Nobody there, or the connection breaks: kUnavailable. It is
  // not HTTP, or too large: kInvalid. The server's certificate, or ours, is refused: kDenied.
  void Ask(HttpClientRequest request, Duration deadline, Answer answer);

  // Destroyed, it ends without a word; also from inside of what it tells.
  class Stream {
   public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;
  };
  struct StreamEvents {
    // Status and headers. Where the status is not 2xx: with the whole body, and `ended` follows.
    std::function<void(const HttpClientAnswer& answer)> begun{};
    std::function<void(std::string_view bytes)> bytes{};
    // Once. Success: the server ended it in order. Errors as of Ask; kTimeout also for a silence
    // of more than `idle`.
    std::function<void(base::Result<void> how)> ended{};
  };
  [[nodiscard]] std::unique_ptr<Stream> Open(HttpClientRequest request,
                                             Duration to_begin,
                                             Duration idle,
                                             StreamEvents events);

  // A body of more bytes is refused: kInvalid.
  std::size_t most_answer = std::size_t{16} << 20;

 private:
  class Calls;
  std::shared_ptr<Calls> calls_;
};

}  // namespace partita::net
