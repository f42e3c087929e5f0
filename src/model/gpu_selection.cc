#include "model/gpu_selection.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.h"
#include "model/selector.h"
#include "model/words.h"

namespace partita::model {

namespace {

using model::Gpu;
using model::Inventory;
using model::PciAddress;

bool HasPrefix(std::string_view text, std::string_view prefix) {
  return base::ToLower(text).starts_with(base::ToLower(prefix));
}

bool HasMigDevice(const Gpu& gpu, std::string_view uuid) {
  if (!gpu.mig) return false;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      if (HasPrefix(compute.uuid.value(), uuid)) return true;
    }
  }
  return false;
}

// Addresses of the GPUs that one word names.
std::set<PciAddress> Find(const Inventory& inventory, const std::string& word) {
  std::set<PciAddress> found;
  const std::optional<std::uint64_t> index = base::ParseUnsigned(word);
  const base::Result<PciAddress> address = PciAddress::Parse(word);
  for (const Gpu& gpu : inventory.gpus) {
    const bool by_index = index && gpu.index && gpu.index->value() == *index;
    const bool by_address = address && gpu.pci == *address;
    const bool by_uuid = HasPrefix(word, "gpu-") && gpu.uuid && HasPrefix(gpu.uuid->value(), word);
    const bool by_mig = HasPrefix(word, "mig-") && HasMigDevice(gpu, word);
    if (by_index || by_address || by_uuid || by_mig) found.insert(gpu.pci);
  }
  for (const model::VfioGpu& gpu : inventory.vfio) {
    if (address && gpu.pci == *address) found.insert(gpu.pci);
  }
  return found;
}

// All GPUs of a product, by its name.
std::set<PciAddress> FindProduct(const Inventory& inventory, const std::string& word) {
  std::set<PciAddress> found;
  const base::Result<model::GpuSelector> selector = model::GpuSelector::Parse(word);
  if (!selector.ok() || !std::holds_alternative<model::ProductName>(selector->choice())) return {};
  for (const Gpu& gpu : inventory.gpus) {
    if (selector->Matches(gpu)) found.insert(gpu.pci);
  }
  return found;
}

std::string Names(const Inventory& inventory) {
  std::string names;
  for (const Gpu& gpu : inventory.gpus) {
    if (!names.empty()) names += ", ";
    if (gpu.index) names += fmt::format("{} at ", *gpu.index);
    names += PciText(gpu);
  }
  for (const model::VfioGpu& gpu : inventory.vfio) {
    names += fmt::format("{}{} (vfio)", names.empty() ? "" : ", ", gpu.pci.ToString());
  }
  return names.empty() ? "this machine has none" : "this machine has " + names;
}

// A problem names its GPU by index or by address.
bool Concerns(const model::Problem& problem,
              const Inventory& inventory,
              const std::set<PciAddress>& chosen) {
  if (problem.gpu.empty()) return true;
  const std::set<PciAddress> named = Find(inventory, problem.gpu);
  return std::any_of(named.begin(), named.end(),
                     [&](const PciAddress& pci) { return chosen.contains(pci); });
}

// "0,1" are two words. No index, address, UUID or product has a comma.
std::vector<std::string> SingleWords(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (const std::string_view word : base::Split(list, ',')) words.emplace_back(base::Trim(word));
  }
  return words;
}

}  // namespace

base::Result<Inventory> SelectGpus(Inventory inventory, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return inventory;
  std::set<PciAddress> chosen;
  for (const std::string& word : SingleWords(wanted)) {
    if (const std::set<PciAddress> product = FindProduct(inventory, word); !product.empty()) {
      chosen.insert(product.begin(), product.end());
      continue;
    }
    const std::set<PciAddress> found = Find(inventory, word);
    if (found.size() != 1) {
      return base::MakeError(base::ErrorCode::kInvalid, "--gpu {}: {}", base::Quoted(word),
                             found.empty() ? "no such GPU" : "fits several GPUs")
          .WithHint(Names(inventory));
    }
    chosen.insert(*found.begin());
  }
  // Problems first: the words in them are looked up among all GPUs.
  std::vector<model::Problem> problems;
  std::copy_if(inventory.problems.begin(), inventory.problems.end(), std::back_inserter(problems),
               [&](const model::Problem& p) { return Concerns(p, inventory, chosen); });
  inventory.problems = std::move(problems);
  std::erase_if(inventory.gpus, [&](const Gpu& gpu) { return !chosen.contains(gpu.pci); });
  std::erase_if(inventory.vfio, [&](const auto& gpu) { return !chosen.contains(gpu.pci); });
  std::erase_if(inventory.links, [&](const model::GpuLink& link) {
    return !chosen.contains(link.a) || !chosen.contains(link.b);
  });
  std::erase_if(inventory.switch_links,
                [&](const model::SwitchLinks& links) { return !chosen.contains(links.gpu); });
  return inventory;
}

}  // namespace partita::model
