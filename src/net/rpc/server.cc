#include "net/rpc/server.h"

#include <algorithm>
#include <list>
#include <utility>

#include "net/listener.h"
#include "net/rpc/server_connection.h"

namespace partita::net::rpc {

class Server::Peers : public std::enable_shared_from_this<Server::Peers> {
 public:
  Peers(Loop& loop, std::string name)
      : loop_(loop), name_(std::move(name)), methods_(std::make_shared<Methods>()) {}

  base::Result<void> Listen(const std::string& path, mode_t mode) {
    Stop();
    TRY(listener, Listener::Open({base::ListenAddress::Kind::kUnix, "", 0, path}, mode));
    listener_ = std::move(listener);
    listener_->Start(loop_, name_, [this](base::UniqueFd fd) { Accept(std::move(fd)); });
    return {};
  }

  void Stop() {
    listener_.reset();
    while (!connections_.empty()) connections_.front()->Close();
  }

  [[nodiscard]] Methods& methods() const { return *methods_; }
  [[nodiscard]] const Listener* listener() const { return listener_.get(); }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  void Accept(base::UniqueFd fd) {
    if (connections_.size() >= kMostConnections) {
      // Whoever has nothing under way makes room; where all have, the newcomer is the one too many.
      const auto idle = std::find_if(connections_.begin(), connections_.end(),
                                     [](const auto& each) { return each->idle(); });
      if (idle == connections_.end()) return;
      (*idle)->Close();
    }
    connections_.emplace_back();
    const auto place = std::prev(connections_.end());
    const auto connection = *place = ServerConnection::Make(loop_, name_, std::move(fd), methods_,
                                                            [weak = weak_from_this(), place] {
                                                              if (const auto peers = weak.lock())
                                                                peers->connections_.erase(place);
                                                            });
    connection->Start();
  }

  Loop& loop_;
  std::string name_;
  std::shared_ptr<Methods> methods_;
  std::unique_ptr<Listener> listener_;
  std::list<std::shared_ptr<ServerConnection>> connections_;  // oldest first
};

Server::Server(Loop& loop, std::string name)
    : peers_(std::make_shared<Peers>(loop, std::move(name))) {}
Server::~Server() { Stop(); }

void Server::OnCall(std::string method, Served served) {
  peers_->methods().calls[std::move(method)] = std::move(served);
}

void Server::OnStream(std::string method, ServedStream served) {
  peers_->methods().streams[std::move(method)] = std::move(served);
}

base::Result<void> Server::Listen(const std::string& path, mode_t mode) {
  return peers_->Listen(path, mode);
}

void Server::Stop() {
  const std::shared_ptr<Peers> peers = peers_;
  peers->Stop();
}

bool Server::listening() const { return peers_->listener() != nullptr; }
bool Server::Lost() const { return peers_->listener() != nullptr && peers_->listener()->Lost(); }
std::size_t Server::connections() const { return peers_->connections(); }

}  // namespace partita::net::rpc
