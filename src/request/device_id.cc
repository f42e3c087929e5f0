#include "request/device_id.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"

namespace partita::request {

namespace {

using base::ErrorCode;
using base::Result;
using cdi::DeviceRow;

std::optional<std::uint32_t> Number(std::string_view text) {
  const std::optional<std::uint64_t> number = base::ParseUnsigned(text);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<DeviceId> ParseIndex(std::string_view text) {
  const std::vector<std::string_view> parts = base::Split(text, ':');
  if (parts.size() > 2) return std::nullopt;
  const std::optional<std::uint32_t> gpu = Number(parts[0]);
  if (!gpu) return std::nullopt;
  if (parts.size() == 1) return WholeGpu{*gpu};
  const std::optional<std::uint32_t> slot = Number(parts[1]);
  if (!slot) return std::nullopt;
  return Slice{*gpu, *slot};
}

// Of what may follow "gpu-" and "mig-"; UUIDs reach names of files and arguments of programs.
bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-';
  });
}

// In lower case.
std::optional<DeviceId> ParseUuid(std::string_view text) {
  if (const std::optional<std::string_view> gpu = base::WithoutPrefix(text, "gpu-"))
    return IsPlain(*gpu) ? std::optional<DeviceId>(ByUuid{std::string(text)}) : std::nullopt;
  const std::optional<std::string_view> mig = base::WithoutPrefix(text, "mig-");
  if (!mig) return std::nullopt;
  if (IsPlain(*mig)) return ByUuid{std::string(text)};

  const std::vector<std::string_view> parts = base::Split(*mig, '/');
  if (parts.size() != 3) return std::nullopt;
  const std::optional<std::string_view> gpu = base::WithoutPrefix(parts[0], "gpu-");
  const std::optional<std::uint32_t> gi = Number(parts[1]);
  const std::optional<std::uint32_t> ci = Number(parts[2]);
  if (!gpu || !IsPlain(*gpu) || !gi || !ci) return std::nullopt;
  return ByInstance{std::string(parts[0]), *gi, *ci};
}

std::optional<DeviceId> ParseBus(std::string_view text) {
  if (text.find('.') == std::string_view::npos) return std::nullopt;
  const Result<model::PciAddress> pci = model::PciAddress::Parse(text);
  return pci.ok() ? std::optional<DeviceId>(ByBus{*pci}) : std::nullopt;
}

bool IsUuid(std::string_view uuid, std::string_view lower) { return base::ToLower(uuid) == lower; }

bool IsNamed(const DeviceRow& row, const WholeGpu& id) { return !row.mig && row.index == id.index; }

bool IsNamed(const DeviceRow& row, const Slice& id) {
  return row.mig && row.index == id.gpu && row.mig->slot == id.slot;
}

bool IsNamed(const DeviceRow& row, const ByUuid& id) {
  return IsUuid(row.mig ? row.mig->uuid : row.uuid, id.uuid);
}

bool IsNamed(const DeviceRow& row, const ByInstance& id) {
  return row.mig && row.mig->gi == id.gi && row.mig->ci == id.ci && IsUuid(row.uuid, id.gpu_uuid);
}

bool IsNamed(const DeviceRow& row, const ByBus& id) {
  if (row.mig) return false;
  const Result<model::PciAddress> pci = model::PciAddress::Parse(row.pci);
  return pci.ok() && *pci == id.pci;
}

}  // namespace

Result<DeviceId> ParseDeviceId(std::string_view text) {
  // "7:0" could be read as a PCI address too.
  std::optional<DeviceId> id = ParseIndex(text);
  if (!id) id = ParseUuid(base::ToLower(text));
  if (!id) id = ParseBus(text);
  if (id) return *std::move(id);
  return base::MakeError(ErrorCode::kInvalid, "identifier is not a valid UUID or index: {}",
                         base::Quoted(text));
}

bool MayBeAnothers(std::uint32_t gpu,
                   std::optional<std::uint32_t> slot,
                   const cdi::Miscount& miscount) {
  if (!miscount.gpu) return gpu >= miscount.from;
  return slot && gpu == *miscount.gpu && *slot >= miscount.from;
}

Result<void> CheckNumber(const DeviceId& id,
                         std::string_view text,
                         std::span<const cdi::Miscount> miscounts) {
  const auto* gpu = std::get_if<WholeGpu>(&id);
  const auto* slice = std::get_if<Slice>(&id);
  if (gpu == nullptr && slice == nullptr) return {};
  const std::uint32_t index = slice != nullptr ? slice->gpu : gpu->index;
  const auto slot = slice != nullptr ? std::optional(slice->slot) : std::nullopt;
  for (const cdi::Miscount& each : miscounts) {
    if (!MayBeAnothers(index, slot, each)) continue;
    return base::MakeError(ErrorCode::kUnavailable, "{}: its number may be another's now: {}", text,
                           each.why)
        .WithHint((each.mend.empty() ? "" : each.mend + "; ") + "or name it by its UUID");
  }
  return {};
}

Result<std::vector<const DeviceRow*>> Resolve(std::span<const std::string> ids,
                                              const cdi::NodeDevices& node) {
  const std::vector<DeviceRow>& rows = node.rows;
  std::vector<const DeviceRow*> found;
  for (const std::string& text : ids) {
    const Result<DeviceId> id = ParseDeviceId(text);
    if (!id.ok()) return id.error();
    TRY_VOID(CheckNumber(*id, text, node.miscounts));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const DeviceRow& each) {
      return std::visit([&](const auto& form) { return IsNamed(each, form); }, *id);
    });
    if (row == rows.end()) return base::MakeError(ErrorCode::kNotFound, "{}: unknown device", text);
    if (std::find(found.begin(), found.end(), &*row) == found.end()) found.push_back(&*row);
  }
  return found;
}

}  // namespace partita::request
