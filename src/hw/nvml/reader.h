// Everything that NVML says of this machine, read through one driver thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "hw/nvml/library_search.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

struct Limits {
  std::chrono::milliseconds call{2000};  // one driver call
  // A call that may wake GPUs: without persistence mode that takes seconds for each.
  std::chrono::milliseconds attach{30000};
};

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

// Used by one thread. Opens NVML with the first Read and keeps it open; reopens it when the driver
// was replaced under it, or when GPUs came to the driver or left it.
class Reader {
 public:
  Reader(LibrarySearch search, Limits limits);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();

  // Comes back within the limits whatever the driver does. A GPU that hangs keeps what was read
  // before, and costs the others nothing.
  [[nodiscard]] Facts Read(const Question& question);

  // Closes NVML, so that the GPUs' nodes are nobody's because of us. The next Read opens it again.
  void Release();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::hw::nvml
