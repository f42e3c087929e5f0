// One connection of HTTP/2 on the loop, either side of it. nghttp2 does the protocol; here are its
// socket, its limits and the order of calls.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "net/loop.h"

struct nghttp2_session;

namespace partita::net::rpc {

using Headers = std::vector<std::pair<std::string_view, std::string>>;

// Codes of RST_STREAM that we send or look at; RFC 9113, section 7.
enum class Http2Error : std::uint32_t {
  kNone = 0,
  kInternal = 2,
  kRefusedStream = 7,
  kCancel = 8,
};

// Loop's thread only. A peer may be slow, silent, greedy or gone: each costs it the connection, and
// nobody else anything. What it never does by itself: wait for bytes without end (the preface has
// ten seconds), keep headers (their user does, and says when they are too many), queue frames
// without end for a peer that does not read.
class Http2 : public std::enable_shared_from_this<Http2> {
 public:
  enum class Side : std::uint8_t { kServer, kClient };

  // What a read callback may say: some bytes; none for now, until Resume; or that the body ends,
  // with these trailers if there are any.
  struct Piece {
    std::size_t size = 0;
    bool wait = false;
    bool end = false;
    Headers trailers = {};
  };

  // Whoever uses the connection. All but Settle and Closed are called while nghttp2 works: they
  // note what they hear, and may call Respond, Resume and Reset, nothing else.
  class User {
   public:
    User() = default;
    User(const User&) = delete;
    User& operator=(const User&) = delete;
    virtual ~User() = default;

    // Server: a stream begins. Client: nothing.
    virtual void Begin(std::int32_t stream) = 0;
    // False: too many or too long; the stream is reset.
    virtual bool Header(std::int32_t stream, std::string_view name, std::string_view value) = 0;
    virtual void HeadersEnd(std::int32_t stream) = 0;
    virtual void Body(std::int32_t stream, std::string_view bytes) = 0;
    // The peer says no more on this stream.
    virtual void Ended(std::int32_t stream) = 0;
    virtual Piece Give(std::int32_t stream, char* buffer, std::size_t room) = 0;
    // The last of all headers or trailers of this side went out.
    virtual void Sent(std::int32_t stream) = 0;
    // The stream is over for both sides; nothing of it follows.
    virtual void Over(std::int32_t stream, Http2Error error) = 0;

    // After some of the above: everything may be called, also Close.
    virtual void Settle() = 0;
    // Once, whoever closed it. No stream is told by itself.
    virtual void Closed() = 0;
  };

  // `name` is that of its wake-ups. The descriptor does not block. The user outlives `Closed`,
  // which may come from within Start.
  static std::shared_ptr<Http2> Make(
      Loop& loop, const std::string& name, base::UniqueFd fd, Side side, User& user);
  Http2(const Http2&) = delete;
  Http2& operator=(const Http2&) = delete;
  ~Http2();
  void Start();

  // A new stream, with a body by Give. 0: not on this connection any more.
  [[nodiscard]] std::int32_t Request(const Headers& headers);
  // With a body by Give, or none at all.
  void Respond(std::int32_t stream, const Headers& headers, bool body);
  void Resume(std::int32_t stream);
  void Reset(std::int32_t stream, Http2Error error);
  // Sends what can be sent, then calls Settle. From within Settle it is done afterwards.
  void Flush();
  // Says goodbye where there is room for it.
  void Close();

  [[nodiscard]] bool closed() const { return !fd_.valid(); }
  // Another request can begin here: the peer has not said goodbye.
  [[nodiscard]] bool usable() const;
  // Whoever connected, or listens: its pid. 0: unknown, as of one in another PID namespace.
  [[nodiscard]] pid_t peer() const { return peer_; }
  // Anything at all came since the connection began.
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  struct Callbacks;  // nghttp2's, in the one file that knows it
  Http2(Loop& loop, const std::string& name, base::UniqueFd fd, Side side, User& user);
  void Read();
  void Run();
  // False: the connection is of no more use.
  bool Write();

  base::UniqueFd fd_;
  pid_t peer_;
  Side side_;
  User& user_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Timer> greeting_;
  nghttp2_session* session_ = nullptr;  // owned
  std::string output_;                  // taken from nghttp2, not yet by the socket
  std::uint64_t received_ = 0;
  bool running_ = false;
  bool again_ = false;
  bool inside_ = false;  // nghttp2 works, or the user settles
};

}  // namespace partita::net::rpc
