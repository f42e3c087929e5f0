// Reads this machine into one inventory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "hw/nvml/driver.h"
#include "hw/nvml/reader.h"
#include "model/inventory.h"

namespace partita::hw {

struct ReaderOptions {
  std::string root = "/";                    // above /proc, /sys, /dev and /var/log
  std::string driver_root = "/";             // above the driver's own files
  std::string library;                       // the driver's library; empty: search for it
  std::chrono::milliseconds deadline{2000};  // of one driver call
  // Of a call that may wake GPUs, which takes seconds each without persistence mode.
  std::chrono::milliseconds attach_deadline{30000};
  std::chrono::milliseconds release_deadline{5000};  // of calls that keep the session from closing
  bool readings = true;                              // load, temperature, power, clocks
  bool only_mig = false;                             // see nvml::Question
};

// The one driver of this process, for everybody who reads or changes through it.
[[nodiscard]] std::shared_ptr<nvml::Driver> MakeDriver(const ReaderOptions& options);

// Used by one thread. The driver's session is opened by the first Read and stays open until Release
// or the end of the driver. While it is open the driver counts us as a user of every GPU: Release
// before anything that needs them idle.
class InventoryReader {
 public:
  InventoryReader(std::shared_ptr<nvml::Driver> driver, ReaderOptions options);
  // For a program that only reads, with a driver of its own.
  explicit InventoryReader(const ReaderOptions& options);

  // Never fails as a whole and never hangs: what could not be read is absent, and why is in
  // `problems`, in the GPU's `faults` or in `driver_error`.
  [[nodiscard]] model::Inventory Read();

  // See nvml::Driver::Release.
  base::Result<void> Release() { return driver_->Release(); }

 private:
  ReaderOptions options_;
  std::shared_ptr<nvml::Driver> driver_;
  nvml::Reader nvml_;
  std::uint64_t generation_ = 0;
};

}  // namespace partita::hw
