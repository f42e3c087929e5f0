// Everything that NVML says of this machine.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "hw/nvml/driver.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

struct Question {
  std::vector<model::PciAddress> gpus;  // on the bus with the driver bound, in order
  bool readings = true;                 // else load, temperature, power and clocks stay absent
  // Only what MIG depends on: no links, of the board its architecture,
  // memory and faults, and profiles as they were read before through this reader.
  bool only_mig = false;
};

struct Facts {
  std::optional<model::Driver> driver;      // absent: no driver answers…
  std::optional<base::Error> driver_error;  // …and this is why
  std::uint32_t count = 0;                  // GPUs by NVML's own count
  // The GPUs asked for, each with its faults, then any other that NVML knows.
  std::vector<model::Gpu> gpus;
  std::vector<model::GpuLink> links;
  std::vector<model::SwitchLinks> switch_links;
  std::vector<model::Problem> problems;
};

// Used by one thread. Has the session opened anew when the driver was replaced under it, or when
// GPUs came to the driver or left it.
class Reader {
 public:
  explicit Reader(std::shared_ptr<Driver> driver);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();

  // Comes back within the limits whatever the driver does. A GPU that hangs keeps what was read
  // before, and costs the others nothing.
  [[nodiscard]] Facts Read(const Question& question);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::hw::nvml
