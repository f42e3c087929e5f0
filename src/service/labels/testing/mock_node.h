// The node of gpu-feature-discovery's own tests: GPUs named MOCKMODEL of 300 MiB.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/plugin_config.h"
#include "model/inventory.h"
#include "model/testing/sample_gpus.h"
#include "service/labels/labels.h"

namespace partita::service::labels::testing {

inline model::Inventory MockNode(std::uint32_t count) {
  model::Inventory node;
  node.driver =
      model::Driver{.version = "400.300", .nvml_version = "", .cuda = {{8, 0}}, .library_path = ""};
  for (std::uint32_t i = 0; i < count; ++i) {
    model::Gpu gpu;
    gpu.index = model::GpuIndex(i);
    gpu.name = "MOCKMODEL";
    gpu.pci = {0, static_cast<std::uint8_t>(i + 1), 0, 0};
    gpu.pci_class = 0x030200;
    gpu.compute_major = 8;
    gpu.compute_minor = 0;
    gpu.memory =
        model::Memory{.total = model::Bytes(300U << 20U), .reserved = {}, .used = {}, .free = {}};
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

// Profiles of GPU instances with places for each.
inline std::vector<model::GpuInstanceProfile> MockProfiles() {
  using model::testing::Profile;
  std::vector<model::GpuInstanceProfile> profiles = {
      Profile({0, 19, "1g.5gb", 1, 7, 14, 4864, {0, 1, 2, 3, 4, 5, 6}, 1}),
      Profile({2, 9, "3g.20gb", 3, 2, 42, 19968, {0, 4}, 4}),
      Profile({7, 20, "1g.100gb+me", 1, 1, 11, 100, {0}, 1}),
  };
  profiles.back().decoders = 12;
  profiles.back().encoders = 13;
  profiles.back().jpegs = 14;
  profiles.back().ofas = 15;
  return profiles;
}

// MIG on, with one instance of each of these; its compute instances have these many slices.
using Parts = std::vector<std::pair<std::string, std::vector<std::uint32_t>>>;
inline void Divide(model::Gpu& gpu, const Parts& parts) {
  model::testing::MigBuilder builder(MockProfiles(), gpu.index->value());
  std::uint32_t id = 0;
  for (const auto& [profile, shares] : parts) {
    builder.Add(profile, 4 * id, id + 1, shares);
    ++id;
  }
  gpu.mig = builder.Build();
}

inline config::PluginConfig TimeSliced(const std::string& resource,
                                       std::uint32_t replicas,
                                       std::optional<std::string> rename = std::nullopt) {
  config::PluginConfig config;
  config.time_slicing.emplace();
  config.time_slicing->resources.push_back({.name = resource,
                                            .rename = std::move(rename),
                                            .replicas = replicas,
                                            .devices = {},
                                            .place = {}});
  return config;
}

inline config::PluginConfig With(config::MigStrategy strategy, config::PluginConfig config = {}) {
  config.mig_strategy = strategy;
  return config;
}

// What the reference has, without a timestamp.
inline Labels Rendered(const model::Inventory& node, const config::PluginConfig& config = {}) {
  return Render(node, config, {}, {.started = std::nullopt, .ours = false}).labels;
}

// The labels of one whole GPU, with these of nvidia.com/ instead or beside them.
inline Labels Expected(std::initializer_list<std::pair<const std::string, std::string>> others) {
  Labels labels = {
      {"nvidia.com/cuda.driver.major", "400"},
      {"nvidia.com/cuda.driver.minor", "300"},
      {"nvidia.com/cuda.driver.rev", ""},
      {"nvidia.com/cuda.driver-version.major", "400"},
      {"nvidia.com/cuda.driver-version.minor", "300"},
      {"nvidia.com/cuda.driver-version.revision", ""},
      {"nvidia.com/cuda.driver-version.full", "400.300"},
      {"nvidia.com/cuda.runtime.major", "8"},
      {"nvidia.com/cuda.runtime.minor", "0"},
      {"nvidia.com/cuda.runtime-version.major", "8"},
      {"nvidia.com/cuda.runtime-version.minor", "0"},
      {"nvidia.com/cuda.runtime-version.full", "8.0"},
      {"nvidia.com/gpu.machine", "unknown"},
      {"nvidia.com/gpu.count", "1"},
      {"nvidia.com/gpu.replicas", "1"},
      {"nvidia.com/gpu.sharing-strategy", "none"},
      {"nvidia.com/gpu.product", "MOCKMODEL"},
      {"nvidia.com/gpu.memory", "300"},
      {"nvidia.com/gpu.family", "ampere"},
      {"nvidia.com/gpu.compute.major", "8"},
      {"nvidia.com/gpu.compute.minor", "0"},
      {"nvidia.com/gpu.mode", "compute"},
      {"nvidia.com/mig.capable", "false"},
      {"nvidia.com/mps.capable", "false"},
  };
  for (const auto& [name, value] : others) labels["nvidia.com/" + name] = value;
  return labels;
}

}  // namespace partita::service::labels::testing
