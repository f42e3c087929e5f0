#include "net/rpc/http2.h"

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/result.h"

namespace partita::net::rpc {
namespace {

constexpr std::chrono::seconds kToGreet{10};
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr std::size_t kWriteAtOnce = std::size_t{64} << 10;
constexpr std::uint32_t kMostStreams = 100;
// A whole request in one go, and several side by side; what is kept of them has its own limit.
constexpr std::int32_t kStreamWindow = (4 << 20) + (64 << 10);
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::uint32_t kAnnouncedHeaders = 16 << 10;
// Frames that wait for a peer that does not read: answers of 100 streams and as many resets are far
// below.
constexpr std::size_t kMostFramesWaiting = 2000;

std::vector<nghttp2_nv> ToNv(const Headers& headers) {
  std::vector<nghttp2_nv> nv;
  nv.reserve(headers.size());
  // nghttp2 copies them and changes nothing; its type is of a C that knows no const.
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  for (const auto& [name, value] : headers) {
    nv.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return nv;
}

pid_t PeerOf(const base::UniqueFd& fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  const int told = getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  return told == 0 ? credentials.pid : 0;
}

std::string_view Text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

struct Http2::Callbacks {
  static Http2& Self(void* user_data) { return *static_cast<Http2*>(user_data); }

  static int Begin(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      Self(self).user_.Begin(frame->hd.stream_id);
    return 0;
  }
  // NOLINTNEXTLINE(readability-function-size): nghttp2 gives so many
  static int Header(nghttp2_session* /*session*/,
                    const nghttp2_frame* frame,
                    const std::uint8_t* name,
                    std::size_t name_size,
                    const std::uint8_t* value,
                    std::size_t value_size,
                    std::uint8_t /*flags*/,
                    void* self) {
    const bool taken = Self(self).user_.Header(frame->hd.stream_id, Text(name, name_size),
                                               Text(value, value_size));
    return taken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  static int Frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    Http2& http2 = Self(self);
    // The peer's first frame is this one: it speaks HTTP/2.
    if (frame->hd.type == NGHTTP2_SETTINGS) http2.greeting_->Cancel();
    if (frame->hd.type == NGHTTP2_HEADERS) http2.user_.HeadersEnd(frame->hd.stream_id);
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      http2.user_.Ended(frame->hd.stream_id);
    return 0;
  }
  static int Body(nghttp2_session* /*session*/,
                  std::uint8_t /*flags*/,
                  std::int32_t stream,
                  const std::uint8_t* bytes,
                  std::size_t size,
                  void* self) {
    Self(self).user_.Body(stream, Text(bytes, size));
    return 0;
  }
  static int Sent(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
      Self(self).user_.Sent(frame->hd.stream_id);
    return 0;
  }
  static int Over(nghttp2_session* /*session*/,
                  std::int32_t stream,
                  std::uint32_t code,
                  void* self) {
    Self(self).user_.Over(stream, static_cast<Http2Error>(code));
    return 0;
  }
  static ssize_t Give(nghttp2_session* session,
                      std::int32_t stream,
                      std::uint8_t* buffer,
                      std::size_t room,
                      std::uint32_t* flags,
                      nghttp2_data_source* /*source*/,
                      void* self) {
    const Piece piece = Self(self).user_.Give(stream, reinterpret_cast<char*>(buffer), room);
    if (piece.wait) return NGHTTP2_ERR_DEFERRED;
    if (piece.end) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!piece.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::vector<nghttp2_nv> nv = ToNv(piece.trailers);
        nghttp2_submit_trailer(session, stream, nv.data(), nv.size());
      }
    }
    return static_cast<ssize_t>(piece.size);
  }

  static nghttp2_session* NewSession(Side side, void* self) {
    nghttp2_session_callbacks* callbacks = nullptr;
    PARTITA_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, Header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Body);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Over);
    nghttp2_option* option = nullptr;
    PARTITA_CHECK(nghttp2_option_new(&option) == 0);
    // Some of kubelet's clients put the socket's path into `:authority`, which is no name of a
    // host: nghttp2 would answer PROTOCOL_ERROR. Our users check the headers that they read.
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_session* session = nullptr;
    const int made = side == Side::kServer
                         ? nghttp2_session_server_new2(&session, callbacks, self, option)
                         : nghttp2_session_client_new2(&session, callbacks, self, option);
    PARTITA_CHECK(made == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return session;
  }
};

std::shared_ptr<Http2> Http2::Make(
    Loop& loop, const std::string& name, base::UniqueFd fd, Side side, User& user) {
  return std::shared_ptr<Http2>(new Http2(loop, name, std::move(fd), side, user));
}

Http2::Http2(Loop& loop, const std::string& name, base::UniqueFd fd, Side side, User& user)
    : fd_(std::move(fd)),
      peer_(PeerOf(fd_)),
      side_(side),
      user_(user),
      watch_(loop.NewWatch(name, fd_.get())),
      greeting_(loop.NewTimer(name + "-greeting")),
      session_(Callbacks::NewSession(side, this)) {}

Http2::~Http2() {
  watch_.reset();
  nghttp2_session_del(session_);
}

void Http2::Start() {
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kAnnouncedHeaders},
      // Of a server it would be a protocol error, and is 0 then in any case: it comes last.
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                          side_ == Side::kClient ? settings.size() : settings.size() - 1);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  greeting_->After(kToGreet, [this] { Close(); });
  watch_->OnReadable([this] { Read(); });
  // A client's first request comes right after, in one write with this.
  if (side_ == Side::kServer) Run();
}

std::int32_t Http2::Request(const Headers& headers) {
  if (!usable()) return 0;
  const std::vector<nghttp2_nv> nv = ToNv(headers);
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::Give;
  const std::int32_t stream =
      nghttp2_submit_request(session_, nullptr, nv.data(), nv.size(), &body, nullptr);
  return stream > 0 ? stream : 0;
}

void Http2::Respond(std::int32_t stream, const Headers& headers, bool body) {
  if (closed()) return;
  const std::vector<nghttp2_nv> nv = ToNv(headers);
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::Give;
  nghttp2_submit_response(session_, stream, nv.data(), nv.size(), body ? &provider : nullptr);
}

void Http2::Resume(std::int32_t stream) {
  if (!closed()) nghttp2_session_resume_data(session_, stream);
}

void Http2::Reset(std::int32_t stream, Http2Error error) {
  if (closed()) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, static_cast<std::uint32_t>(error));
}

bool Http2::usable() const {
  return !closed() && nghttp2_session_check_request_allowed(session_) != 0;
}

void Http2::Read() {
  const std::shared_ptr<Http2> self = shared_from_this();
  std::array<std::uint8_t, kReadAtOnce> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Close();
  received_ += static_cast<std::uint64_t>(count);
  inside_ = true;
  const ssize_t understood =
      nghttp2_session_mem_recv(session_, buffer.data(), static_cast<std::size_t>(count));
  inside_ = false;
  // Garbage instead of HTTP/2, or a flood that nghttp2 has a limit for. What it says to the peer
  // about wrong frames it has queued itself.
  if (understood < 0) return Close();
  Run();
}

void Http2::Flush() { Run(); }

void Http2::Run() {
  again_ = true;
  if (running_ || closed()) return;
  const std::shared_ptr<Http2> self = shared_from_this();
  running_ = true;
  while (again_ && !closed()) {
    again_ = false;
    if (!Write()) Close();
    if (!closed()) user_.Settle();
  }
  running_ = false;
  if (closed()) return;
  const bool over = nghttp2_session_want_read(session_) == 0 &&
                    nghttp2_session_want_write(session_) == 0 && output_.empty();
  if (over || nghttp2_session_get_outbound_queue_size(session_) > kMostFramesWaiting) Close();
}

bool Http2::Write() {
  for (;;) {
    inside_ = true;
    while (output_.size() < kWriteAtOnce) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
      if (count < 0) {
        inside_ = false;
        return false;
      }
      if (count == 0) break;
      output_ += Text(bytes, static_cast<std::size_t>(count));
    }
    inside_ = false;
    if (output_.empty()) {
      watch_->OnWritable(nullptr);
      return true;
    }
    const ssize_t sent =
        send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) {
      watch_->OnWritable([this] { Run(); });
      return true;
    }
    output_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Http2::Close() {
  PARTITA_CHECK(!inside_);
  if (closed()) return;
  const std::shared_ptr<Http2> self = shared_from_this();
  nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
  // Once: whoever does not take it now gets the end of the connection alone.
  running_ = true;
  (void)Write();
  watch_.reset();
  greeting_.reset();
  fd_.Reset();
  user_.Closed();
}

}  // namespace partita::net::rpc
