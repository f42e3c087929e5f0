#include "net/rpc/channel.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "net/rpc/framing.h"
#include "net/rpc/http2.h"
#include "net/rpc/status.h"

namespace partita::net::rpc {
namespace {

constexpr std::size_t kMostAnswerHeaders = std::size_t{64} << 10;

base::Result<base::UniqueFd> ConnectTo(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() >= sizeof(where.sun_path)) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "connect to {}: a socket's path has less than {} bytes", path,
                           sizeof(where.sun_path));
  }
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::ErrnoError("make a socket");
  // A unix socket is connected at once or not at all.
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0) return fd;
  const base::ErrorCode code =
      errno == EACCES || errno == EPERM ? base::ErrorCode::kDenied : base::ErrorCode::kUnavailable;
  return base::ErrnoError("connect to " + path).As(code);
}

// What a server means that answers with HTTP's status instead of gRPC's; gRPC's table of it.
StatusCode CodeOfHttp(std::string_view status) {
  if (status == "400") return StatusCode::kInternal;
  if (status == "401") return StatusCode::kUnauthenticated;
  if (status == "403") return StatusCode::kPermissionDenied;
  if (status == "404") return StatusCode::kUnimplemented;
  if (status == "429" || status == "502" || status == "503" || status == "504")
    return StatusCode::kUnavailable;
  return StatusCode::kUnknown;
}

}  // namespace

// All that outlives the Channel: connections that nghttp2 is in the middle of, answers on their
// way.
class Channel::Calls : public std::enable_shared_from_this<Channel::Calls> {
 public:
  Calls(Loop& loop, std::string name, std::string path)
      : loop_(loop), name_(std::move(name)), path_(std::move(path)) {}

  struct Order {
    std::string method, request;
    Duration deadline{};
    std::size_t most_answer = 0;
    Answer answer;
  };
  void Begin(Order order);
  void Close();
  [[nodiscard]] pid_t peer() const { return peer_; }
  // The channel is destroyed: nobody hears of answers any more.
  void Abandon() {
    abandoned_ = true;
    Close();
  }

 private:
  class Connection;
  void Tell(Answer answer, base::Result<std::string> result) {
    if (abandoned_) return;
    loop_.Post([self = shared_from_this(), answer = std::move(answer),
                result = std::move(result)]() mutable {
      if (!self->abandoned_) answer(std::move(result));
    });
  }
  base::Result<std::shared_ptr<Connection>> Usable();

  Loop& loop_;
  std::string name_;
  std::string path_;
  bool abandoned_ = false;
  pid_t peer_ = 0;
  // The last one takes new calls; those before it end theirs.
  std::list<std::shared_ptr<Connection>> connections_;
};

class Channel::Calls::Connection final : public Http2::User,
                                         public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Calls& calls) : calls_(calls) {}

  void Start(base::UniqueFd fd) {
    http2_ = Http2::Make(calls_.loop_, calls_.name_ + "-connection", std::move(fd),
                         Http2::Side::kClient, *this);
    http2_->Start();
  }
  [[nodiscard]] bool usable() const { return http2_->usable(); }
  [[nodiscard]] pid_t peer() const { return http2_->peer(); }
  void Close() { http2_->Close(); }
  // False: not on this connection.
  bool Begin(Order& order);

  void Begin(std::int32_t /*id*/) override {}
  bool Header(std::int32_t id, std::string_view name, std::string_view value) override;
  void HeadersEnd(std::int32_t /*id*/) override {}
  void Body(std::int32_t id, std::string_view bytes) override;
  void Ended(std::int32_t id) override;
  Http2::Piece Give(std::int32_t id, char* buffer, std::size_t room) override;
  void Sent(std::int32_t /*id*/) override {}
  void Over(std::int32_t id, Http2Error error) override;
  void Settle() override {}
  void Closed() override;

 private:
  struct Exchange {
    std::string method;
    std::string sending;
    std::size_t sent = 0;
    Answer answer;
    std::size_t most_answer = 0;
    std::unique_ptr<Timer> deadline;
    std::uint64_t received_before = 0;

    std::size_t header_bytes = 0;
    std::string http_status;
    std::optional<StatusCode> status;
    std::string message;
    OneMessage body;
    bool ended = false;
  };
  void Late(std::int32_t id);
  // Answers and forgets it.
  void Finish(std::int32_t id, base::Result<std::string> result);
  static base::Result<std::string> ResultOf(Exchange& exchange);
  [[nodiscard]] base::Error Failed(const Exchange& exchange,
                                   base::ErrorCode code,
                                   std::string_view why) const {
    return base::MakeError(code, "{} of {}: {}", exchange.method, calls_.path_, why);
  }

  Calls& calls_;  // outlives it: whoever calls keeps it
  std::shared_ptr<Http2> http2_;
  std::map<std::int32_t, Exchange> exchanges_;
};

bool Channel::Calls::Connection::Begin(Order& order) {
  Headers headers = {{":method", "POST"},      {":scheme", "http"},
                     {":path", order.method},  {":authority", "localhost"},
                     {"te", "trailers"},       {"content-type", "application/grpc"},
                     {"user-agent", "partita"}};
  headers.emplace_back("grpc-timeout", FormatTimeout(order.deadline));
  const std::int32_t id = http2_->Request(headers);
  if (id == 0) return false;
  Exchange& exchange = exchanges_[id];
  exchange.method = std::move(order.method);
  exchange.sending = Framed(order.request);
  exchange.answer = std::move(order.answer);
  exchange.most_answer = order.most_answer;
  exchange.received_before = http2_->received();
  exchange.deadline = calls_.loop_.NewTimer(calls_.name_ + "-deadline");
  exchange.deadline->After(std::min(order.deadline, kLongestDeadline), [this, id] { Late(id); });
  http2_->Flush();
  return true;
}

void Channel::Calls::Connection::Late(std::int32_t id) {
  const std::shared_ptr<Connection> self = shared_from_this();
  const std::shared_ptr<Calls> calls = calls_.shared_from_this();
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  const bool silent = found->second.received_before == http2_->received();
  Finish(id, Failed(found->second, base::ErrorCode::kTimeout, "no answer before the deadline"));
  http2_->Reset(id, Http2Error::kCancel);
  // It said nothing at all, and nobody else waits for it: the next call tries another connection.
  if (silent && exchanges_.empty())
    http2_->Close();
  else
    http2_->Flush();
}

void Channel::Calls::Connection::Finish(std::int32_t id, base::Result<std::string> result) {
  auto node = exchanges_.extract(id);
  if (!node.empty()) calls_.Tell(std::move(node.mapped().answer), std::move(result));
}

bool Channel::Calls::Connection::Header(std::int32_t id,
                                        std::string_view name,
                                        std::string_view value) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return true;
  Exchange& exchange = found->second;
  exchange.header_bytes += name.size() + value.size();
  if (exchange.header_bytes > kMostAnswerHeaders) return false;
  if (name == ":status") exchange.http_status = value;
  if (name == "grpc-message") exchange.message = PercentDecoded(value);
  if (name == "grpc-status") {
    unsigned number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool known = read.ec == std::errc() && read.ptr == value.data() + value.size() &&
                       number <= static_cast<unsigned>(StatusCode::kUnauthenticated);
    exchange.status = known ? static_cast<StatusCode>(number) : StatusCode::kUnknown;
  }
  return true;
}

void Channel::Calls::Connection::Body(std::int32_t id, std::string_view bytes) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  const Status added = found->second.body.Add(bytes, found->second.most_answer);
  if (added.code == StatusCode::kOk) return;
  Finish(id, Failed(found->second, base::ErrorCode::kInvalid, added.message));
  http2_->Reset(id, Http2Error::kCancel);
}

base::Result<std::string> Channel::Calls::Connection::ResultOf(Exchange& exchange) {
  if (!exchange.status && exchange.http_status != "200") {
    return ErrorOf({CodeOfHttp(exchange.http_status),
                    fmt::format("it answers HTTP status {} instead of gRPC",
                                exchange.http_status.empty() ? "none" : exchange.http_status)});
  }
  if (!exchange.status)
    return base::Error(base::ErrorCode::kInternal, "it ended its answer without a status");
  if (*exchange.status != StatusCode::kOk)
    return ErrorOf({*exchange.status, std::move(exchange.message)});
  if (!exchange.body.whole())
    return base::Error(base::ErrorCode::kInternal, "it says OK without a whole message");
  return exchange.body.Take();
}

void Channel::Calls::Connection::Ended(std::int32_t id) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  base::Result<std::string> result = ResultOf(found->second);
  if (!result.ok()) {
    result = std::move(result).error().Within(
        fmt::format("{} of {}", found->second.method, calls_.path_));
  }
  const bool asked = found->second.sent == found->second.sending.size();
  Finish(id, std::move(result));
  // It answered before it heard all.
  if (!asked) http2_->Reset(id, Http2Error::kCancel);
}

Http2::Piece Channel::Calls::Connection::Give(std::int32_t id, char* buffer, std::size_t room) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return {.end = true};
  Exchange& exchange = found->second;
  Http2::Piece piece{.size = std::min(room, exchange.sending.size() - exchange.sent)};
  std::copy_n(exchange.sending.data() + exchange.sent, piece.size, buffer);
  exchange.sent += piece.size;
  piece.end = exchange.sent == exchange.sending.size();
  return piece;
}

void Channel::Calls::Connection::Over(std::int32_t id, Http2Error error) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  // A server that is about to stop refuses what it has not begun.
  const bool refused = error == Http2Error::kRefusedStream || error == Http2Error::kCancel;
  Finish(id,
         Failed(found->second, refused ? base::ErrorCode::kUnavailable : base::ErrorCode::kInternal,
                fmt::format("it gave the call up (HTTP/2 error {})",
                            static_cast<std::uint32_t>(error))));
}

void Channel::Calls::Connection::Closed() {
  const std::shared_ptr<Connection> self = shared_from_this();
  while (!exchanges_.empty()) {
    const auto first = exchanges_.begin();
    Finish(first->first,
           Failed(first->second, base::ErrorCode::kUnavailable, "the connection is gone"));
  }
  calls_.connections_.remove(self);
}

base::Result<std::shared_ptr<Channel::Calls::Connection>> Channel::Calls::Usable() {
  if (!connections_.empty() && connections_.back()->usable()) return connections_.back();
  TRY(fd, ConnectTo(path_));
  auto connection = std::make_shared<Connection>(*this);
  connections_.push_back(connection);
  connection->Start(std::move(fd));
  peer_ = connection->peer();
  return connection;
}

void Channel::Calls::Begin(Order order) {
  auto connection = Usable();
  if (!connection.ok()) {
    return Tell(std::move(order.answer), std::move(connection).error().Within(order.method));
  }
  if (!(*connection)->Begin(order)) {
    Tell(std::move(order.answer),
         base::MakeError(base::ErrorCode::kUnavailable, "{} of {}: the connection is gone",
                         order.method, path_));
  }
}

void Channel::Calls::Close() {
  while (!connections_.empty()) connections_.front()->Close();
}

Channel::Channel(Loop& loop, std::string name, std::string path)
    : calls_(std::make_shared<Calls>(loop, std::move(name), std::move(path))) {}
Channel::~Channel() { calls_->Abandon(); }

void Channel::Call(std::string method, std::string request, Duration deadline, Answer answer) {
  calls_->Begin({.method = std::move(method),
                 .request = std::move(request),
                 .deadline = deadline,
                 .most_answer = most_answer,
                 .answer = std::move(answer)});
}

void Channel::Close() { calls_->Close(); }
pid_t Channel::peer() const { return calls_->peer(); }

}  // namespace partita::net::rpc
