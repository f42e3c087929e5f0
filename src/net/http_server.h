// Small documents over HTTP, from the loop: one request a connection, answered at once.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/listen_address.h"
#include "base/result.h"
#include "net/connection.h"
#include "net/http_request.h"
#include "net/listener.h"
#include "net/loop.h"

namespace partita::net {

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// Loop's thread only. A page is a function of what is known: it does not wait.
class HttpServer {
 public:
  using Page = std::function<HttpResponse(const HttpRequest&)>;
  static constexpr std::size_t kMostConnections = 64;

  explicit HttpServer(Loop& loop) : loop_(loop) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { Stop(); }

  // Exactly this path; before or after Listen.
  void Serve(std::string path, Page page) { pages_[std::move(path)] = std::move(page); }
  // In place of where it listened before. Sockets with a file are open to all (0666): what is
  // served is no secret.
  void Listen(std::unique_ptr<Listener> listener);
  void Stop();
  // Of the listener; off when there is none.
  [[nodiscard]] base::ListenAddress address() const;
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  void Accept(base::UniqueFd fd);
  void Answer(Connection& connection, std::string& input);

  Loop& loop_;
  std::map<std::string, Page, std::less<>> pages_;
  std::unique_ptr<Listener> listener_;
  std::list<std::shared_ptr<Connection>> connections_;  // oldest first
};

}  // namespace partita::net
