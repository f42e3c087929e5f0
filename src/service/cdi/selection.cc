#include "service/cdi/selection.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "request/device_id.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using model::FaultKind;
using model::Gpu;
using request::DeviceId;

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

bool IsUuid(const auto& uuid, std::string_view lower) {
  return base::ToLower(uuid.value()) == lower;
}

bool IsNamed(const Subject& subject, const request::WholeGpu& id) {
  return subject.compute == nullptr && subject.gpu->index == model::GpuIndex(id.index);
}

bool IsNamed(const Subject& subject, const request::Slice& id) {
  return subject.compute != nullptr && subject.gpu->index == model::GpuIndex(id.gpu) &&
         subject.compute->slot == id.slot;
}

bool IsNamed(const Subject& subject, const request::ByUuid& id) {
  if (subject.compute != nullptr) return IsUuid(subject.compute->uuid, id.uuid);
  return subject.gpu->uuid && IsUuid(*subject.gpu->uuid, id.uuid);
}

// As drivers before R470 named them; asked for in this way with every driver.
bool IsNamed(const Subject& subject, const request::ByInstance& id) {
  return subject.compute != nullptr && subject.gpu->uuid &&
         IsUuid(*subject.gpu->uuid, id.gpu_uuid) &&
         subject.instance->id == model::GpuInstanceId(id.gi) &&
         subject.compute->id == model::ComputeInstanceId(id.ci);
}

bool IsNamed(const Subject& subject, const request::ByBus& id) {
  return subject.compute == nullptr && subject.gpu->pci == id.pci;
}

std::optional<Subject> FindSubject(const model::Inventory& inventory, const DeviceId& id) {
  for (const Gpu& gpu : inventory.gpus) {
    std::vector<Subject> subjects = SlicesOf(gpu);
    subjects.push_back({&gpu, nullptr, nullptr});
    for (const Subject& subject : subjects) {
      if (std::visit([&](const auto& form) { return IsNamed(subject, form); }, id)) return subject;
    }
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
      selection.unlisted.push_back(&gpu);
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
    const Result<DeviceId> read = request::ParseDeviceId(id);
    if (!read.ok()) return read.error();
    const std::optional<Subject> subject = FindSubject(inventory, *read);
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
