// One watch over the API server's: list, then a stream from where the list ended, again and again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "kube/client.h"
#include "kube/requests.h"
#include "kube/watch_lines.h"

namespace partita::kube {

// Loop's thread only.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  // A stream that ends sooner has failed, however it ended: a server that cuts every stream is not
  // asked without a pause.
  static constexpr std::chrono::seconds kShort{5};

  Watcher(Requests& requests, std::string list_path, std::string selector, WatchEvents events);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() = default;

  void Start();
  void Stop();

 private:
  void List();
  void Listed(base::Result<net::HttpClientAnswer> answer);
  base::Result<void> TakeList(const base::Value& list);
  void Follow();
  void Begun(const net::HttpClientAnswer& answer);
  void Received(std::string_view bytes);
  // False: the stream has ended.
  bool Take(std::string_view line);
  void Saw(const base::Value& object);
  void Lost(const ObjectName& name);
  // It is tried again: from where it was, or from a list.
  void Failed(const base::Error& error, std::optional<std::chrono::seconds> retry_after = {});
  void FailedAt(int status, const base::Error& error, const net::HttpHeaders& headers = {});
  void Ended(const base::Result<void>& how);
  [[nodiscard]] bool Lasted() const;
  void Again(net::Duration pause);

  Requests& requests_;
  std::string list_path_, selector_;
  WatchEvents events_;
  std::unique_ptr<net::Timer> pause_;
  std::unique_ptr<net::HttpClient::Stream> stream_;
  WatchLines lines_;
  std::string version_;                      // up to which all is known; empty: a list comes first
  std::map<ObjectName, std::string> known_;  // and its resourceVersion
  base::Clock::Steady begun_{};
  bool streaming_ = false;
  bool stopped_ = false;
  int failures_ = 0;
};

}  // namespace partita::kube
