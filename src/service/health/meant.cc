#include "service/health/meant.h"

#include <set>

#include "base/text.h"
#include "model/selector.h"

namespace partita::service::health {
namespace {

using Meant = std::function<bool(const Part&)>;

// A MIG device, and the GPU instance that it lies in where nobody else does: what is wrong with
// that is wrong with it alone.
std::set<Part> PartsNamed(const std::string& uuid, const model::Inventory& inventory) {
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.uuid || !gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances) {
        if (compute.uuid.value() != uuid) continue;
        std::set<Part> parts = {{*gpu.uuid, instance.id, compute.id}};
        if (instance.compute_instances.size() == 1) parts.insert({*gpu.uuid, instance.id});
        return parts;
      }
  }
  return {};
}

base::Error NotHere(const std::string& text) {
  return base::MakeError(base::ErrorCode::kNotFound, "no GPU or MIG device {} is here",
                         base::Quoted(text))
      .WithHint("`partita health` lists them");
}

}  // namespace

base::Result<Meant> MeantBy(const std::string& text, const model::Inventory& inventory) {
  if (text == "all") return Meant([](const Part&) { return true; });
  if (base::WithoutPrefix(text, "MIG-")) {
    const std::set<Part> named = PartsNamed(text, inventory);
    if (named.empty()) return NotHere(text);
    return Meant([named](const Part& each) { return named.contains(each); });
  }
  TRY(selector, model::GpuSelector::Parse(text));
  std::set<model::GpuUuid> gpus;
  for (const model::Gpu& gpu : inventory.gpus)
    if (gpu.uuid && selector.Matches(gpu)) gpus.insert(*gpu.uuid);
  if (gpus.empty()) return NotHere(text);
  return Meant([gpus](const Part& each) { return gpus.contains(each.gpu); });
}

}  // namespace partita::service::health
