// The GPUs of this node in the agent: the one driver, the live inventory, and everything that says
// "look again".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "hw/nvml/driver.h"
#include "hw/nvml/events.h"
#include "hw/watch/paths.h"
#include "hw/watch/uevents.h"
#include "net/loop.h"
#include "service/inventory/live.h"

namespace partita::agent {

struct NodeOptions {
  std::string root = "/";         // above the host's /proc, /sys and /dev
  std::string driver_root = "/";  // above the driver's files
  std::string state_directory;    // inventory.json
  std::chrono::milliseconds event_tick{1000};
};

// What the driver tells by itself, for whoever judges it. Called on the loop.
struct NodeListener {
  std::function<void(const hw::nvml::Event&)> event;
  // Of these GPUs no events are heard, of all others they are.
  std::function<void(const std::vector<model::PciAddress>&)> monitoring;
};

// Loop's thread only. Loop and log outlive it.
class Node {
 public:
  Node(net::Loop& loop, base::Log& log);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  // Before Start. One listener.
  void OnEvents(NodeListener listener) { listener_ = std::move(listener); }

  // `looked` is called once: when of every GPU the driver has said what it is or what is wrong with
  // it, or there is no driver, or some are late (answered() is false then): what is well does not
  // wait for them.
  void Start(const NodeOptions& options, net::Task looked);
  // Lets the driver go. `stopped` is called once.
  void Stop(net::Task stopped);

  // Closes the session with the driver for certain, so that for a moment no node of it is open
  // here, and looks again in a new one. `done` gets the error of what keeps it open.
  void Reopen(std::function<void(base::Result<void>)> done);

  // False before Start and once it is stopped.
  [[nodiscard]] bool running() const { return live_ != nullptr; }
  // While it runs.
  // There is a driver, and everything that was found was read at least once in this life.
  [[nodiscard]] bool answered() const;
  // Once nobody is late, or everybody was waited for long enough; at once where that is so.
  void WhenSettled(net::Task task);
  // What the driver tells by itself is heard.
  [[nodiscard]] bool listening() const { return listening_ == Listening::kYes; }
  [[nodiscard]] service::inventory::Live& live() { return *live_; }
  [[nodiscard]] const service::inventory::Live& live() const { return *live_; }
  [[nodiscard]] hw::nvml::Driver& driver() { return *driver_; }
  [[nodiscard]] const std::shared_ptr<hw::nvml::Driver>& shared_driver() const { return driver_; }

 private:
  [[nodiscard]] bool settled() const;
  void CheckSettled();
  void TellLooked();
  void TellSettled();
  void ListenToKernel();
  void ListenToDriver();
  void ListenToNewcomers(const service::inventory::Snapshot& snapshot);
  void EventsBegun(std::uint64_t session, const std::vector<model::PciAddress>& unmonitored);
  void HeardKernel();
  void HeardPaths();
  void HeardEvent(const hw::nvml::Event& event);
  void EventsEnded(hw::nvml::Events::End end, const std::optional<base::Error>& why);
  void Published(const service::inventory::SnapshotPtr& snapshot,
                 const service::inventory::Changes& changes);
  void TellStale(const service::inventory::Snapshot& snapshot);
  void TellMonitoring(const std::vector<model::PciAddress>& unmonitored) const;
  void Remember();
  void Stopped();

  net::Loop& loop_;
  base::Log& log_;
  NodeOptions options_;
  NodeListener listener_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::shared_ptr<hw::nvml::Driver> driver_;
  std::unique_ptr<service::inventory::Live> live_;
  std::shared_ptr<void> subscription_;
  std::set<model::PciAddress> told_stale_;
  net::Task looked_;  // set until the first look is over
  bool settled_ = false;
  std::vector<net::Task> when_settled_;
  std::unique_ptr<net::Timer> first_look_, first_late_;
  std::vector<service::inventory::Remembered> remembered_;

  enum class Listening : std::uint8_t { kNo, kBeginning, kYes };
  std::unique_ptr<hw::nvml::Events> events_;
  Listening listening_ = Listening::kNo;
  std::uint64_t listened_session_ = 0;    // whose events are, or were, listened to
  std::set<model::PciAddress> listened_;  // of whose GPUs
  base::Clock::Steady listening_since_;   // of kYes
  std::chrono::seconds pause_{1};         // before the next try after a failure
  bool listen_at_once_ = false;           // when the wait that was ended for it is over
  std::unique_ptr<net::Timer> listen_again_;
  net::Task stopped_;  // set: we are stopping

  std::optional<hw::watch::Uevents> uevents_;
  std::optional<hw::watch::Paths> paths_;
  std::unique_ptr<net::Watch> uevent_watch_, path_watch_;
};

}  // namespace partita::agent
