// Whether CDI devices that kubelet is given reach containers on this node: asks the container
// engine who it is, as kubelet does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/kubelet_watch.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "net/loop.h"
#include "net/rpc/channel.h"
#include "service/device_plugin/cdi_support.h"

namespace partita::agent {

// Where engines listen for kubelet when nobody says otherwise, below the host's root.
[[nodiscard]] std::vector<std::string> UsualEngineSockets(const std::string& host_root);

// Looks when it is started and whenever a kubelet comes, and every ten seconds while CDI is
// disabled: an engine that was mended is started anew without kubelet. Loop's thread only. Loop,
// log and kubelet outlive it.
class CdiReach {
 public:
  // `changed` is called after each look that found something else than the one before.
  CdiReach(net::Loop& loop, base::Log& log, KubeletWatch& kubelet, net::Task changed);
  CdiReach(const CdiReach&) = delete;
  CdiReach& operator=(const CdiReach&) = delete;
  ~CdiReach();

  // Sockets that do not exist are passed over. Two engines that answer are as good as none: nobody
  // knows which of them is kubelet's.
  void Start(std::vector<std::string> sockets);
  void Stop();

  // The first look has ended: an engine has a second for each answer.
  [[nodiscard]] bool looked() const { return looked_; }
  // service::device_plugin::CdiDisabled.
  [[nodiscard]] const std::string& disabled() const { return disabled_; }
  // {"name": "containerd", "version": "1.7.24", "cdi": true}; null: not known.
  [[nodiscard]] base::Value State() const;

 private:
  using SeenEngine = service::device_plugin::SeenEngine;

  void Look();
  void AskNext();
  void HeardVersion(const base::Result<std::string>& answer);
  void HeardStatus(SeenEngine engine, const base::Result<std::string>& answer);
  void Ended();

  net::Loop& loop_;
  base::Log& log_;
  KubeletWatch& kubelet_;
  net::Task changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<void> kubelet_subscription_;
  std::unique_ptr<net::Timer> again_;
  std::vector<std::string> sockets_;

  // Of the look under way.
  bool looking_ = false, look_again_ = false;
  std::size_t asked_ = 0;  // of sockets_
  std::unique_ptr<net::rpc::Channel> channel_;
  std::vector<SeenEngine> answered_;

  bool looked_ = false;
  std::optional<SeenEngine> engine_;
  std::string disabled_;
};

}  // namespace partita::agent
