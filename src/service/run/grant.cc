#include "service/run/grant.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "request/device_id.h"

namespace partita::service::run {

namespace {

using base::ErrorCode;
using base::MakeError;
using base::Result;
using partita::cdi::DeviceRow;
using partita::cdi::NodeDevices;

// "6" or "6:1"
std::string Called(const DeviceRow& row) {
  return row.mig ? fmt::format("{}:{}", row.index, row.mig->slot) : fmt::to_string(row.index);
}

bool IsDivided(const DeviceRow& row) { return row.mig_enabled && !row.mig; }

bool IsOffered(const DeviceRow& row) { return !row.cdi_name.empty() && !IsDivided(row); }

std::string HintOf(const NodeDevices& node) {
  std::vector<std::string> names;
  for (const DeviceRow& row : node.rows) {
    if (IsOffered(row)) names.push_back(Called(row));
  }
  if (names.empty()) return "this machine has no GPU that can be given; see partita doctor";
  return fmt::format("this machine has {}", base::Join(names, ", "));
}

base::Error DividedError(const DeviceRow& gpu, const NodeDevices& node) {
  std::vector<std::string> slices;
  for (const DeviceRow& row : node.rows) {
    if (row.mig && row.index == gpu.index) slices.push_back(Called(row));
  }
  return MakeError(ErrorCode::kInvalid, "GPU {} is in MIG mode: programs run on its MIG devices",
                   gpu.index)
      .WithHint(slices.empty() ? "it has none yet: partita mig apply makes some"
                               : fmt::format("name {}", base::JoinWithOr(slices)));
}

Result<std::vector<const DeviceRow*>> RowsOf(std::span<const std::string> ids,
                                             const NodeDevices& node) {
  std::vector<const DeviceRow*> rows;
  if (ids.size() == 1 && ids[0] == "none") return rows;
  if (ids.size() == 1 && ids[0] == "all") {
    for (const DeviceRow& row : node.rows) {
      if (IsOffered(row)) rows.push_back(&row);
    }
    if (rows.empty()) return MakeError(ErrorCode::kUnavailable, "{}", HintOf(node));
    return rows;
  }
  Result<std::vector<const DeviceRow*>> found = request::Resolve(ids, node);
  if (!found.ok() && found.error().code() == ErrorCode::kUnavailable) return found;
  if (!found.ok()) return std::move(found).error().As(ErrorCode::kInvalid).WithHint(HintOf(node));
  return found;
}

void AddNodes(const partita::cdi::ContainerEdits& edits, Grant& grant) {
  for (const partita::cdi::DeviceNode& node : edits.device_nodes) {
    const bool there = std::any_of(grant.nodes.begin(), grant.nodes.end(),
                                   [&](const auto& each) { return each.path == node.path; });
    if (!there) grant.nodes.push_back(node);
  }
}

}  // namespace

Result<std::vector<std::string>> ReadIds(std::span<const std::string> lists) {
  std::vector<std::string> ids;
  std::string word;
  for (const std::string& list : lists) {
    for (const std::string_view item : base::Split(list, ',')) {
      std::string id(base::Trim(item));
      if (id.empty()) continue;
      const std::string lower = base::ToLower(id);
      if (lower == "void")
        return MakeError(ErrorCode::kInvalid, "{} is for containers that are left alone",
                         base::Quoted(id))
            .WithHint("none gives no GPU");
      if (lower == "all" || lower == "none") word = id = lower;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
    }
  }
  if (ids.empty())
    return MakeError(ErrorCode::kInvalid, "no device is named")
        .WithHint("name one (0, 0:1, a UUID or a PCI address), or all, or none");
  if (!word.empty() && ids.size() > 1)
    return MakeError(ErrorCode::kInvalid, "{} together with {}", base::Quoted(word),
                     base::Quoted(ids[0] == word ? ids[1] : ids[0]))
        .WithHint(word == "all" ? "all is every device already: leave one of them out"
                                : "none is no device: leave one of them out");
  return ids;
}

Result<Grant> GrantOf(std::span<const std::string> ids, const NodeDevices& node) {
  TRY(rows, RowsOf(ids, node));
  Grant grant;
  AddNodes(node.spec.edits, grant);
  for (const DeviceRow* row : rows) {
    if (IsDivided(*row)) return DividedError(*row, node);
    const auto device =
        std::find_if(node.spec.devices.begin(), node.spec.devices.end(),
                     [&](const partita::cdi::Device& each) { return each.name == row->cdi_name; });
    if (row->cdi_name.empty() || device == node.spec.devices.end()) {
      return MakeError(ErrorCode::kUnavailable,
                       "{} cannot be given: it does not work, or a device node of it is missing",
                       Called(*row))
          .WithHint("partita doctor looks for the cause");
    }
    grant.devices.push_back(device->name);
    AddNodes(device->edits, grant);
  }
  return grant;
}

}  // namespace partita::service::run
