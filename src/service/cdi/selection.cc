#include "service/cdi/selection.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using model::FaultKind;
using model::Gpu;

// A DGX Station's board for its screen; CUDA does not run on it.
constexpr std::array<std::string_view, 2> kDisplayBoards = {"DGX Display", "NVIDIA DGX Display"};

bool IsDisplayBoard(const Gpu& gpu) {
  return std::find(kDisplayBoards.begin(), kDisplayBoards.end(), gpu.name) != kDisplayBoards.end();
}

// Why a GPU that is there cannot be given to anybody.
std::optional<base::Error> WhyBroken(const Gpu& gpu) {
  for (const model::Fault& fault : gpu.faults) {
    switch (fault.kind) {
      case FaultKind::kLost:
      case FaultKind::kResetRequired:
      case FaultKind::kHung:
      case FaultKind::kUnreadable:
        return base::MakeError(ErrorCode::kUnavailable, "{}: {}", Called(gpu), fault.text);
      case FaultKind::kMissing:
      case FaultKind::kRecoveryAction:
      case FaultKind::kMemoryErrors:
      case FaultKind::kRemapPending:
      case FaultKind::kRemapFailed: break;
    }
  }
  if (!gpu.mig && gpu.mig_error) {
    base::Error error = *gpu.mig_error;
    return std::move(error).Within(Called(gpu));
  }
  return std::nullopt;
}

// On the bus, but no GPU of the driver's.
bool IsUnlisted(const Gpu& gpu) {
  return std::any_of(gpu.faults.begin(), gpu.faults.end(),
                     [](const model::Fault& fault) { return fault.kind == FaultKind::kMissing; });
}

std::vector<Subject> SlicesOf(const Gpu& gpu) {
  std::vector<Subject> slices;
  if (!gpu.mig || !gpu.mig->enabled) return slices;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances)
      slices.push_back({&gpu, &instance, &compute});
  }
  return slices;
}

// Every name that a subject can be asked for by. Lower case: UUIDs are compared so.
std::vector<std::string> SpellingsOf(const Subject& subject) {
  const Gpu& gpu = *subject.gpu;
  std::vector<std::string> spellings;
  if (subject.compute == nullptr) {
    if (gpu.index) spellings.push_back(fmt::to_string(gpu.index->value()));
    if (gpu.uuid) spellings.push_back(base::ToLower(gpu.uuid->value()));
    return spellings;
  }
  if (gpu.index && subject.compute->slot)
    spellings.push_back(fmt::format("{}:{}", *gpu.index, *subject.compute->slot));
  spellings.push_back(base::ToLower(subject.compute->uuid.value()));
  // As drivers before R470 named them; asked for in this way with every driver.
  if (gpu.uuid) {
    spellings.push_back(base::ToLower(
        fmt::format("MIG-{}/{}/{}", *gpu.uuid, subject.instance->id, subject.compute->id)));
  }
  return spellings;
}

// With its function: "7:0" is a MIG device, also where there is none of this name and a GPU on
// bus 7.
std::optional<model::PciAddress> ParsePci(std::string_view id) {
  if (id.find('.') == std::string_view::npos) return std::nullopt;
  const Result<model::PciAddress> pci = model::PciAddress::Parse(id);
  return pci.ok() ? std::optional(*pci) : std::nullopt;
}

bool LooksLikeAnId(std::string_view id) {
  const std::string lower = base::ToLower(id);
  if (lower.starts_with("gpu-") || lower.starts_with("mig-")) return true;
  const std::vector<std::string_view> parts = base::Split(id, ':');
  const bool numbers = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return base::ParseUnsigned(part).has_value();
  });
  return (numbers && parts.size() <= 2) || ParsePci(id).has_value();
}

std::optional<Subject> FindSubject(const model::Inventory& inventory, const std::string& id) {
  const std::string lower = base::ToLower(id);
  for (const Gpu& gpu : inventory.gpus) {
    std::vector<Subject> subjects = SlicesOf(gpu);
    subjects.push_back({&gpu, nullptr, nullptr});
    for (const Subject& subject : subjects) {
      const std::vector<std::string> spellings = SpellingsOf(subject);
      if (std::find(spellings.begin(), spellings.end(), lower) != spellings.end()) return subject;
    }
  }
  const std::optional<model::PciAddress> pci = ParsePci(id);
  for (const Gpu& gpu : inventory.gpus) {
    if (pci && gpu.pci == *pci) return Subject{&gpu, nullptr, nullptr};
  }
  return std::nullopt;
}

}  // namespace

Selection SelectAll(const model::Inventory& inventory) {
  Selection selection;
  for (const Gpu& gpu : inventory.gpus) {
    if (IsDisplayBoard(gpu)) {
      selection.nothing.push_back(Called(gpu) + " is for a display alone");
    } else if (IsUnlisted(gpu)) {
      selection.nothing.push_back("the driver does not list " + Called(gpu));
    } else if (std::optional<base::Error> broken = WhyBroken(gpu)) {
      selection.broken.push_back(*std::move(broken));
    } else if (!gpu.mig || !gpu.mig->enabled) {
      selection.subjects.push_back({&gpu, nullptr, nullptr});
    } else {
      const std::vector<Subject> slices = SlicesOf(gpu);
      selection.subjects.insert(selection.subjects.end(), slices.begin(), slices.end());
      if (slices.empty())
        selection.nothing.push_back(Called(gpu) + " is in MIG mode and has no MIG device");
    }
  }
  return selection;
}

Result<Selection> SelectByIds(const model::Inventory& inventory, std::span<const std::string> ids) {
  Selection selection;
  for (const std::string& id : ids) {
    const std::optional<Subject> subject = FindSubject(inventory, id);
    if (!subject && !LooksLikeAnId(id)) {
      return base::MakeError(ErrorCode::kInvalid, "identifier is not a valid UUID or index: {}",
                             base::Quoted(id));
    }
    if (!subject) return base::MakeError(ErrorCode::kNotFound, "{}: unknown device", id);
    if (std::optional<base::Error> broken = WhyBroken(*subject->gpu)) {
      selection.broken.push_back(*std::move(broken));
      continue;
    }
    const bool twice =
        std::any_of(selection.subjects.begin(), selection.subjects.end(), [&](const Subject& each) {
          return each.gpu == subject->gpu && each.compute == subject->compute;
        });
    if (!twice) selection.subjects.push_back(*subject);
  }
  return selection;
}

}  // namespace partita::service::cdi
