// GPUs that the driver is not asked about, and when it is nevertheless.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "service/health/state.h"

namespace partita::service::health {

// Those with an XID after which calls to the driver may never come back, until it is proven that it
// is over.
[[nodiscard]] std::set<model::GpuUuid> Spared(const Health& health);

// What tells of a GPU without its driver.
struct Sign {
  DriverLife driver;
  std::optional<std::uint32_t> on_bus;  // what it answers there, if that can be read
  bool operator==(const Sign&) const = default;
};
// It was there, and does not answer on the bus.
[[nodiscard]] bool IsOffTheBus(const Sign& sign);

// One look a minute, and one at once when a sign changed.
class Probes {
 public:
  // Which of these, all that are spared, the driver is to be asked about now.
  [[nodiscard]] std::set<model::GpuUuid> Due(const std::map<model::GpuUuid, Sign>& spared,
                                             Time now);
  // The driver told by itself that something changed.
  void Want(const model::GpuUuid& gpu);

 private:
  struct Watch {
    Sign sign;
    Time last;
    bool wanted = false;
  };
  std::map<model::GpuUuid, Watch> watches_;
};

}  // namespace partita::service::health
