// Requests to the API server with our credentials as they are at the time, counted; those that it
// postpones (429) or refuses while a token is exchanged (401) are sent again.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "net/http/client.h"

namespace partita::kube {

// Loop's thread only.
class Requests {
 public:
  // From asking to answering, whatever is sent again in between.
  static constexpr std::chrono::seconds kToAnswer{30};

  struct Order {
    std::string verb;  // as RBAC calls it: "list"
    std::string method;
    std::string path;
    std::string content_type{};
    std::string body{};
    bool repeatable = false;
  };
  using Answer = std::function<void(base::Result<net::HttpClientAnswer>)>;

  Requests(net::Loop& loop, std::string name, Access access, Random random, std::string user_agent);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() = default;

  // Any status is an answer. Errors: kTimeout, and kUnavailable for whatever else keeps a server
  // from answering.
  void Ask(Order order, Answer answer);
  // Errors, also of its end, as of Ask: credentials that cannot be read are one.
  [[nodiscard]] base::Result<std::unique_ptr<net::HttpClient::Stream>> Watch(
      const std::string& path, net::Duration idle, net::HttpClient::StreamEvents events);
  // The server said 401 to a watch: true where other credentials are there now.
  [[nodiscard]] bool ReadCredentialsAgain() { return credentials_.ReadAgain(); }

  // Of an error that other credentials may end: why those that a kubeconfig has now are not in
  // force.
  [[nodiscard]] base::Error Explained(base::Error error) const;

  [[nodiscard]] net::Loop& loop() { return loop_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double Chance() { return random_(); }
  [[nodiscard]] const RequestCounts& counts() const { return counts_; }

 private:
  struct Pending;
  void Send(const std::shared_ptr<Pending>& pending);
  void Answered(const std::shared_ptr<Pending>& pending,
                base::Result<net::HttpClientAnswer> answer);
  base::Result<net::HttpClientRequest> Prepare(const Order& order);

  net::Loop& loop_;
  std::string name_;
  Credentials credentials_;
  Random random_;
  std::string user_agent_;
  RequestCounts counts_;
  net::HttpClient http_;
  std::list<std::shared_ptr<Pending>> pending_;
};

}  // namespace partita::kube
