// Nodes for tests of the device plugin: A100 boards, some sliced.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/testing/sample_gpus.h"
#include "service/device_plugin/offered.h"
#include "service/ledger/sightings.h"

namespace partita::service::device_plugin::testing {

[[nodiscard]] inline ledger::Time At(std::int64_t seconds) {
  return ledger::Time(std::chrono::seconds(seconds));
}

[[nodiscard]] inline model::Inventory Boards(std::uint32_t count) {
  model::Inventory node;
  for (std::uint32_t i = 0; i < count; ++i) {
    model::Gpu& gpu = node.gpus.emplace_back(model::testing::A100(i));
    gpu.uuid = model::GpuUuid("GPU-" + std::to_string(i));
  }
  return node;
}

// Slices of one compute instance each, one after the other; "1c.3g.20gb" is one that has a third of
// its GPU instance.
inline void LayOut(model::Inventory& node,
                   std::uint32_t gpu,
                   const std::vector<std::string>& profiles) {
  model::testing::MigBuilder builder(model::testing::A100Profiles(), gpu);
  std::uint32_t id = 1;
  std::uint32_t start = 0;
  for (const std::string& profile : profiles) {
    const std::size_t c = profile.find("c.");
    const std::string name = c == std::string::npos ? profile : profile.substr(c + 2);
    const auto slices =
        static_cast<std::uint32_t>((c == std::string::npos ? name : profile)[0] - '0');
    builder.Add(name, start, id++, {slices});
    start += name[0] == '3' ? 4 : static_cast<std::uint32_t>(name[0] - '0');
  }
  model::testing::Slice(node.gpus[gpu], builder.Build());
  std::uint32_t slot = 0;
  for (model::GpuInstance& instance : node.gpus[gpu].mig->instances)
    for (model::ComputeInstance& compute : instance.compute_instances)
      compute.uuid = model::MigUuid("MIG-" + std::to_string(gpu) + "-" + std::to_string(slot++));
}

[[nodiscard]] inline ledger::State LedgerOf(const model::Inventory& node) {
  ledger::State state;
  for (const ledger::Change& change : ledger::Observe(state, node, {}).changes)
    ledger::Apply(state, change);
  return state;
}

[[nodiscard]] inline Offered OfferAll(const model::Inventory& node,
                                      const config::PluginConfig& config,
                                      const model::NodeHealth& health = {}) {
  return Offer(node, config, {}, true, health, LedgerOf(node));
}

[[nodiscard]] inline config::PluginConfig With(config::MigStrategy strategy) {
  config::PluginConfig config;
  config.mig_strategy = strategy;
  return config;
}

// An entry of sharing.timeSlicing.
[[nodiscard]] inline config::SharedResource Shared(std::string name, std::uint32_t replicas) {
  config::SharedResource entry;
  entry.name = std::move(name);
  entry.replicas = replicas;
  return entry;
}

// "nvidia.com/gpu: GPU-0 !GPU-1" a resource: "!" before what is not healthy.
[[nodiscard]] inline std::vector<std::string> Drawn(const Offered& offered) {
  std::vector<std::string> lines;
  for (const OfferedResource& resource : offered.resources) {
    std::string line = resource.name + ":";
    for (const OfferedDevice& device : resource.devices)
      line += (device.healthy ? " " : " !") + device.id;
    lines.push_back(std::move(line));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace partita::service::device_plugin::testing
