// One resource towards kubelet: the socket that kubelet calls, the registration there, the streams
// on which it hears which devices there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "net/loop.h"
#include "net/rpc/channel.h"
#include "net/rpc/server.h"
#include "service/device_plugin/messages.h"

namespace partita::service::device_plugin {

// What kubelet asks for, answered at once: both are on the way of every pod that starts.
struct Duties {
  std::function<base::Result<std::vector<Answer>>(
      const std::vector<std::vector<std::string>>& containers)>
      allocate;
  std::function<std::vector<std::string>(const PreferRequest&)> prefer;
};

struct KubeletPlace {
  std::string directory = "/var/lib/kubelet/device-plugins";            // of our sockets
  std::string socket = "/var/lib/kubelet/device-plugins/kubelet.sock";  // empty: never registered
  bool operator==(const KubeletPlace&) const = default;
};

// "nvidia-gpu.sock" of "nvidia.com/gpu".
[[nodiscard]] std::string SocketNameOf(const std::string& resource);

// Loop's thread only. Loop and log outlive it.
class Endpoint {
 public:
  // `changed` is called when streaming() becomes another.
  Endpoint(net::Loop& loop,
           base::Log& log,
           std::string resource,
           KubeletPlace place,
           Duties duties,
           net::Task changed = nullptr);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  // Listens, and registers. What fails is told and tried again.
  void Start();
  void Stop();

  // What kubelet shall see from now on; it hears of it only where it differs.
  void SetDevices(std::vector<Listed> devices);

  // kubelet's socket appeared or is another one: it has forgotten us, and removed our socket.
  // Starts what was not.
  void KubeletStarted();
  // kubelet's socket went: nothing is tried until another comes. Its streams end by themselves.
  void KubeletGone();

  [[nodiscard]] const std::string& resource() const { return resource_; }
  [[nodiscard]] const std::vector<Listed>& devices() const { return devices_; }
  // kubelet listens to what is listed here.
  [[nodiscard]] bool streaming() const { return kubelet_stream_ != nullptr; }
  // Of "agent.state".
  [[nodiscard]] base::Value State() const;

 private:
  void Serve();
  void Streaming(const std::shared_ptr<net::rpc::Stream>& stream);
  bool IsKubelets(const net::rpc::Stream& stream);
  void StreamEnded(const std::shared_ptr<net::rpc::Stream>& stream);
  base::Result<void> Listen();
  void Register();
  void Registered(const base::Result<std::string>& answer);
  void TryLater();
  void Disconnect();

  net::Loop& loop_;
  base::Log& log_;
  const std::string resource_;
  const KubeletPlace place_;
  Duties duties_;
  net::Task changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  net::rpc::Server server_;
  net::rpc::Channel kubelet_;
  std::vector<Listed> devices_;
  std::string list_;                                     // the same as a message
  std::set<std::shared_ptr<net::rpc::Stream>> streams_;  // of whoever listens
  std::shared_ptr<net::rpc::Stream> kubelet_stream_;     // its newest of them; null: none

  std::unique_ptr<net::Timer> again_;  // when to register, unless a stream is open by then
  net::Duration pause_;                // before the next attempt
  bool started_ = false, registering_ = false, gone_ = false;
  bool awaited_ = false;  // the next stream is kubelet's, where pids do not tell
  base::Clock::Steady streaming_since_{};
  base::RepeatedFailure failure_;
  std::uint64_t attempts_ = 0, registrations_ = 0, streams_lost_ = 0;
};

}  // namespace partita::service::device_plugin
