// What every `mig` command has in common: its options, and the GPUs that it is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/value.h"
#include "cli/command_options.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"
#include "model/mig/geometry.h"

namespace partita::cli {

struct MigOptions : CommandOptions {
  std::optional<std::string> model;  // of --model: a product instead of this machine
};

[[nodiscard]] base::Result<MigOptions> ReadMigOptions(const base::Invocation& invocation);

// The GPUs that are meant, now.
[[nodiscard]] base::Result<model::Inventory> ReadMigNode(const MigOptions& options);

// Hands the GPUs that are meant to `work`, which returns the exit status; errors on the way are
// reported.
using MigWork = std::function<int(const model::Inventory& node)>;
int WithMigNode(const MigOptions& options, const MigWork& work);

// Prints in the form asked for; the drawing is made only when it is wanted.
void Print(const MigOptions& options,
           const base::Value& document,
           const std::function<Lines(const Look&)>& draw);

// A configuration is a document in every form; for a person it is YAML.
void PrintConfig(const MigOptions& options, const base::Value& config);

// GPUs of one name and geometry, by position in Inventory::gpus: what is true of one is true of
// all.
struct GpuKind {
  std::vector<std::size_t> gpus;
  model::MigGeometry geometry;
};
// Those that can do MIG. Instances that exist do not count: see MigGeometry::From.
[[nodiscard]] std::vector<GpuKind> MigKinds(const model::Inventory& node);

// "GPU 0", "GPUs 0-3,6"; "" for a product without an index.
[[nodiscard]] std::string GpuNumbers(const model::Inventory& node,
                                     const std::vector<std::size_t>& gpus);
// How one GPU is called in lists: "GPU 0", its address, or its product's name.
[[nodiscard]] std::string GpuLabel(const model::Gpu& gpu);

// `── GPUs 0-7  NVIDIA A100-SXM4-40GB ───────`
[[nodiscard]] Line KindHeading(const model::Inventory& node, const GpuKind& kind, const Look& look);
// A line for every GPU that cannot do MIG, or cannot be asked.
[[nodiscard]] Lines DrawNotCapable(const model::Inventory& node, const Look& look);

// "0-6", "0,2,4": numbers in ascending order.
[[nodiscard]] std::string NumberRanges(const std::vector<std::uint32_t>& numbers);

// Indexes where GPUs have one, else addresses.
[[nodiscard]] base::Value GpuList(const model::Inventory& node,
                                  const std::vector<std::size_t>& gpus);

}  // namespace partita::cli
