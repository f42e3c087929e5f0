#include "agent/kubelet_watch.h"

#include <utility>

namespace partita::agent {
namespace {

using base::LogKey;
using Change = hw::watch::KubeletSocket::Change;

}  // namespace

void KubeletWatch::Start(const std::string& path) {
  base::Result<hw::watch::KubeletSocket> socket = hw::watch::KubeletSocket::Open(path);
  if (!socket.ok())
    return log_.Warn("kubelet's socket is not watched", base::ErrorFields(socket.error()));
  socket_.emplace(*std::move(socket));
  since_ = loop_.clock().Now();
  if (present()) log_.Info("kubelet is there", {{LogKey::kPath, socket_->path()}});
  watch_ = loop_.NewWatch("kubelet", socket_->fd());
  watch_->OnReadable([this] { Found(socket_->Read()); });
}

void KubeletWatch::Stop() {
  watch_.reset();
  socket_.reset();
}

void KubeletWatch::Look() {
  if (socket_) Found(socket_->Look());
}

void KubeletWatch::Found(Change change) {
  if (change == Change::kNone) return;
  since_ = loop_.clock().Now();
  const char* text = "kubelet has come";
  if (change == Change::kGone) text = "kubelet has gone";
  if (change == Change::kReplaced) text = "kubelet has started anew";
  log_.Info(text, {{LogKey::kPath, socket_->path()}});
  // A subscriber may end its own subscription, or another's.
  for (const std::shared_ptr<Subscriber>& each :
       std::vector(subscribers_.begin(), subscribers_.end()))
    if (*each) (*each)(change);
}

std::shared_ptr<void> KubeletWatch::Subscribe(Subscriber subscriber) {
  auto kept = std::make_shared<Subscriber>(std::move(subscriber));
  subscribers_.push_back(kept);
  return {kept.get(), [this, kept](void*) {
            *kept = nullptr;
            std::erase(subscribers_, kept);
          }};
}

base::Value KubeletWatch::State() const {
  if (!socket_) return {};
  const auto age = loop_.clock().Now() - since_;
  return base::Value::Map()
      .Set("socket", socket_->path())
      .Set("present", socket_->present())
      .Set("seconds", std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

}  // namespace partita::agent
