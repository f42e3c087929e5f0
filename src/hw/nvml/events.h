// What the driver tells by itself: XIDs, changes of MIG, memory that fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "hw/nvml/driver.h"
#include "model/ids.h"

namespace partita::hw::nvml {

enum class EventKind : std::uint8_t {
  kXid,             // `data` is its number
  kMigChanged,      // instances were made or destroyed
  kMemory,          // ECC, retirement, poison
  kUnavailable,     // the GPU cannot be used any more
  kRecoveryAction,  // what the driver asks for has changed
};
struct Event {
  EventKind kind = EventKind::kXid;
  model::PciAddress gpu;
  std::uint64_t data = 0;
  // Absent: not of one instance.
  std::optional<model::GpuInstanceId> gpu_instance;
  std::optional<model::ComputeInstanceId> compute_instance;
  bool operator==(const Event&) const = default;
};

// One thread, "events", that waits in the session with the driver. It lets the session go when
// somebody wants to close it, within a tick.
class Events {
 public:
  enum class End : std::uint8_t {
    kReleased,  // somebody wants the session closed: start again in the next one
    kFailed,    // the driver ended the wait, or events cannot be had
  };
  // All of them are called on other threads and must not block.
  struct Listener {
    std::function<void(const Event&)> event;
    // GPUs were bound to the driver or taken from it, within the last tick; which ones the next
    // look says. Never where the library has no system events.
    std::function<void()> driver_moved;
    // It waits from now on. Of these GPUs nothing will be heard: they do not support it.
    std::function<void(std::uint64_t session, std::vector<model::PciAddress> unmonitored)> begun;
    std::function<void(End, std::optional<base::Error> why)> ended;
  };

  // `tick`: how long the driver is waited for at a time. The library closes no session, and frees
  // no event set, while somebody waits: a release takes as long.
  Events(Driver& driver, Listener listener, std::chrono::milliseconds tick);
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  // Ends the wait, within a tick, and calls nobody from then on.
  ~Events();

  // Waits for events of these GPUs; `begun` or `ended` is called once it is so. Not again before
  // `ended`.
  void Start(std::vector<model::PciAddress> gpus);
  // Ends the wait within a tick; `ended` is called (kReleased).
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace partita::hw::nvml
