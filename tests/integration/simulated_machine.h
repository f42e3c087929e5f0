// A simulated node in a directory of the test's own, for programs that read it in this process: the
// state for the simulator's library, and the /proc and /sys trees that go with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/inventory_reader.h"
#include "model/ids.h"
#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::integration {

// Points this process's environment at the node: one at a time.
class SimulatedMachine {
 public:
  // A profile of data/nodes, or the path of a node file, just booted. Ends the test program when it
  // cannot be made.
  explicit SimulatedMachine(std::string_view profile);
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;
  ~SimulatedMachine();

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] const sim::Machine& machine() const { return store_.machine(); }
  [[nodiscard]] const sim::Board& board(std::uint32_t gpu) const { return machine().boards[gpu]; }
  [[nodiscard]] sim::Store& store() { return store_; }

  // What a reader needs to see this node: its files, and the library that was built.
  [[nodiscard]] hw::ReaderOptions Options() const;

  // Changes the state as another process would, with its files.
  void Change(const std::function<void(const sim::Machine&, sim::Slot&)>& change);

  // Turns MIG on and makes one GPU instance with one compute instance: profiles are NVML's
  // constants. Returns the id of the GPU instance.
  std::uint32_t MakeMigDevice(std::uint32_t gpu, std::uint32_t gi_constant, std::uint32_t ci_id);
  // One more compute instance in that GPU instance.
  void MakeComputeInstance(std::uint32_t gpu, std::uint32_t gpu_instance, std::uint32_t ci_id);

  // The calls of this name fail, or hang, from now on. `gpu` sim::kNone: on any, or without a GPU.
  // `times` 0: until the faults are cleared.
  void FailCall(const std::string& function,
                std::uint32_t gpu,
                std::uint32_t code,
                std::uint32_t times = 0);
  // Until the faults are cleared: every such call, or the next `times`.
  void HangCall(const std::string& function, std::uint32_t gpu, std::uint32_t times = 0);
  // The calls that were to hang, so many times, all do.
  [[nodiscard]] bool AllHang() const;
  // The next changes of MIG mode stay pending, for this reason.
  void KeepModePending(std::uint32_t gpu, std::uint32_t code, std::uint32_t times = 0);
  // The next instance that this call makes is at another place (or of another profile) than asked.
  void MakeOther(sim::CallFaultKind kind,
                 std::uint32_t gpu,
                 const std::string& function = "nvmlDeviceCreateGpuInstanceWithPlacement");
  void ClearCallFaults();

 private:
  void AddCallFault(const sim::CallFault& fault, const std::string& function);

  std::string root_;
  sim::Store store_;
};

[[nodiscard]] model::PciAddress AddressOf(const SimulatedMachine& machine, std::uint32_t gpu);

}  // namespace partita::integration
