#include "model/testing/product_geometry.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"
#include "model/profile_name.h"

namespace partita::model::testing {
namespace {

using config::Node;

[[noreturn]] void Fail(std::string_view what) {
  std::fprintf(stderr, "testing: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

const Node& At(const Node& map, std::string_view key) {
  const Node* found = map.Find(key);
  if (found == nullptr) Fail(fmt::format("line {}: no {}", map.line, key));
  return *found;
}

class ProductFile {
 public:
  explicit ProductFile(std::string_view product) : document_(Load(product)), problems_(document_) {}

  [[nodiscard]] const Node& root() const { return document_.root(); }
  [[nodiscard]] const Node& Fact(std::string_view key) const {
    return At(At(root(), key), "value");
  }

  std::uint64_t Number(const Node& node) {
    const auto number = config::ReadUnsigned(node, problems_);
    if (!number) Fail(problems_.Render());
    return *number;
  }
  std::uint32_t Column(const Node& row, std::string_view key) {
    return static_cast<std::uint32_t>(Number(At(row, key)));
  }

 private:
  static config::Document Load(std::string_view product) {
    auto document = config::Document::Load(fmt::format("data/products/{}.yaml", product));
    if (!document.ok()) Fail(document.error().ToString());
    return *std::move(document);
  }

  config::Document document_;
  config::Problems problems_;
};

Architecture ArchitectureNamed(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Architecture>, 5> kWords = {
      {{"volta", Architecture::kVolta},
       {"turing", Architecture::kTuring},
       {"ampere", Architecture::kAmpere},
       {"hopper", Architecture::kHopper},
       {"blackwell", Architecture::kBlackwell}}};
  for (const auto& [name, architecture] : kWords)
    if (name == word) return architecture;
  Fail(fmt::format("no architecture {}", word));
}

GpuInstanceProfile ReadProfile(ProductFile& file, const Node& row, Bytes total) {
  GpuInstanceProfile profile;
  profile.constant = ProfileConstant(file.Column(row, "constant"));
  profile.id = ProfileId(file.Column(row, "id"));
  profile.slice_count = file.Column(row, "slices");
  profile.instance_count = file.Column(row, "count");
  profile.multiprocessors = file.Column(row, "sm");
  profile.copy_engines = file.Column(row, "ce");
  profile.decoders = file.Column(row, "dec");
  profile.encoders = file.Column(row, "enc");
  profile.jpegs = file.Column(row, "jpeg");
  profile.ofas = file.Column(row, "ofa");
  profile.memory = Mebibytes(file.Number(At(row, "memory_mb")));
  for (const Node& start : At(row, "starts").items)
    profile.placements.push_back(
        {static_cast<std::uint32_t>(file.Number(start)), file.Column(row, "size")});
  profile.name = NameGpuInstanceProfile(profile.constant, profile.slice_count,
                                        MemorySuffix(profile.memory, total), "")
                     .ToString();
  profile.nvml_name = profile.name;
  return profile;
}

}  // namespace

Gpu ProductGpu(std::string_view product) {
  ProductFile file(product);
  Gpu gpu;
  gpu.name = file.Fact("name").text;
  gpu.architecture = ArchitectureNamed(file.Fact("architecture").text);
  gpu.pci_device_id = static_cast<std::uint32_t>(file.Number(file.Fact("pci_device_id")));
  const Bytes total(file.Number(file.Fact("memory_total")));
  const Node* mig = file.root().Find("mig");
  if (mig == nullptr) return gpu;
  gpu.mig.emplace();
  gpu.mig->memory_slices = file.Column(At(*mig, "memory_slices"), "value");
  for (const Node& row : At(At(*mig, "gpu_instances"), "profiles").items)
    gpu.mig->profiles.push_back(ReadProfile(file, row, total));
  std::sort(gpu.mig->profiles.begin(), gpu.mig->profiles.end(),
            [](const auto& a, const auto& b) { return a.constant < b.constant; });
  return gpu;
}

MigGeometry ProductGeometry(std::string_view product) {
  return MigGeometry::From(*ProductGpu(product).mig);
}

MigGeometry ProductGeometry(std::string_view product, const std::vector<std::uint32_t>& constants) {
  std::vector<GpuInstanceProfile> profiles = ProductGpu(product).mig->profiles;
  std::erase_if(profiles, [&](const GpuInstanceProfile& profile) {
    return std::find(constants.begin(), constants.end(), profile.constant.value()) ==
           constants.end();
  });
  return MigGeometry::Of(std::move(profiles));
}

std::vector<ComputeInstanceProfile> ProductComputeProfiles(std::string_view product,
                                                           std::uint32_t constant) {
  ProductFile file(product);
  std::vector<ComputeInstanceProfile> profiles;
  const Node& mig = At(file.root(), "mig");
  for (const Node& row : At(At(mig, "compute_instances"), "profiles").items) {
    for (const Node& in : At(row, "in").items) {
      if (file.Number(in) != constant) continue;
      ComputeInstanceProfile& profile = profiles.emplace_back();
      profile.id = file.Column(row, "id");
      profile.slice_count = file.Column(row, "slices");
      profile.multiprocessors = file.Column(row, "sm");
      profile.instance_count = file.Column(row, "count");
      for (const Node& start : At(row, "starts").items)
        profile.placements.push_back(
            {static_cast<std::uint32_t>(file.Number(start)), profile.slice_count});
    }
  }
  return profiles;
}

}  // namespace partita::model::testing
