// One soak from its first worker to its verdict.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "base/result.h"
#include "cells.h"
#include "checker.h"
#include "process.h"
#include "soak_ledger.h"
#include "soak_worker.h"
#include "state_view.h"
#include "tree.h"

namespace partita::torture {

struct SoakOptions {
  std::string build, nodes;
  unsigned seconds = 60, workers = 16, cells = 4;
  std::uint64_t seed = 1;
};

class Soak {
 public:
  // All GPUs of the node have MIG on and no instances.
  Soak(const SoakOptions& options, const ScratchNode& node, const StateView& view, Ledger* ledger);

  // An error when the soak itself cannot run; what it found is in findings().
  base::Result<void> Run();
  [[nodiscard]] const Findings& findings() const { return findings_; }
  void PrintSummary() const;
  void Dump() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Range {
    std::uint64_t least, most;
  };

  void Inspect();
  void InspectFiles();
  void Disturb();
  void Bury();
  void CheckProgress(std::uint64_t generation);
  void StopWorkers();
  base::Result<void> CheckEnd();
  void CheckAccounts(const sim::Slot& slot);
  void CheckHoldersGone();
  void CheckUuids();
  [[nodiscard]] bool Sound() const { return findings_.empty() && ledger_.complaining == 0; }
  [[nodiscard]] Range Count(Change change) const;
  [[nodiscard]] std::uint64_t Sum(std::atomic<std::uint64_t> WorkerRecord::*counter) const;

  const SoakOptions& options_;
  const ScratchNode& node_;
  const StateView& view_;
  Ledger& ledger_;
  std::mt19937_64 random_;
  std::uint64_t next_worker_seed_;
  Tree reference_;
  std::uint64_t first_generation_, first_incarnation_;
  Cells cells_;
  History history_;
  Findings findings_;
  std::uint64_t uncertain_[kChanges] = {};
  std::uint64_t kills_ = 0, cell_kills_ = 0, deaths_ = 0;
  std::uint64_t inspections_ = 0, file_inspections_ = 0, unrendered_ = 0, devices_named_ = 0;
  std::uint64_t most_holders_ = 0;
  std::uint64_t progress_generation_ = 0;
  Time progress_time_;
};

}  // namespace partita::torture
