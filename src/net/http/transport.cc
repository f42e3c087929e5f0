#include "net/http/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace partita::net {
namespace {

// How long one of several addresses is tried: behind a name, an address that swallows packets must
// not cost all of the time.
constexpr std::chrono::seconds kToConnect{5};
// A server that is gone without a word: the kernel asks after half a minute of silence, and gives
// up half a minute later. It costs the loop nothing.
constexpr int kSilentSeconds = 30, kBetweenSeconds = 10, kAskedTimes = 3;

void Set(int fd, int level, int option, int value) {
  // Whether it works does not matter: all of them only make things better.
  (void)setsockopt(fd, level, option, &value, sizeof(value));
}

base::UniqueFd NewStreamSocket(int family) {
  base::UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  Set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, kSilentSeconds);
  Set(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
  Set(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, kAskedTimes);
  Set(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, (kSilentSeconds + kBetweenSeconds) * 1000);
  return fd;
}

}  // namespace

std::shared_ptr<Transport> Transport::Make(Loop& loop,
                                           const std::string& name,
                                           std::string server,
                                           SocketAddresses addresses,
                                           std::shared_ptr<const TlsContext> tls,
                                           Events events) {
  std::shared_ptr<Transport> made(new Transport(loop, name, std::move(server), std::move(addresses),
                                                std::move(tls), std::move(events)));
  loop.Post([weak = std::weak_ptr(made)] {
    if (const auto transport = weak.lock(); transport && transport->state_ == State::kConnecting)
      transport->Connect();
  });
  return made;
}

Transport::Transport(Loop& loop,
                     const std::string& name,
                     std::string server,
                     SocketAddresses addresses,
                     std::shared_ptr<const TlsContext> tls,
                     Events events)
    : loop_(loop),
      name_(name),
      server_(std::move(server)),
      addresses_(std::move(addresses)),
      context_(std::move(tls)),
      events_(std::move(events)),
      connecting_(loop.NewTimer(name + "-connects")) {}

Transport::~Transport() { watch_.reset(); }

void Transport::Connect() {
  const std::shared_ptr<Transport> self = shared_from_this();
  watch_.reset();
  if (next_ == addresses_.size()) {
    return End(failed_.value_or(base::MakeError(base::ErrorCode::kUnavailable,
                                                "connect to {}: it has no address", server_)));
  }
  const SocketAddress& address = addresses_[next_++];
  fd_ = NewStreamSocket(address.bytes.ss_family);
  const int result =
      !fd_.valid()
          ? -1
          : connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
  if (result != 0 && errno != EINPROGRESS) {
    failed_ = base::ErrnoError("connect to " + server_).As(base::ErrorCode::kUnavailable);
    return Connect();
  }
  watch_ = loop_.NewWatch(name_ + "-connection", fd_.get());
  watch_->OnWritable([this] { Connected(); });
  if (next_ < addresses_.size()) {
    connecting_->After(kToConnect, [this] {
      failed_ = base::MakeError(base::ErrorCode::kTimeout, "connect to {}: no answer", server_);
      Connect();
    });
  }
}

void Transport::Connected() {
  const std::shared_ptr<Transport> self = shared_from_this();
  connecting_->Cancel();
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    failed_ = base::ErrnoError("connect to " + server_, error).As(base::ErrorCode::kUnavailable);
    return Connect();
  }
  watch_->OnWritable(nullptr);
  watch_->OnReadable([this] { Read(); });
  if (context_ == nullptr) return Opened();
  state_ = State::kGreeting;
  tls_ = TlsSession::Make(std::exchange(context_, nullptr));
  Write(tls_->TakeOutput());
}

void Transport::Opened() {
  state_ = State::kOpen;
  if (events_.connected) events_.connected();
}

void Transport::Read() {
  const std::shared_ptr<Transport> self = shared_from_this();
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0)
    return End(base::ErrnoError("read from " + server_).As(base::ErrorCode::kUnavailable));
  if (count > 0) return Received({buffer.data(), static_cast<std::size_t>(count)});
  if (tls_ == nullptr || tls_->ended()) return End(std::nullopt);
  End(base::MakeError(
      base::ErrorCode::kUnavailable, "{} closed the connection {}", server_,
      state_ == State::kGreeting ? "before TLS was agreed on" : "without ending TLS"));
}

void Transport::Received(std::string_view bytes) {
  if (tls_ == nullptr) {
    if (events_.bytes) events_.bytes(bytes);
    return;
  }
  std::string plain;
  const base::Result<void> received = tls_->Receive(bytes, plain);
  Write(tls_->TakeOutput());
  if (state_ == State::kClosed) return;
  if (!received.ok()) return End(received.error());
  if (state_ == State::kGreeting && tls_->ready()) Opened();
  if (state_ == State::kOpen && !plain.empty() && events_.bytes) events_.bytes(plain);
  if (state_ != State::kClosed && tls_->ended()) End(std::nullopt);
}

void Transport::Send(std::string_view bytes) {
  if (state_ != State::kOpen) return;
  const std::shared_ptr<Transport> self = shared_from_this();
  if (tls_ == nullptr) return Write(bytes);
  if (const auto sent = tls_->Send(bytes); !sent.ok()) return End(sent.error());
  Write(tls_->TakeOutput());
}

void Transport::Write(std::string_view bytes) {
  if (bytes.empty() || state_ == State::kClosed) return;
  const bool waits = !output_.empty();
  output_ += bytes;
  if (!waits) Flush();
}

void Transport::Flush() {
  const std::shared_ptr<Transport> self = shared_from_this();
  std::string_view rest = output_;
  while (!rest.empty()) {
    const ssize_t count = send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) {
      // What the server said before it closed may still be there to read: an answer that refuses
      // a body, or why it refuses our certificate. Reading finds the end.
      output_.clear();
      watch_->OnWritable(nullptr);
      return;
    }
    if (count < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  output_.erase(0, output_.size() - rest.size());
  if (output_.empty())
    watch_->OnWritable(nullptr);
  else
    watch_->OnWritable([this] { Flush(); });
}

void Transport::LookNow() {
  const std::shared_ptr<Transport> self = shared_from_this();
  // TLS has things to say after an answer (tickets): the end is behind them.
  for (int i = 0; i < 4 && state_ == State::kOpen; ++i) Read();
}

void Transport::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  watch_.reset();
  connecting_.reset();
  fd_.Reset();
}

void Transport::End(std::optional<base::Error> why) {
  if (state_ == State::kClosed) return;
  const std::shared_ptr<Transport> self = shared_from_this();
  Close();
  if (events_.closed) events_.closed(std::move(why));
}

}  // namespace partita::net
