// One of the processes that a soak kills: creates, destroys, reads, waits for events and holds
// slices, at random, until the ledger says stop.
#pragma once

#include <cstdint>
#include <string>

#include "soak_ledger.h"

namespace partita::torture {

struct WorkerOptions {
  std::string library;
  std::string tool;  // partita-sim, for workloads
  std::string node;  // its name
  std::uint64_t seed = 0;
  std::uint32_t index = 0;
};

// Runs in its own process; returns its exit status. Everything that is not a proper answer of NVML
// goes to the ledger as a complaint.
int RunWorker(const WorkerOptions& options, Ledger* ledger);

}  // namespace partita::torture
