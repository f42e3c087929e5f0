// What happens to a simulated node that nobody announced: faults, layouts and workloads, at random
// but the same for the same seed.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/simulated_machine.h"

namespace partita::integration {

// The machine outlives it.
class Outside {
 public:
  Outside(SimulatedMachine& machine, std::uint64_t seed);
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside();

  // One thing, and what it was, for whoever reads why a test failed.
  std::string Happen();
  // Every fault ends, and the driver is there again; layouts and processes stay as they are. True:
  // only a new session with the driver ends what was.
  void Heal();

  // From 0 to below `end`.
  [[nodiscard]] std::uint32_t Pick(std::uint32_t end);

 private:
  [[nodiscard]] std::uint32_t PickGpu() { return Pick(machine_.machine().gpu_count); }
  void AddFault(sim::CallFaultKind kind, std::uint32_t code, std::uint32_t times);
  // A driver with a call in it cannot be unloaded, and a GPU in use not unbound.
  void EndHangs();

  std::string Xid();
  std::string Lose();
  std::string FailCalls();
  std::string SlowCalls();
  std::string HangCalls();
  std::string FlipMigMode();
  std::string MakeInstance();
  std::string DestroyInstances();
  std::string StartProcess();
  std::string EndProcess();
  std::string ReloadDriver();
  std::string UnloadDriver();
  std::string GiveToVfio();
  std::string SetComputeMode();

  SimulatedMachine& machine_;
  std::mt19937_64 random_;
  std::string last_fault_;
  bool unloaded_ = false;
  std::set<std::uint32_t> lost_;
  std::uint32_t processes_ = 0;
  std::vector<int> kept_open_;  // locks of processes, which end with any descriptor of the file
};

}  // namespace partita::integration
