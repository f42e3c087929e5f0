#include "config/products.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/built_in.h"
#include "config/document.h"
#include "config/problems.h"
#include "model/profile_name.h"

namespace partita::config {

namespace {

using config::Node;
using model::GpuInstanceProfile;

constexpr std::string_view kFolder = "data/products/", kSuffix = ".yaml";

std::vector<const BuiltInFile*> ProductFiles() {
  std::vector<const BuiltInFile*> files;
  for (const BuiltInFile& file : BuiltInFiles())
    if (file.path.starts_with(kFolder)) files.push_back(&file);
  return files;
}

std::string ProductOf(const BuiltInFile& file) {
  std::string_view name = file.path;
  name.remove_prefix(kFolder.size());
  name.remove_suffix(kSuffix.size());
  return std::string(name);
}

// Reads facts of a file that is part of the program: what is missing is our own mistake.
class FactReader {
 public:
  explicit FactReader(config::Problems& problems) : problems_(problems) {}

  const Node& At(const Node& map, std::string_view key) {
    static const Node nothing;
    const Node* found = config::Require(map, key, problems_);
    return found != nullptr ? *found : nothing;
  }
  std::uint64_t Number(const Node& node) {
    return config::ReadUnsigned(node, problems_).value_or(0);
  }
  std::uint32_t Column(const Node& row, std::string_view key) {
    return static_cast<std::uint32_t>(Number(At(row, key)));
  }

 private:
  config::Problems& problems_;
};

model::Architecture ArchitectureNamed(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, model::Architecture>, 6> kWords = {
      {{"volta", model::Architecture::kVolta},
       {"turing", model::Architecture::kTuring},
       {"ampere", model::Architecture::kAmpere},
       {"ada", model::Architecture::kAda},
       {"hopper", model::Architecture::kHopper},
       {"blackwell", model::Architecture::kBlackwell}}};
  for (const auto& [name, architecture] : kWords) {
    if (name == word) return architecture;
  }
  return model::Architecture::kUnknown;
}

model::Memory IdleMemory(model::Bytes total, model::Bytes reserved) {
  return {total, reserved, model::Bytes(0), model::Bytes(total.value() - reserved.value())};
}

// "8.0".
void SetCapability(std::string_view text, model::Gpu& gpu) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto major = base::ParseUnsigned(text.substr(0, dot));
  const auto minor = base::ParseUnsigned(text.substr(std::min(dot + 1, text.size())));
  if (!major || !minor) return;
  gpu.compute_major = static_cast<int>(*major);
  gpu.compute_minor = static_cast<int>(*minor);
}

GpuInstanceProfile ReadProfile(FactReader& facts, const Node& row, model::Bytes total) {
  GpuInstanceProfile profile;
  profile.constant = model::ProfileConstant(facts.Column(row, "constant"));
  profile.id = model::ProfileId(facts.Column(row, "id"));
  profile.slice_count = facts.Column(row, "slices");
  profile.instance_count = facts.Column(row, "count");
  profile.multiprocessors = facts.Column(row, "sm");
  profile.copy_engines = facts.Column(row, "ce");
  profile.decoders = facts.Column(row, "dec");
  profile.encoders = facts.Column(row, "enc");
  profile.jpegs = facts.Column(row, "jpeg");
  profile.ofas = facts.Column(row, "ofa");
  profile.memory = model::Mebibytes(facts.Number(facts.At(row, "memory_mb")));
  for (const Node& start : facts.At(row, "starts").items) {
    profile.placements.push_back(
        {static_cast<std::uint32_t>(facts.Number(start)), facts.Column(row, "size")});
  }
  profile.name = model::NameGpuInstanceProfile(profile.constant, profile.slice_count,
                                               model::MemorySuffix(profile.memory, total), "")
                     .ToString();
  profile.nvml_name = profile.name;
  return profile;
}

base::Result<model::Gpu> ReadProduct(const BuiltInFile& file) {
  TRY(document, config::Document::Parse(std::string(file.text), std::string(file.path)));
  config::Problems problems(document);
  FactReader facts(problems);
  const Node& root = document.root();
  const auto fact = [&](std::string_view key) -> const Node& {
    return facts.At(facts.At(root, key), "value");
  };
  model::Gpu gpu;
  gpu.name = fact("name").text;
  gpu.architecture = ArchitectureNamed(fact("architecture").text);
  gpu.pci_device_id = static_cast<std::uint32_t>(facts.Number(fact("pci_device_id")));
  gpu.pci_class = static_cast<std::uint32_t>(facts.Number(fact("pci_class")));
  const model::Bytes total(facts.Number(fact("memory_total")));
  // Of some boards nobody has published what the driver keeps.
  const Node* reserved = root.Find("memory_reserved");
  gpu.memory = IdleMemory(
      total, model::Bytes(reserved != nullptr ? facts.Number(facts.At(*reserved, "value")) : 0));
  SetCapability(fact("compute_capability").text, gpu);
  if (const Node* mig = root.Find("mig")) {
    gpu.mig.emplace();
    gpu.mig->memory_slices = facts.Column(facts.At(*mig, "memory_slices"), "value");
    for (const Node& row : facts.At(facts.At(*mig, "gpu_instances"), "profiles").items) {
      gpu.mig->profiles.push_back(ReadProfile(facts, row, total));
    }
    std::sort(gpu.mig->profiles.begin(), gpu.mig->profiles.end(),
              [](const auto& a, const auto& b) { return a.constant < b.constant; });
  }
  TRY_VOID(problems.ToResult());
  return gpu;
}

std::string Folded(std::string_view name) {
  std::string folded = base::ToLower(name);
  std::replace(folded.begin(), folded.end(), ' ', '-');
  if (const auto bare = base::WithoutPrefix(folded, "nvidia-")) return std::string(*bare);
  return folded;
}

}  // namespace

std::vector<std::string> ProductNames() {
  std::vector<std::string> names;
  for (const BuiltInFile* file : ProductFiles()) names.push_back(ProductOf(*file));
  return names;
}

base::Result<model::Gpu> ProductGpu(std::string_view name) {
  const std::string wanted = Folded(name);
  std::vector<const BuiltInFile*> found;
  for (const BuiltInFile* file : ProductFiles()) {
    const std::string product = Folded(ProductOf(*file));
    if (product == wanted) return ReadProduct(*file);
    if (!wanted.empty() && base::WithoutPrefix(product, wanted)) found.push_back(file);
  }
  if (found.size() == 1) return ReadProduct(*found.front());
  if (found.size() > 1) {
    std::vector<std::string> meant;
    meant.reserve(found.size());
    for (const BuiltInFile* file : found) meant.push_back(ProductOf(*file));
    return base::MakeError(base::ErrorCode::kInvalid, "{} may be {}", base::Quoted(name),
                           base::JoinWithOr(meant));
  }
  const std::vector<std::string> names = ProductNames();
  const std::string meant = base::DidYouMean(name, names);
  return base::MakeError(base::ErrorCode::kInvalid, "no product {} is known", base::Quoted(name))
      .WithHint(meant.empty() ? fmt::format("known are {}", base::Join(names, ", "))
                              : fmt::format("did you mean {}?", base::Quoted(meant)));
}

}  // namespace partita::config
