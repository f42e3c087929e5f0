#include "net/rpc/server_connection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace partita::net::rpc {
namespace {

constexpr std::size_t kMostRequestHeaders = std::size_t{16} << 10;

Headers Trailers(const Status& status) {
  Headers headers = {{"grpc-status", std::to_string(static_cast<int>(status.code))}};
  if (!status.message.empty()) headers.emplace_back("grpc-message", PercentEncoded(status.message));
  return headers;
}

Headers AnswerHeaders() { return {{":status", "200"}, {"content-type", "application/grpc"}}; }

}  // namespace

struct ServerConnection::Exchange {
  // The request.
  std::size_t header_bytes = 0;
  bool headers_read = false;  // what follows are trailers
  std::string http_method, method, content_type;
  std::optional<Duration> timeout;
  OneMessage request;
  bool ended = false;  // by the peer
  std::unique_ptr<Timer> deadline;

  // The answer.
  bool answered = false;  // its headers are on the way
  std::string sending;    // with its head
  std::size_t sent = 0;
  std::optional<std::string> waiting;
  std::optional<Status> end;
  std::shared_ptr<OneStream> stream;
};

class ServerConnection::OneCall final : public Call {
 public:
  OneCall(std::weak_ptr<ServerConnection> connection, std::int32_t id, std::string request)
      : connection_(std::move(connection)), id_(id), request_(std::move(request)) {}
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;
  // Out of memory ends the program.
  // NOLINTNEXTLINE(bugprone-exception-escape)
  ~OneCall() override {
    if (finished_) return;
    Answer(base::Error(base::ErrorCode::kInternal, "nobody answered: a mistake of this program"));
  }

  [[nodiscard]] const std::string& request() const override { return request_; }
  void Finish(base::Result<std::string> answer) override {
    PARTITA_CHECK(!finished_);
    finished_ = true;
    Answer(std::move(answer));
  }

 private:
  void Answer(base::Result<std::string> answer) const {
    const std::shared_ptr<ServerConnection> connection = connection_.lock();
    if (!connection) return;
    if (answer.ok())
      connection->Finish(id_, *std::move(answer), Status{});
    else
      connection->Finish(id_, std::nullopt, StatusOf(answer.error()));
  }

  std::weak_ptr<ServerConnection> connection_;
  std::int32_t id_;
  std::string request_;
  bool finished_ = false;
};

class ServerConnection::OneStream final : public Stream {
 public:
  OneStream(const std::shared_ptr<ServerConnection>& connection,
            std::int32_t id,
            std::string request)
      : connection_(connection),
        id_(id),
        request_(std::move(request)),
        peer_(connection->http2_->peer()) {}

  [[nodiscard]] const std::string& request() const override { return request_; }
  [[nodiscard]] pid_t peer() const override { return peer_; }
  void Publish(std::string message) override {
    const std::shared_ptr<ServerConnection> connection = connection_.lock();
    if (!closed_ && connection) connection->Publish(id_, std::move(message));
  }
  void Finish(Status status) override {
    const std::shared_ptr<ServerConnection> connection = connection_.lock();
    if (!closed_ && connection) connection->Finish(id_, std::nullopt, std::move(status));
  }
  void OnClosed(Task task) override {
    if (closed_) return task();
    task_ = std::move(task);
  }
  [[nodiscard]] bool closed() const override { return closed_; }

  void TellClosed() {
    if (std::exchange(closed_, true)) return;
    const Task task = std::exchange(task_, nullptr);
    if (task) task();
  }

 private:
  std::weak_ptr<ServerConnection> connection_;
  std::int32_t id_;
  std::string request_;
  pid_t peer_;
  Task task_;
  bool closed_ = false;
};

std::shared_ptr<ServerConnection> ServerConnection::Make(Loop& loop,
                                                         const std::string& name,
                                                         base::UniqueFd fd,
                                                         std::shared_ptr<const Methods> methods,
                                                         Task closed) {
  std::shared_ptr<ServerConnection> connection(
      new ServerConnection(loop, name, std::move(methods), std::move(closed)));
  connection->http2_ =
      Http2::Make(loop, name + "-connection", std::move(fd), Http2::Side::kServer, *connection);
  return connection;
}

ServerConnection::ServerConnection(Loop& loop,
                                   std::string name,
                                   std::shared_ptr<const Methods> methods,
                                   Task closed)
    : loop_(loop),
      name_(std::move(name)),
      methods_(std::move(methods)),
      closed_(std::move(closed)) {}

ServerConnection::~ServerConnection() = default;

ServerConnection::Exchange* ServerConnection::Find(std::int32_t id) {
  const auto found = exchanges_.find(id);
  return found == exchanges_.end() ? nullptr : &found->second;
}

void ServerConnection::Begin(std::int32_t id) { exchanges_.try_emplace(id); }

bool ServerConnection::Header(std::int32_t id, std::string_view name, std::string_view value) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr) return true;
  exchange->header_bytes += name.size() + value.size();
  if (exchange->header_bytes > kMostRequestHeaders) return false;
  if (exchange->headers_read) return true;
  if (name == ":method") exchange->http_method = value;
  if (name == ":path") exchange->method = value;
  if (name == "content-type") exchange->content_type = value;
  if (name == "grpc-timeout") exchange->timeout = ParseTimeout(value);
  return true;
}

void ServerConnection::HeadersEnd(std::int32_t id) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr || std::exchange(exchange->headers_read, true)) return;
  if (exchange->http_method != "POST") return RefuseHttp(id, *exchange, 405);
  if (!exchange->content_type.starts_with("application/grpc"))
    return RefuseHttp(id, *exchange, 415);
  if (!methods_->calls.contains(exchange->method) &&
      !methods_->streams.contains(exchange->method)) {
    return Refuse(id, *exchange,
                  {StatusCode::kUnimplemented,
                   fmt::format("method {} is not served here", exchange->method)});
  }
  if (!exchange->timeout || *exchange->timeout > kLongestDeadline) return;
  exchange->deadline = loop_.NewTimer(name_ + "-deadline");
  exchange->deadline->After(*exchange->timeout, [this, id] {
    Finish(id, std::nullopt, {StatusCode::kDeadlineExceeded, "the caller's deadline passed"});
  });
}

void ServerConnection::Body(std::int32_t id, std::string_view bytes) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr || exchange->end) return;
  const Status added = exchange->request.Add(bytes, kMostRequest);
  if (added.code != StatusCode::kOk) return Refuse(id, *exchange, added);
  if (Held() > kMostWaiting)
    Refuse(id, *exchange, {StatusCode::kResourceExhausted, "too many large requests at once"});
}

void ServerConnection::Ended(std::int32_t id) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr) return;
  exchange->ended = true;
  if (exchange->end) return;
  if (exchange->request.empty())
    return Refuse(id, *exchange, {StatusCode::kUnimplemented, "the request has no message"});
  if (!exchange->request.whole())
    return Refuse(id, *exchange, {StatusCode::kInvalidArgument, "the request is cut off"});
  asked_.push_back(id);
}

Http2::Piece ServerConnection::Give(std::int32_t id, char* buffer, std::size_t room) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr) return {.end = true};
  if (exchange->sending.empty() && exchange->waiting) {
    exchange->sending = Framed(*exchange->waiting);
    exchange->waiting.reset();
  }
  Http2::Piece piece{.size = std::min(room, exchange->sending.size() - exchange->sent)};
  std::copy_n(exchange->sending.data() + exchange->sent, piece.size, buffer);
  exchange->sent += piece.size;
  if (exchange->sent == exchange->sending.size()) {
    exchange->sending = {};
    exchange->sent = 0;
    piece.end = exchange->end && !exchange->waiting;
    if (piece.end) piece.trailers = Trailers(*exchange->end);
  }
  piece.wait = piece.size == 0 && !piece.end;
  return piece;
}

void ServerConnection::Sent(std::int32_t id) {
  // The answer is complete before the request is: the rest of it is of no interest.
  const Exchange* const exchange = Find(id);
  if (exchange != nullptr && !exchange->ended) http2_->Reset(id, Http2Error::kNone);
}

void ServerConnection::Over(std::int32_t id, Http2Error /*error*/) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  if (found->second.stream) ending_.push_back(std::move(found->second.stream));
  exchanges_.erase(found);
}

void ServerConnection::Settle() {
  const std::shared_ptr<ServerConnection> self = shared_from_this();
  while (!ending_.empty() || !asked_.empty()) {
    // Ends first: whoever asks again gives up what it had.
    for (const auto& stream : std::exchange(ending_, {})) stream->TellClosed();
    for (const std::int32_t id : std::exchange(asked_, {})) Serve(id);
  }
}

void ServerConnection::Serve(std::int32_t id) {
  Exchange* const exchange = Find(id);
  // Cancelled, late or the connection closed, all since it was asked.
  if (exchange == nullptr || exchange->end) return;
  std::string request = exchange->request.Take();
  if (const auto call = methods_->calls.find(exchange->method); call != methods_->calls.end()) {
    const Server::Served served = call->second;  // it may be the server's end
    return served(std::make_shared<OneCall>(weak_from_this(), id, std::move(request)));
  }
  const Server::ServedStream served = methods_->streams.find(exchange->method)->second;
  const auto stream = std::make_shared<OneStream>(shared_from_this(), id, std::move(request));
  exchange->stream = stream;
  exchange->answered = true;
  http2_->Respond(id, AnswerHeaders(), true);
  http2_->Flush();
  served(stream);
}

void ServerConnection::Refuse(std::int32_t id, Exchange& exchange, const Status& status) {
  exchange.end = status;
  exchange.answered = true;
  exchange.request = {};
  Headers headers = AnswerHeaders();
  for (auto& each : Trailers(status)) headers.push_back(std::move(each));
  http2_->Respond(id, headers, false);
}

void ServerConnection::RefuseHttp(std::int32_t id, Exchange& exchange, int status) {
  exchange.end = Status{StatusCode::kUnknown, ""};
  exchange.answered = true;
  http2_->Respond(id, {{":status", std::to_string(status)}}, false);
}

void ServerConnection::Publish(std::int32_t id, std::string message) {
  Exchange* const exchange = Find(id);
  if (exchange == nullptr || exchange->end) return;
  if (message.size() > kMostWaiting) {
    return Finish(id, std::nullopt,
                  {StatusCode::kResourceExhausted,
                   fmt::format("the message has {} bytes, which nobody takes", message.size())});
  }
  exchange->waiting = std::move(message);
  if (Waiting() > kMostWaiting) return Close();
  http2_->Resume(id);
  http2_->Flush();
}

void ServerConnection::Finish(std::int32_t id, std::optional<std::string> last, Status status) {
  const std::shared_ptr<ServerConnection> self = shared_from_this();
  Exchange* const exchange = Find(id);
  if (exchange == nullptr || exchange->end) return;
  if (last && last->size() > kMostWaiting) {
    status = {StatusCode::kResourceExhausted,
              fmt::format("the answer has {} bytes, which nobody takes", last->size())};
    last.reset();
  }
  exchange->deadline.reset();
  const std::shared_ptr<OneStream> stream = std::move(exchange->stream);
  if (!exchange->answered && !last) {
    Refuse(id, *exchange, status);
  } else {
    exchange->end = std::move(status);
    if (last) exchange->waiting = std::move(last);
    if (!std::exchange(exchange->answered, true)) http2_->Respond(id, AnswerHeaders(), true);
    http2_->Resume(id);
  }
  const bool too_much = Waiting() > kMostWaiting;
  if (too_much)
    Close();
  else
    http2_->Flush();
  if (stream) stream->TellClosed();
}

std::size_t ServerConnection::Waiting() const {
  std::size_t sum = 0;
  for (const auto& [id, exchange] : exchanges_) {
    sum += exchange.sending.size() - exchange.sent;
    if (exchange.waiting) sum += exchange.waiting->size();
  }
  return sum;
}

std::size_t ServerConnection::Held() const {
  std::size_t sum = 0;
  for (const auto& [id, exchange] : exchanges_) sum += exchange.request.held();
  return sum;
}

void ServerConnection::Closed() {
  const std::shared_ptr<ServerConnection> self = shared_from_this();
  for (auto& [id, exchange] : exchanges_)
    if (exchange.stream) ending_.push_back(std::move(exchange.stream));
  exchanges_.clear();
  asked_.clear();
  const Task closed = std::exchange(closed_, nullptr);
  if (closed) closed();
  for (const auto& stream : std::exchange(ending_, {})) stream->TellClosed();
}

}  // namespace partita::net::rpc
