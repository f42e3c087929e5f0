// What is on a node, to come back to: every GPU instance at its place. The file is that of the
// reference's editor, which may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

// Only GPUs that can do MIG. Profiles are NVML's constants, which mean the same on every board.
// Fails when a GPU was not wholly read.
[[nodiscard]] base::Result<base::Value> CheckpointDocument(const model::Inventory& node);

// NVML's constant of the compute instance profile with so many slices.
[[nodiscard]] std::uint32_t ComputeConstant(std::uint32_t slices);

class Checkpoint {
 public:
  // All problems at once, each with its place.
  [[nodiscard]] static base::Result<Checkpoint> Parse(std::string text, std::string file_name);

  // GPUs are found by UUID, wherever they are now; kNotFound names those that are gone.
  [[nodiscard]] base::Result<NodeGoal> Resolve(const model::Inventory& node) const;
  // The same for those that are there, and the others.
  [[nodiscard]] base::Result<NodeGoal> ResolvePresent(const model::Inventory& node) const;
  [[nodiscard]] bool Has(std::string_view uuid) const;
  // Whether it asks for this instance, which exists on this GPU.
  [[nodiscard]] bool Lists(const model::Gpu& gpu, const model::GpuInstance& instance) const;
  [[nodiscard]] std::vector<std::string> Gone(const model::Inventory& node) const;

  // Takes what `newer` says of these GPUs in place of what this says of them; of others nothing.
  void Update(const Checkpoint& newer, const std::vector<std::string>& uuids);
  // As CheckpointDocument, for programs that read no sizes: those are not kept.
  [[nodiscard]] base::Value ToDocument() const;

 private:
  struct Compute {
    std::uint32_t profile = 0;  // NVML's constant
    std::uint32_t slices = 0;
  };
  struct Instance {
    std::uint32_t profile = 0;  // NVML's constant
    std::uint32_t start = 0;
    std::vector<Compute> compute;  // widest first
  };
  struct Device {
    std::string uuid;
    bool enabled = false;
    std::vector<Instance> instances;
  };
  // Its position in Inventory::gpus.
  [[nodiscard]] static std::optional<std::size_t> Find(const Device& device,
                                                       const model::Inventory& node);
  [[nodiscard]] static std::optional<std::string> WhyGone(const Device& device,
                                                          const model::Inventory& node);
  [[nodiscard]] static base::Result<GpuTarget> ResolveDevice(const Device& device,
                                                             const model::Gpu& gpu);
  std::vector<Device> devices_;
  friend class CheckpointReader;
};

}  // namespace partita::service::mig
