// The devices of a node that may be given away, each under the resource that it belongs to, before
// any of them is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/device_plugin/offered.h"

namespace partita::service::device_plugin {

struct Candidate {
  std::string resource;
  OfferedDevice device;
  // Of a MIG device: which one it is on its GPU, and what kind. `single` offers one kind only.
  std::optional<model::GpuInstanceId> gpu_instance;
  std::optional<model::ComputeInstanceId> compute_instance;
  std::string kind;   // empty: a whole GPU
  bool known = true;  // false: a GPU of which nobody can say whether it is sliced
};

struct Candidates {
  std::vector<Candidate> devices;  // by index, slot
  std::vector<std::string> problems;
};

// The arguments are those of Offer.
[[nodiscard]] Candidates FindCandidates(const model::Inventory& inventory,
                                        const config::PluginConfig& config,
                                        const std::vector<config::OfferRule>& rules,
                                        bool offered_by_default,
                                        const model::NodeHealth& health,
                                        const ledger::State& ledger);

// For `single`: one resource has one kind of device, since whoever asks for one takes what comes.
// Whole GPUs or MIG devices, whichever more GPUs are; of MIG devices the most numerous kind; the
// lowest index where there are as many. The others are taken out and reported.
void KeepOneKind(Candidates& candidates);

}  // namespace partita::service::device_plugin
