// Reads this machine into one inventory.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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
  bool readings = true;   // load, temperature, power, clocks
  bool only_mig = false;  // see nvml::Question
};

// Used by one thread. The driver's library is opened by the first Read and stays open until Release
// or the end. While it is open the driver counts us as a user of every GPU: Release before anything
// that needs them idle.
class InventoryReader {
 public:
  explicit InventoryReader(ReaderOptions options);

  // Never fails as a whole and never hangs: what could not be read is absent, and why is in
  // `problems`, in the GPU's `faults` or in `driver_error`.
  [[nodiscard]] model::Inventory Read();

  void Release() { nvml_.Release(); }

 private:
  ReaderOptions options_;
  nvml::Reader nvml_;
  std::uint64_t generation_ = 0;
};

}  // namespace partita::hw
