// A simulated node with everything that a change of its MIG layout needs, in this process.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "service/mig/apply.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {

class NodeUnderChange {
 public:
  explicit NodeUnderChange(std::string_view profile);

  [[nodiscard]] SimulatedMachine& machine() { return machine_; }
  // As on a machine with its driver in a root of its own: library, tools and files are the node's.
  [[nodiscard]] hw::ReaderOptions Options() const;

  // Applies the only configuration of a file that ends with these entries.
  base::Result<service::mig::ApplyReport> Apply(const std::string& entries,
                                                const service::mig::ApplyOptions& options = {},
                                                std::atomic<bool>* stop = nullptr);
  // Each step that was begun, as "GPU 0: create GPU instance …", of the last Apply.
  [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }
  hw::ControlLimits limits;
  // Called before each step.
  std::function<void(const std::string& step)> on_step;

  // What is on a GPU, in the words of service/mig.
  [[nodiscard]] std::string Layout(std::uint32_t gpu) const;
  [[nodiscard]] model::Inventory Read() const;

  // A process, this one, in a compute instance; on the whole GPU without one.
  void Use(std::uint32_t gpu, std::optional<std::uint32_t> gpu_instance);
  // The GPU instance at a place.
  [[nodiscard]] std::uint32_t InstanceAt(std::uint32_t gpu, std::uint32_t start) const;

 private:
  SimulatedMachine machine_;
  std::vector<std::string> steps_;
};

}  // namespace partita::integration
