#include "service/device_plugin/endpoint.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::service::device_plugin {
namespace {

using base::LogKey;
using base::Value;
using std::chrono::seconds;

constexpr seconds kToRegister{5};
// kubelet opens its stream right after it has answered. It may also drop a registration together
// with the one before it (kubernetes#121994): then no stream comes, or it ends at once.
constexpr seconds kToStream{10};
constexpr seconds kFirstPause{1}, kLongestPause{30};

std::size_t CountHealthy(const std::vector<Listed>& devices) {
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(), [](const Listed& one) { return one.healthy; }));
}

}  // namespace

std::string SocketNameOf(const std::string& resource) {
  return fmt::format("nvidia-{}.sock", resource.substr(resource.find('/') + 1));
}

Endpoint::Endpoint(net::Loop& loop,
                   base::Log& log,
                   std::string resource,
                   KubeletPlace place,
                   Duties duties,
                   net::Task changed)
    : loop_(loop),
      log_(log),
      resource_(std::move(resource)),
      place_(std::move(place)),
      duties_(std::move(duties)),
      changed_(std::move(changed)),
      server_(loop, "device-plugin"),
      kubelet_(loop, "kubelet-registration", place_.socket),
      again_(loop.NewTimer("register")),
      pause_(kFirstPause),
      failure_(log, "not registered with kubelet") {
  Serve();
}

Endpoint::~Endpoint() { *alive_ = false; }

void Endpoint::Serve() {
  using net::rpc::Call;
  using CallPtr = std::shared_ptr<Call>;
  server_.OnCall(std::string(kGetOptions),
                 [](const CallPtr& call) { call->Finish(OptionsMessage()); });
  server_.OnCall(std::string(kPreStart), [](const CallPtr& call) { call->Finish(std::string()); });
  server_.OnCall(std::string(kAllocate), [this](const CallPtr& call) {
    auto asked = ReadAllocate(call->request());
    if (!asked.ok()) return call->Finish(std::move(asked).error().Within(resource_));
    base::Result<std::vector<Answer>> answers = duties_.allocate(*asked);
    if (!answers.ok()) return call->Finish(std::move(answers).error());
    call->Finish(AllocateMessage(*answers));
  });
  server_.OnCall(std::string(kPrefer), [this](const CallPtr& call) {
    const auto asked = ReadPrefer(call->request());
    if (!asked.ok()) return call->Finish(base::Error(asked.error()).Within(resource_));
    std::vector<std::vector<std::string>> answers;
    for (const PreferRequest& request : *asked) answers.push_back(duties_.prefer(request));
    call->Finish(PreferMessage(answers));
  });
  server_.OnStream(std::string(kListAndWatch),
                   [this](const std::shared_ptr<net::rpc::Stream>& stream) { Streaming(stream); });
}

void Endpoint::Start() {
  started_ = true;
  Register();
}

void Endpoint::Stop() {
  started_ = registering_ = false;
  again_->Cancel();
  kubelet_.Close();
  Disconnect();
}

// Nobody who leaves now is one that was lost.
void Endpoint::Disconnect() {
  const bool streamed = streaming();
  awaited_ = false;
  kubelet_stream_.reset();
  streams_.clear();
  server_.Stop();
  if (streamed && changed_) changed_();
}

void Endpoint::SetDevices(std::vector<Listed> devices) {
  if (devices == devices_) return;
  devices_ = std::move(devices);
  list_ = ListMessage(devices_);
  for (const auto& stream : streams_) stream->Publish(list_);
  log_.Debug("devices listed",
             {{LogKey::kResource, resource_}, {LogKey::kCount, CountHealthy(devices_)}});
}

// kubelet is the process at the registration's socket, however late it comes. Where its pid or the
// stream's is unknown, in another PID namespace, its stream is the first after a registration,
// or after one that was given up for its time.
bool Endpoint::IsKubelets(const net::rpc::Stream& stream) {
  const pid_t kubelet = kubelet_.peer();
  if (kubelet != 0 && stream.peer() != 0) return stream.peer() == kubelet;
  return awaited_;
}

// Whoever else listens, a tool of root's, hears the same lists, and neither takes kubelet's place
// nor hides its end.
void Endpoint::Streaming(const std::shared_ptr<net::rpc::Stream>& stream) {
  streams_.insert(stream);
  const bool kubelets = IsKubelets(*stream), another = kubelets && !streaming();
  if (kubelets) {
    awaited_ = false;
    kubelet_stream_ = stream;
    again_->Cancel();
    streaming_since_ = loop_.clock().Now();
    // It has heard of us, also where its answer came too late.
    failure_.Succeeded({{LogKey::kResource, resource_}});
    log_.Info("kubelet listens", {{LogKey::kResource, resource_},
                                  {LogKey::kCount, CountHealthy(devices_)},
                                  {LogKey::kPid, stream->peer()}});
  }
  const std::weak_ptr<net::rpc::Stream> weak = stream;
  stream->OnClosed([this, alive = alive_, weak] {
    if (const auto closed = weak.lock(); *alive && closed) StreamEnded(closed);
  });
  stream->Publish(list_);
  if (another && changed_) changed_();
}

void Endpoint::StreamEnded(const std::shared_ptr<net::rpc::Stream>& stream) {
  streams_.erase(stream);
  if (stream != kubelet_stream_) return;
  kubelet_stream_.reset();
  if (!started_) return;
  ++streams_lost_;
  // One that lasted was no victim of the registration before it.
  if (loop_.clock().Now() - streaming_since_ > kLongestPause) pause_ = kFirstPause;
  log_.Warn("kubelet has ended its stream: registering again", {{LogKey::kResource, resource_}});
  TryLater();
  if (changed_) changed_();
}

base::Result<void> Endpoint::Listen() {
  if (server_.listening() && !server_.Lost()) return {};
  server_.Stop();
  TRY_VOID(server_.Listen(base::JoinPath(place_.directory, SocketNameOf(resource_))));
  return {};
}

void Endpoint::KubeletStarted() {
  started_ = true;
  gone_ = false;
  // Whoever is still connected is the one before.
  Disconnect();
  kubelet_.Close();
  registering_ = false;
  pause_ = kFirstPause;
  Register();
}

void Endpoint::KubeletGone() {
  gone_ = true;
  again_->Cancel();
}

void Endpoint::Register() {
  if (!started_ || registering_ || streaming()) return;
  if (const base::Result<void> listens = Listen(); !listens.ok()) {
    failure_.Failed(listens.error(), {{LogKey::kResource, resource_}});
    return TryLater();
  }
  awaited_ = true;
  if (place_.socket.empty()) return;
  registering_ = true;
  // The end of one that was given up may be on its way.
  const std::uint64_t attempt = ++attempts_;
  kubelet_.Call(std::string(kRegister), RegisterMessage(SocketNameOf(resource_), resource_),
                kToRegister,
                [this, alive = alive_, attempt](const base::Result<std::string>& answer) {
                  if (*alive && registering_ && attempt == attempts_) Registered(answer);
                });
}

void Endpoint::Registered(const base::Result<std::string>& answer) {
  registering_ = false;
  if (!answer.ok()) {
    // kubelet heard of the one before, that was given up.
    if (streaming()) return;
    // A slow kubelet goes on with what nobody waits for any more, and listens then.
    awaited_ = answer.error().code() == base::ErrorCode::kTimeout;
    failure_.Failed(answer.error(), {{LogKey::kResource, resource_}});
    return TryLater();
  }
  ++registrations_;
  failure_.Succeeded({{LogKey::kResource, resource_}});
  log_.Info("registered with kubelet", {{LogKey::kResource, resource_}});
  if (streaming()) return;
  again_->After(kToStream, [this] {
    awaited_ = false;
    log_.Warn("kubelet was registered with and does not listen: registering again",
              {{LogKey::kResource, resource_}});
    TryLater();
  });
}

void Endpoint::TryLater() {
  if (gone_) return;
  again_->After(pause_, [this] { Register(); });
  pause_ = std::min<net::Duration>(pause_ * 2, kLongestPause);
}

Value Endpoint::State() const {
  return Value::Map()
      .Set("resource", resource_)
      .Set("devices", std::uint64_t{devices_.size()})
      .Set("healthy", std::uint64_t{CountHealthy(devices_)})
      .Set("streaming", streaming())
      .Set("registrations", registrations_)
      .Set("streamsLost", streams_lost_);
}

}  // namespace partita::service::device_plugin
