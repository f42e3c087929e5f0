#include "cli/mig/show.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/draw_gpu.h"
#include "cli/draw/draw_holders.h"
#include "cli/draw/draw_slices.h"
#include "cli/draw/quantity.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "cli/status/status_document.h"
#include "model/mig/plan.h"
#include "model/unread.h"
#include "model/words.h"

namespace partita::cli {

namespace {

using base::Value;
using model::Gpu;
using model::GpuInstance;
using model::MigGeometry;

model::ProfileCounts RoomOn(const Gpu& gpu, const MigGeometry& geometry) {
  model::MigLayout layout;
  for (const model::LiveInstance& live : model::LiveInstances(gpu, geometry)) {
    layout.push_back(live.place);
  }
  return model::RemainingRoom(geometry, layout);
}

void AddRoom(const Gpu& gpu, const Look& look, Lines& lines) {
  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  const model::ProfileCounts room = RoomOn(gpu, geometry);
  std::vector<Line> pieces;
  for (const std::size_t profile : model::LargestFirst(geometry)) {
    if (room[profile] == 0) continue;
    Line piece;
    if (!pieces.empty()) piece.Add("or ", Ink::kFaint);
    pieces.push_back(piece.Add(fmt::format("{}{} {}", room[profile], look.glyphs().times,
                                           Clean(geometry.profiles[profile].name, look.utf8))));
  }
  if (pieces.empty()) pieces.push_back(Line().Add("nothing more", Ink::kFaint));
  Append(Flow(Line().PadTo(kIndent).Add("room for ", Ink::kFaint), pieces, 1, look), lines);
}

void AddUnclaimed(const Gpu& gpu, const Look& look, Lines& lines) {
  for (const GpuInstance& instance : gpu.mig->instances) {
    if (!instance.compute_instances.empty()) continue;
    const Line mark = Line().PadTo(kIndent).Add(look.glyphs().warning, Ink::kWarning).Add(" ");
    const std::string text =
        fmt::format("GI {} {} has no compute instance: it takes its slices, but nothing can run",
                    instance.id, Clean(instance.profile_name, look.utf8));
    Append(Wrapped(mark, mark.width(), text, Ink::kWarning, look), lines);
  }
}

void AddUnknown(const base::Error& why, const Look& look, Lines& lines) {
  const Line mark = Line().PadTo(kIndent).Add(look.glyphs().fault, Ink::kFault).Add(" ");
  Append(Wrapped(mark, mark.width(), Clean(why.ToString(), look.utf8), Ink::kPlain, look), lines);
}

Value InstanceValue(const GpuInstance& instance) {
  Value devices = Value::List();
  for (const model::ComputeInstance& compute : instance.compute_instances) {
    devices.Add(Value::Map()
                    .Set("id", compute.id.value())
                    .Set("name", compute.name)
                    .Set("uuid", compute.uuid.value())
                    .Set("computeSlices", compute.slice_count)
                    .Set("multiprocessors", compute.multiprocessors));
  }
  return Value::Map()
      .Set("id", instance.id.value())
      .Set("profile", instance.profile_name)
      .Set("start", instance.placement.start)
      .Set("size", instance.placement.size)
      .Set("computeInstances", std::move(devices));
}

Value LayoutValue(const Gpu& gpu) {
  Value map = Value::Map();
  if (gpu.index) map.Set("index", gpu.index->value());
  if (gpu.uuid) map.Set("uuid", gpu.uuid->value());
  map.Set("product", gpu.name).Set("pciAddress", gpu.pci.ToString());
  map.Set("migCapable", gpu.mig.has_value());
  if (const auto why = model::WhyMigUnknown(gpu)) map.Set("fault", why->ToString());
  Value holders = Value::List();
  for (const model::Process& process : gpu.processes) holders.Add(HolderValue(process));
  if (gpu.mig) {
    map.Set("migEnabled", gpu.mig->enabled).Set("migPending", gpu.mig->pending_enabled);
    map.Set("memorySlices", gpu.mig->memory_slices);
    Value instances = Value::List();
    for (const GpuInstance& instance : gpu.mig->instances) instances.Add(InstanceValue(instance));
    map.Set("instances", std::move(instances));
    const MigGeometry geometry = MigGeometry::From(*gpu.mig);
    const model::ProfileCounts room = RoomOn(gpu, geometry);
    Value fits = Value::Map();
    for (const std::size_t profile : model::LargestFirst(geometry)) {
      if (room[profile] > 0) fits.Set(geometry.profiles[profile].name, room[profile]);
    }
    map.Set("room", std::move(fits));
  }
  map.Set("holders", std::move(holders));
  SetUnnamed(map, gpu.hidden_holders, model::WhyHoldersUnknown(gpu));
  return map;
}

}  // namespace

Value HolderValue(const model::Process& process) {
  Value map = Value::Map().Set("pid", process.pid.value()).Set("kind", Token(process.kind));
  if (!process.name.empty()) map.Set("command", process.name);
  if (process.gpu_instance) map.Set("gpuInstance", process.gpu_instance->value());
  if (process.compute_instance) map.Set("computeInstance", process.compute_instance->value());
  if (process.container) SetContainer(map, *process.container);
  return map;
}

void SetUnnamed(Value& map,
                const std::vector<model::HiddenHolder>& hidden,
                const std::optional<base::Error>& unknown) {
  if (!hidden.empty()) {
    Value list = Value::List();
    for (const model::HiddenHolder& holder : hidden) {
      Value entry = Value::Map();
      if (holder.gpu_instance) entry.Set("gpuInstance", holder.gpu_instance->value());
      list.Add(std::move(entry.Set("memoryBytes", holder.memory.value())));
    }
    map.Set("hiddenHolders", std::move(list));
  }
  if (unknown) map.Set("holdersUnknown", ReasonValue(*unknown));
}

Line MigModeLine(const Gpu& gpu, int indent) {
  Line line = Line().PadTo(indent);
  if (!gpu.mig) return line.Add("cannot do MIG", Ink::kFaint);
  line.Add(gpu.mig->enabled ? "MIG on" : "MIG off");
  if (gpu.mig->enabled != gpu.mig->pending_enabled) {
    line.Add(gpu.mig->pending_enabled ? ", on after a GPU reset" : ", off after a GPU reset",
             Ink::kWarning);
  }
  return line;
}

Lines DrawMigShow(const model::Inventory& node, const Look& look) {
  Lines lines;
  for (const Gpu& gpu : node.gpus) {
    if (!lines.empty()) lines.emplace_back();
    lines.push_back(DrawGpuHeading(gpu, look));
    const std::optional<base::Error> unknown = model::WhyMigUnknown(gpu);
    if (unknown) AddUnknown(*unknown, look, lines);
    // Whether one that did not answer can do MIG, nobody can say.
    if (gpu.mig || !unknown) lines.push_back(MigModeLine(gpu, kIndent));
    if (gpu.mig && gpu.mig->enabled) {
      Append(DrawSlices(gpu, kIndent, look), lines);
      AddUnclaimed(gpu, look, lines);
      AddRoom(gpu, look, lines);
    }
    Append(DrawHolders(gpu, kIndent, look), lines);
  }
  if (lines.empty()) lines.push_back(Line().Add("no GPU"));
  return lines;
}

Value MigShowDocument(const model::Inventory& node) {
  Value gpus = Value::List();
  for (const Gpu& gpu : node.gpus) gpus.Add(LayoutValue(gpu));
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigState")
      .Set("gpus", std::move(gpus));
}

int RunMigShow(const base::Invocation& invocation) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    Print(*options, MigShowDocument(node),
          [&](const Look& look) { return DrawMigShow(node, look); });
    return kExitDone;
  });
}

}  // namespace partita::cli
