#include "agent/control/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::agent::control {
namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr net::ConnectionLimits kLimits{.most_input = kFrameHeader + kMostRequest,
                                        .most_output = kFrameHeader + kMostAnswer,
                                        .to_ask = std::chrono::seconds(10),
                                        .to_take = std::chrono::seconds(10)};

std::optional<Peer> PeerOf(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return Peer{credentials.pid, credentials.uid};
}

void SendAnswer(net::Connection& connection, const Answer& answer) {
  connection.Send(MakeFrame(ToValue(answer)));
}

}  // namespace

Call::~Call() {
  Finish(Error(ErrorCode::kInternal,
               fmt::format("the agent gave no answer to {}", base::Quoted(request_.method))));
}

void Call::Progress(Value value) {
  const std::shared_ptr<net::Connection> connection = connection_.lock();
  if (finished_ || gone_ || connection == nullptr) return;
  SendAnswer(*connection, control::Progress{std::move(value)});
}

void Call::Finish(base::Result<Value> result) {
  if (std::exchange(finished_, true)) return;
  on_gone_ = nullptr;
  const std::shared_ptr<net::Connection> connection = connection_.lock();
  if (gone_ || connection == nullptr) return;
  SendAnswer(*connection, std::move(result));
  connection->SetBusy(false);
  // A peer may have asked for the next thing already.
  connection->OfferInput();
}

void Call::OnGone(net::Task task) {
  if (gone_) return task();
  if (!finished_) on_gone_ = std::move(task);
}

void Call::SetGone() {
  if (finished_ || std::exchange(gone_, true)) return;
  if (const net::Task task = std::exchange(on_gone_, nullptr)) task();
}

base::Result<void> Server::Listen(const std::string& path) {
  TRY(listener, net::Listener::Open({base::ListenAddress::Kind::kUnix, "", 0, path}, 0600));
  listener_ = std::move(listener);
  listener_->Start(loop_, "control", [this](base::UniqueFd fd) { Accept(std::move(fd)); });
  return {};
}

void Server::Stop() {
  listener_.reset();
  while (!sessions_.empty()) sessions_.front().connection->Close();
}

// The peer that has waited longest without asking goes. False: all are being answered.
bool Server::MakeRoom() {
  if (sessions_.size() < kMostConnections) return true;
  for (const Session& session : sessions_) {
    if (session.connection->busy()) continue;
    session.connection->Close();
    return true;
  }
  return false;
}

void Server::Refuse(net::Connection& connection, Error error) {
  SendAnswer(connection, base::Result<Value>(std::move(error)));
  connection.CloseAfterSending();
}

void Server::Accept(base::UniqueFd fd) {
  const std::optional<Peer> peer = PeerOf(fd.get());
  const bool room = MakeRoom();
  sessions_.push_back({nullptr, peer.value_or(Peer{}), {}});
  const Place place = std::prev(sessions_.end());
  place->connection =
      net::Connection::Make(loop_, "control-connection", std::move(fd), kLimits,
                            {.input = [this, place](std::string& input) { Take(place, input); },
                             .closed =
                                 [this, place] {
                                   const std::shared_ptr<Call> call = place->call.lock();
                                   sessions_.erase(place);
                                   if (call) call->SetGone();
                                 }});
  const std::shared_ptr<net::Connection> connection = place->connection;
  if (!peer || (peer->uid != 0 && peer->uid != geteuid())) {
    return Refuse(*connection, base::MakeError(ErrorCode::kDenied, "only root may ask {}", who_));
  }
  if (!room) {
    return Refuse(*connection,
                  base::MakeError(ErrorCode::kBusy, "{} is answering {} others already", who_,
                                  kMostConnections)
                      .WithHint("try again when they are done"));
  }
}

void Server::Take(Place session, std::string& input) {
  net::Connection& connection = *session->connection;
  // One at a time; the rest waits in the input.
  if (connection.busy()) return;
  base::Result<std::optional<Value>> frame = TakeFrame(input, kMostRequest);
  if (!frame.ok()) return Refuse(connection, std::move(frame).error());
  if (!frame->has_value()) return;
  base::Result<Request> request = ReadRequest(**frame);
  if (!request.ok()) return Refuse(connection, std::move(request).error());
  Begin(session, *std::move(request));
}

void Server::Begin(Place session, Request request) {
  const auto method = methods_.find(request.method);
  if (method == methods_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, _] : methods_) names.push_back(name);
    const std::string near = base::DidYouMean(request.method, names);
    return Refuse(*session->connection,
                  base::MakeError(ErrorCode::kUnsupported, "{} has no method {}", who_,
                                  base::Quoted(request.method))
                      .WithHint(near.empty() ? "it has " + base::Join(names, ", ")
                                             : fmt::format("did you mean \"{}\"?", near)));
  }
  log_.Debug("asked", {{base::LogKey::kMethod, request.method},
                       {base::LogKey::kPid, static_cast<std::int64_t>(session->peer.pid)}});
  session->connection->SetBusy(true);
  const std::shared_ptr<Call> call(
      new Call(session->connection, session->peer, std::move(request)));
  session->call = call;
  // A copy: a method may replace itself.
  const Method run = method->second;
  run(call);
}

}  // namespace partita::agent::control
