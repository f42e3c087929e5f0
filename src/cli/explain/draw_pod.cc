#include "cli/explain/draw_pod.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/draw/quantity.h"

namespace partita::cli {
namespace {

using config::ManifestFile;
using config::PodManifest;
using service::explain::Cell;
using service::explain::ContainerAnswer;
using service::explain::GivenDevice;
using service::explain::Grant;
using service::explain::Mark;
using service::explain::PodAnswer;
using service::explain::Reason;

constexpr int kInner = kIndent + 2;

struct MarkLook {
  std::string_view glyph;
  Ink ink;
  std::string_view meaning;
};

MarkLook LookOf(Mark mark, const Glyphs& glyphs) {
  switch (mark) {
    case Mark::kGiven: return {glyphs.used, Ink::kHeld, "this container's"};
    case Mark::kFree: return {glyphs.unused, Ink::kIdle, "free"};
    case Mark::kHeld: return {glyphs.reserved, Ink::kPlain, "held"};
    case Mark::kUnhealthy: return {glyphs.fault, Ink::kFault, "unhealthy"};
    case Mark::kAbove: return {glyphs.dot, Ink::kFaint, "taken above"};
  }
  return {glyphs.fault, Ink::kFault, ""};
}

Line PodHeading(const PodManifest& pod, bool runs, const Look& look) {
  const Glyphs& glyphs = look.glyphs();
  const std::string_view verdict = runs ? "would run" : "would not run";
  Line line = Line().Add(Repeat(glyphs.rule, 2), Ink::kFaint).Add(" ");
  const std::string name =
      pod.pod_namespace.empty() ? pod.name : pod.pod_namespace + "/" + pod.name;
  const std::string title = Clean(fmt::format("{} {}", pod.kind, name), look.utf8);
  const int room = look.width - line.width() - DisplayWidth(verdict) - 6;
  line.Add(Fit(title, std::max(room, 8), glyphs), Ink::kStrong).Add(" ");
  const int rest = look.width - line.width() - DisplayWidth(verdict) - 4;
  line.Add(Repeat(glyphs.rule, std::max(rest, 1)), Ink::kFaint).Add(" ");
  return line.Add(verdict, runs ? Ink::kStrong : Ink::kFault)
      .Add(" ")
      .Add(Repeat(glyphs.rule, 2), Ink::kFaint);
}

// A piece for each device, with all of its shares: "0 ██░░".
std::vector<Line> Pieces(const std::vector<Cell>& cells, const Look& look) {
  std::vector<Line> pieces;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool begins =
        i == 0 || cells[i].index != cells[i - 1].index || cells[i].gpu != cells[i - 1].gpu;
    if (begins) pieces.push_back(Line().Add(cells[i].index, Ink::kFaint).Add(" "));
    const MarkLook mark = LookOf(cells[i].mark, look.glyphs());
    pieces.back().Add(mark.glyph, mark.ink);
  }
  return pieces;
}

Lines Picture(const Grant& grant, const Look& look) {
  // So many shares are no picture any more.
  constexpr std::size_t kMostCells = 512;
  Lines lines;
  if (grant.picture.size() <= kMostCells)
    Append(Flow(Line().PadTo(kInner), Pieces(grant.picture, look), 2, look), lines);
  std::vector<Line> legend;
  for (const Mark mark : {Mark::kGiven, Mark::kAbove, Mark::kHeld, Mark::kUnhealthy, Mark::kFree}) {
    const auto count = std::count_if(grant.picture.begin(), grant.picture.end(),
                                     [&](const Cell& cell) { return cell.mark == mark; });
    if (count == 0) continue;
    const MarkLook each = LookOf(mark, look.glyphs());
    legend.push_back(Line()
                         .Add(each.glyph, each.ink)
                         .Add(fmt::format(" {} {}", count, each.meaning), Ink::kFaint));
  }
  Append(Flow(Line().PadTo(kInner), legend, 3, look), lines);
  return lines;
}

std::string DeviceText(const GivenDevice& device) {
  std::vector<std::string> parts;
  parts.push_back(
      fmt::format("{} {}", device.profile.empty() ? "GPU" : "MIG device", device.index));
  if (!device.profile.empty()) parts.push_back(device.profile);
  if (!device.product.empty()) parts.push_back(device.product);
  if (device.memory)
    parts.push_back(WithUnit(model::Bytes(device.memory->value() << 20U)) +
                    (device.share ? " for all its shares" : ""));
  if (device.multiprocessors) parts.push_back(fmt::format("{} SMs", *device.multiprocessors));
  std::string text = base::Join(parts, ", ");
  if (device.share) {
    const auto& mps = device.share->mps;
    const std::string size = mps && !mps->size.empty() ? mps->size + " " : "";
    text = fmt::format("{}share {} of {} of {}", size, device.share->number + 1,
                       device.share->count, text);
    if (mps)
      text += fmt::format("; at most {} and {} % of the SMs for this one",
                          WithUnit(model::Bytes(mps->limits.memory.value() << 20U)),
                          mps->limits.threads);
    text += device.share->others.empty()
                ? ", the others not held now"
                : "; others are held by " + base::Join(device.share->others, ", ");
  }
  if (device.reused) text += ", which an init container had before";
  return text;
}

// "CDI   k8s.device-plugin.nvidia.com/gpu=…".
void AddRow(std::string_view name, const std::string& text, const Look& look, Lines& lines) {
  constexpr int kColumn = kInner + 7;
  Line first = Line().PadTo(kInner).Add(name, Ink::kFaint).PadTo(kColumn);
  Append(Wrapped(first, kColumn, Clean(text, look.utf8), Ink::kPlain, look), lines);
}

Lines DrawGrant(const Grant& grant, const Look& look) {
  Lines lines = Picture(grant, look);
  for (const GivenDevice& device : grant.devices) {
    AddRow("device", DeviceText(device), look, lines);
    AddRow("", device.id, look, lines);
  }
  const auto& answer = grant.answer;
  for (const std::string& name : answer.cdi_devices) AddRow("CDI", name, look, lines);
  for (const auto& [name, value] : answer.envs)
    AddRow("env", fmt::format("{}={}", name, value), look, lines);
  for (const auto& mount : answer.mounts)
    AddRow("mount",
           fmt::format("{} on {}{}", mount.host_path, mount.container_path,
                       mount.read_only ? ", read-only" : ""),
           look, lines);
  for (const auto& node : answer.nodes)
    AddRow("node",
           node.host_path == node.container_path
               ? fmt::format("{} {}", node.host_path, node.permissions)
               : fmt::format("{} as {} {}", node.host_path, node.container_path, node.permissions),
           look, lines);
  for (const auto& [name, value] : answer.annotations)
    AddRow("annot.", fmt::format("{}={}", name, value), look, lines);
  return lines;
}

Lines DrawContainer(const ContainerAnswer& container, const Look& look) {
  Lines lines;
  for (const Grant& grant : container.grants) {
    Line line = Line()
                    .PadTo(kIndent)
                    .Add(Clean(container.name, look.utf8), Ink::kStrong)
                    .Add(container.role == config::ContainerRole::kMain
                             ? ""
                             : fmt::format(" ({})", config::ToString(container.role)))
                    .Add("  ")
                    .Add(fmt::format("{} {} {}", grant.count, look.glyphs().times, grant.resource));
    lines.push_back(std::move(line));
    Append(DrawGrant(grant, look), lines);
  }
  return lines;
}

Lines DrawReason(const ManifestFile& file, const Reason& reason, const Look& look) {
  const Glyphs& glyphs = look.glyphs();
  Lines lines = Wrapped(Line().PadTo(kIndent).Add(glyphs.fault, Ink::kFault).Add(" "), kInner,
                        Clean(fmt::format("{}:{}:{}: {}", file.file_name(), reason.place.line,
                                          reason.place.column, reason.text),
                              look.utf8),
                        Ink::kPlain, look);
  const std::string snippet = file.Snippet(reason.place);
  for (const std::string_view line : base::SplitLines(snippet))
    lines.push_back(Line().PadTo(kInner).Add(Clean(line, look.utf8), Ink::kFaint));
  if (!reason.change.empty())
    Append(Wrapped(Line().PadTo(kInner).Add(glyphs.advice, Ink::kWarning).Add(" "), kInner + 2,
                   Clean(reason.change, look.utf8), Ink::kPlain, look),
           lines);
  return lines;
}

}  // namespace

Lines DrawPod(const ManifestFile& file,
              const PodManifest& pod,
              const PodAnswer& answer,
              const Look& look) {
  Lines lines;
  lines.push_back(PodHeading(pod, answer.runs(), look));
  for (const ContainerAnswer& container : answer.containers)
    Append(DrawContainer(container, look), lines);
  for (const Reason& reason : answer.reasons) Append(DrawReason(file, reason, look), lines);
  std::vector<std::string> notes = answer.notes;
  if (answer.runs() && pod.replicas != 1)
    notes.insert(notes.begin(),
                 fmt::format("of its {} {} {} here now", Count(pod.replicas, "replica", "replicas"),
                             answer.fitting, answer.fitting == 1 ? "fits" : "fit"));
  for (const std::string& note : notes)
    Append(Wrapped(Line().PadTo(kIndent).Add(look.glyphs().dot, Ink::kFaint).Add(" "), kInner,
                   Clean(note, look.utf8), Ink::kPlain, look),
           lines);
  return lines;
}

}  // namespace partita::cli
