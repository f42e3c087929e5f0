// The labels of a node, as a function of what it has and how it is configured: those of NVIDIA's
// gpu-feature-discovery, and some of our own. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/plugin_config.h"
#include "model/inventory.h"
#include "model/node_facts.h"

namespace partita::service::labels {

// Key, with its domain, to value.
using Labels = std::map<std::string, std::string>;

inline constexpr std::string_view kNvidia = "nvidia.com/";
inline constexpr std::string_view kOurs = "partita.dev/";

struct Options {
  // Seconds since 1970: when this program started, or read its configuration again. Absent: no
  // label says.
  std::optional<std::int64_t> started = std::nullopt;
  bool ours = true;       // what gpu-feature-discovery has not: gpu.present, partita.dev/*
  bool per_model = true;  // of ours, those of each product
};

struct Rendering {
  Labels labels{};
  // What a label of ours had to change, as it was. For annotations of the same keys.
  Labels annotations{};
  // Where each label comes from, for a person.
  Labels sources{};
  // Why some are absent or say that something is wrong.
  std::vector<std::string> warnings{};
};

// Every key and value is one that Kubernetes takes.
[[nodiscard]] Rendering Render(const model::Inventory& inventory,
                               const config::PluginConfig& config,
                               const model::NodeFacts& facts,
                               const Options& options);

}  // namespace partita::service::labels
