// Which GPUs a node offers.
#pragma once

#include "config/plugin_config.h"
#include "model/gpu_select.h"

namespace partita::config {

// The first rule that matches a GPU decides; where none does, the default of the node.
struct OfferRule {
  model::GpuSelect select;
  bool offered = true;  // via the device plugin; false: not at all
  Place place{};
  bool operator==(const OfferRule&) const = default;
};

}  // namespace partita::config
