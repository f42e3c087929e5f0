#include "cli/mig/profiles.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/table.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "cli/status/status_document.h"

namespace partita::cli {

namespace {

using base::Value;
using model::GpuInstanceProfile;

// As people list them: the smallest first.
std::vector<std::size_t> SmallestFirst(const model::MigGeometry& geometry) {
  std::vector<std::size_t> order = model::LargestFirst(geometry);
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> StartsOf(const GpuInstanceProfile& profile) {
  std::vector<std::uint32_t> starts;
  for (const model::Placement& placement : profile.placements) starts.push_back(placement.start);
  return starts;
}

std::uint32_t SizeOf(const GpuInstanceProfile& profile) {
  return profile.placements.empty() ? 0 : profile.placements.front().size;
}

// Engines are left out where there is no room for them.
bool ShowsEngines(const Look& look) { return look.width >= 80; }

std::vector<std::string> Heading(const Look& look) {
  std::vector<std::string> row = {"profile", "id", "max", "GiB", "SM"};
  if (ShowsEngines(look)) row.insert(row.end(), {"CE", "DEC", "ENC", "JPG", "OFA"});
  row.insert(row.end(), {"slices", "starts"});
  return row;
}

std::vector<std::string> ProfileRow(const GpuInstanceProfile& profile, const Look& look) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const double gibibytes = static_cast<double>(profile.memory.value()) / 1024;
  std::vector<std::string> row = {Clean(profile.name, look.utf8), number(profile.id),
                                  number(profile.instance_count), fmt::format("{:.2f}", gibibytes),
                                  number(profile.multiprocessors)};
  if (ShowsEngines(look)) {
    row.insert(row.end(), {number(profile.copy_engines), number(profile.decoders),
                           number(profile.encoders), number(profile.jpegs), number(profile.ofas)});
  }
  row.insert(row.end(), {number(SizeOf(profile)), NumberRanges(StartsOf(profile))});
  return row;
}

}  // namespace

Lines DrawMigProfiles(const model::Inventory& node, const Look& look) {
  Lines lines;
  for (const GpuKind& kind : MigKinds(node)) {
    if (!lines.empty()) lines.emplace_back();
    lines.push_back(KindHeading(node, kind, look));
    if (kind.geometry.profiles.empty()) {
      const std::string none = "the driver lists no profiles; some list them only while MIG is on";
      Append(Wrapped(Line().PadTo(kIndent), kIndent, none, Ink::kWarning, look), lines);
      continue;
    }
    std::vector<std::vector<std::string>> rows = {Heading(look)};
    for (const std::size_t position : SmallestFirst(kind.geometry)) {
      rows.push_back(ProfileRow(kind.geometry.profiles[position], look));
    }
    Append(DrawTable(rows, ShowsEngines(look) ? "lrrrrrrrrrrl" : "lrrrrrl", kIndent, look), lines);
    lines.push_back(Line().PadTo(kIndent).Add(
        fmt::format("of {} memory slices", kind.geometry.memory_slices), Ink::kFaint));
  }
  Append(DrawNotCapable(node, look), lines);
  return lines;
}

Value MigProfilesDocument(const model::Inventory& node) {
  Value kinds = Value::List();
  for (const GpuKind& kind : MigKinds(node)) {
    Value profiles = Value::List();
    for (const std::size_t position : SmallestFirst(kind.geometry)) {
      profiles.Add(ProfileDocument(kind.geometry.profiles[position]));
    }
    kinds.Add(Value::Map()
                  .Set("product", node.gpus[kind.gpus.front()].name)
                  .Set("gpus", GpuList(node, kind.gpus))
                  .Set("memorySlices", kind.geometry.memory_slices)
                  .Set("profiles", std::move(profiles)));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigProfiles")
      .Set("kinds", std::move(kinds));
}

int RunMigProfiles(const base::Invocation& invocation) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    Print(*options, MigProfilesDocument(node),
          [&](const Look& look) { return DrawMigProfiles(node, look); });
    return kExitDone;
  });
}

}  // namespace partita::cli
