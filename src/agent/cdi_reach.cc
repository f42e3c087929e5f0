#include "agent/cdi_reach.h"

#include <chrono>
#include <utility>

#include "base/files.h"

namespace partita::agent {
namespace {

using base::LogKey;
using std::chrono::seconds;

// All devices wait for the first look.
constexpr seconds kToAnswer{1};
constexpr seconds kWhileDisabled{10};

}  // namespace

std::vector<std::string> UsualEngineSockets(const std::string& host_root) {
  std::vector<std::string> sockets;
  for (const char* path : {"run/containerd/containerd.sock", "run/k3s/containerd/containerd.sock",
                           "run/crio/crio.sock"})
    sockets.push_back(base::JoinPath(host_root, path));
  return sockets;
}

CdiReach::CdiReach(net::Loop& loop, base::Log& log, KubeletWatch& kubelet, net::Task changed)
    : loop_(loop),
      log_(log),
      kubelet_(kubelet),
      changed_(std::move(changed)),
      again_(loop.NewTimer("engine")) {}

CdiReach::~CdiReach() { *alive_ = false; }

void CdiReach::Start(std::vector<std::string> sockets) {
  sockets_ = std::move(sockets);
  kubelet_subscription_ = kubelet_.Subscribe([this](hw::watch::KubeletSocket::Change change) {
    if (change != hw::watch::KubeletSocket::Change::kGone) Look();
  });
  Look();
}

void CdiReach::Stop() {
  kubelet_subscription_.reset();
  again_->Cancel();
  channel_.reset();
  looking_ = look_again_ = looked_ = false;
}

void CdiReach::Look() {
  if (looking_) {
    look_again_ = true;
    return;
  }
  again_->Cancel();
  looking_ = true;
  asked_ = 0;
  answered_.clear();
  AskNext();
}

void CdiReach::AskNext() {
  while (asked_ < sockets_.size() && !base::Exists(sockets_[asked_])) ++asked_;
  if (asked_ == sockets_.size()) return Ended();
  channel_ = std::make_unique<net::rpc::Channel>(loop_, "engine", sockets_[asked_++]);
  channel_->Call(std::string(service::device_plugin::kEngineVersion), "", kToAnswer,
                 [this](const base::Result<std::string>& answer) { HeardVersion(answer); });
}

void CdiReach::HeardVersion(const base::Result<std::string>& answer) {
  base::Result<SeenEngine> engine = answer.ok() ? service::device_plugin::ReadEngineVersion(*answer)
                                                : base::Result<SeenEngine>(answer.error());
  // An engine that serves nobody but itself, as Docker's containerd, knows of no such call.
  if (!engine.ok() || engine->name.empty()) {
    if (!engine.ok()) log_.Debug("not an engine for kubelet", base::ErrorFields(engine.error()));
    return loop_.Post([this, alive = alive_] {
      if (*alive && looking_) AskNext();
    });
  }
  channel_->Call(std::string(service::device_plugin::kEngineStatus),
                 service::device_plugin::EngineStatusMessage(), kToAnswer,
                 [this, engine = *engine](const base::Result<std::string>& status) {
                   HeardStatus(engine, status);
                 });
}

void CdiReach::HeardStatus(SeenEngine engine, const base::Result<std::string>& answer) {
  if (answer.ok()) {
    const base::Result<std::optional<bool>> cdi = service::device_plugin::ReadEngineCdi(*answer);
    if (cdi.ok()) engine.cdi = *cdi;
  }
  answered_.push_back(std::move(engine));
  // Not from within the channel's own call: the next one takes its place.
  loop_.Post([this, alive = alive_] {
    if (*alive && looking_) AskNext();
  });
}

void CdiReach::Ended() {
  looking_ = false;
  channel_.reset();
  std::optional<SeenEngine> engine;
  if (answered_.size() == 1) engine = answered_.front();
  const bool differs = !std::exchange(looked_, true) || engine != engine_;
  engine_ = std::move(engine);
  disabled_ = service::device_plugin::CdiDisabled(engine_, std::nullopt);
  if (!disabled_.empty()) again_->After(kWhileDisabled, [this] { Look(); });
  if (differs && changed_) changed_();
  if (std::exchange(look_again_, false)) Look();
}

base::Value CdiReach::State() const {
  if (!engine_) return {};
  return base::Value::Map()
      .Set("name", engine_->name)
      .Set("version", engine_->version)
      .Set("cdi", engine_->cdi ? base::Value(*engine_->cdi) : base::Value());
}

}  // namespace partita::agent
