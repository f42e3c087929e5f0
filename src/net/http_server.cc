#include "net/http_server.h"

#include <utility>

#include <fmt/format.h>

namespace partita::net {
namespace {

constexpr ConnectionLimits kLimits{.most_input = kMostHttpHead,
                                   .most_output = std::size_t{16} << 20,
                                   .to_ask = std::chrono::seconds(5),
                                   .to_take = std::chrono::seconds(10)};

std::string_view Reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Other";
  }
}

std::string Render(const HttpResponse& response, bool head_only) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "{}Connection: close\r\n\r\n{}",
      response.status, Reason(response.status), response.content_type, response.body.size(),
      response.status == 405 ? "Allow: GET, HEAD\r\n" : "", head_only ? "" : response.body);
}

HttpResponse Refusal(int status) {
  return {.status = status, .body = fmt::format("{} {}\n", status, Reason(status))};
}

}  // namespace

void HttpServer::Listen(std::unique_ptr<Listener> listener) {
  listener_ = std::move(listener);
  if (listener_)
    listener_->Start(loop_, "http", [this](base::UniqueFd fd) { Accept(std::move(fd)); });
}

void HttpServer::Stop() {
  listener_.reset();
  while (!connections_.empty()) connections_.front()->Close();
}

base::ListenAddress HttpServer::address() const {
  return listener_ ? listener_->address() : base::ListenAddress{};
}

void HttpServer::Accept(base::UniqueFd fd) {
  // Whoever has waited longest without asking makes room: a crowd of silent peers cannot keep a
  // probe out.
  if (connections_.size() >= kMostConnections) connections_.front()->Close();
  connections_.emplace_back();
  const auto place = std::prev(connections_.end());
  *place = Connection::Make(loop_, "http-connection", std::move(fd), kLimits,
                            {.input = [this, place](std::string& input) { Answer(**place, input); },
                             .closed = [this, place] { connections_.erase(place); }});
}

void HttpServer::Answer(Connection& connection, std::string& input) {
  const auto taken = TakeHttpRequest(input);
  if (!taken) return;
  if (const auto* refused = std::get_if<HttpRefusal>(&*taken)) {
    connection.Send(Render(Refusal(refused->status), false));
    return connection.CloseAfterSending();
  }
  const HttpRequest& request = std::get<HttpRequest>(*taken);
  const auto page = pages_.find(request.path);
  const HttpResponse response = page == pages_.end() ? Refusal(404) : page->second(request);
  connection.Send(Render(response, request.method == "HEAD"));
  connection.CloseAfterSending();
}

}  // namespace partita::net
