#include "cli/status/draw_status.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/draw/draw_gpu.h"
#include "cli/draw/draw_links.h"
#include "cli/draw/quantity.h"
#include "cli/draw/slice_layout.h"

namespace partita::cli {

namespace {

// From here on two GPUs stand side by side, each as wide as on an ordinary terminal.
constexpr int kTwoColumns = 163;
constexpr int kColumnGap = 3;

Line SectionHeading(const std::string& title, const Look& look) {
  Line line = Line().Add(Repeat(look.glyphs().rule, 2), Ink::kFaint).Add(" ");
  line.Add(title, Ink::kStrong).Add(" ");
  return line.Add(Repeat(look.glyphs().rule, std::max(look.width - line.width(), 0)), Ink::kFaint);
}

std::string HowMany(const model::NodeReport& report) {
  const std::size_t shown = report.inventory.gpus.size();
  if (shown < report.gpus_on_node) return fmt::format("{} of {} GPUs", shown, report.gpus_on_node);
  return shown == 0 ? "no GPU" : Count(shown, "GPU", "GPUs");
}

struct Totals {
  std::size_t sliced = 0, mig_devices = 0, processes = 0, faulty = 0;
};

Totals Sum(const model::Inventory& inventory) {
  Totals totals;
  for (const model::Gpu& gpu : inventory.gpus) {
    totals.processes += gpu.processes.size();
    totals.faulty += gpu.faults.empty() ? 0 : 1;
    if (!gpu.mig || !gpu.mig->enabled) continue;
    ++totals.sliced;
    for (const model::GpuInstance& instance : gpu.mig->instances) {
      totals.mig_devices += instance.compute_instances.size();
    }
  }
  return totals;
}

Lines Header(const model::NodeReport& report, const Look& look) {
  const model::Inventory& inventory = report.inventory;
  std::vector<Line> pieces = {Line().Add(Clean(report.host, look.utf8), Ink::kStrong)};
  const auto labelled = [&](std::string_view label, const std::string& value) {
    pieces.push_back(Line().Add(label, Ink::kFaint).Add(" ").Add(Clean(value, look.utf8)));
  };
  if (inventory.driver) {
    const model::Driver& driver = *inventory.driver;
    labelled("driver", driver.version);
    if (driver.cuda) labelled("CUDA", fmt::format("{}.{}", driver.cuda->major, driver.cuda->minor));
    if (!driver.nvml_version.empty()) labelled("NVML", driver.nvml_version);
    if (!driver.library_path.empty()) labelled("library", driver.library_path);
  } else {
    pieces.push_back(Line().Add("no driver", Ink::kFault));
  }
  Lines lines = Flow(Line(), pieces, 3, look);

  const Totals totals = Sum(inventory);
  std::vector<Line> counts = {Line().Add(HowMany(report), Ink::kStrong)};
  if (totals.sliced > 0) {
    counts.push_back(
        Line().Add(fmt::format("{} on {}", Count(totals.mig_devices, "MIG device", "MIG devices"),
                               Count(totals.sliced, "GPU", "GPUs"))));
  }
  if (!inventory.gpus.empty()) {
    counts.push_back(Line().Add(Count(totals.processes, "process", "processes")));
  }
  if (!inventory.vfio.empty()) {
    counts.push_back(Line().Add(fmt::format("{} bound to vfio", inventory.vfio.size())));
  }
  if (totals.faulty > 0) {
    counts.push_back(Line()
                         .Add(look.glyphs().fault, Ink::kFault)
                         .Add(" ")
                         .Add(fmt::format("{} faulty", totals.faulty), Ink::kFault));
  }
  if (!inventory.problems.empty()) {
    counts.push_back(
        Line().Add(Count(inventory.problems.size(), "problem", "problems"), Ink::kWarning));
  }
  Append(Flow(Line(), counts, 3, look), lines);
  return lines;
}

void AddGpus(const model::NodeReport& report, bool details, const Look& look, Lines& lines) {
  const std::vector<model::Gpu>& gpus = report.inventory.gpus;
  const auto draw = [&](const model::Gpu& gpu, const Look& within) {
    const auto stale = report.stale.find(gpu.pci);
    return DrawGpu(gpu, stale != report.stale.end() ? &stale->second : nullptr, details, within);
  };
  if (look.width < kTwoColumns || gpus.size() < 2) {
    for (const model::Gpu& gpu : gpus) {
      Append(draw(gpu, look), lines);
      lines.emplace_back();
    }
    return;
  }
  Look half = look;
  half.width = (look.width - kColumnGap) / 2;
  for (std::size_t i = 0; i < gpus.size(); i += 2) {
    const Lines left = draw(gpus[i], half);
    const Lines right = i + 1 < gpus.size() ? draw(gpus[i + 1], half) : Lines();
    Append(Beside(left, right, half.width + kColumnGap), lines);
    lines.emplace_back();
  }
}

void AddVfio(const model::Inventory& inventory, const Look& look, Lines& lines) {
  if (inventory.vfio.empty()) return;
  lines.push_back(SectionHeading("bound to vfio: for virtual machines, not for containers", look));
  for (const model::VfioGpu& gpu : inventory.vfio) {
    Line line = Line().PadTo(kIndent).Add(gpu.pci.ToString(), Ink::kStrong);
    line.Add(
        fmt::format("  PCI id {:04x}:{:04x}", gpu.pci_device_id & 0xFFFF, gpu.pci_device_id >> 16));
    if (gpu.numa_node) line.Add(fmt::format("  NUMA {}", *gpu.numa_node));
    if (gpu.iommu_group) line.Add(fmt::format("  IOMMU group {}", *gpu.iommu_group));
    lines.push_back(std::move(line));
  }
  lines.emplace_back();
}

// "GPU 0", "MIG 1g.10gb of GPU 3"; what is not drawn by its UUID.
std::string SharedDeviceText(const model::Inventory& inventory, const std::string& uuid) {
  for (const model::Gpu& gpu : inventory.gpus) {
    std::string name =
        "GPU " + (gpu.index ? std::to_string(gpu.index->value()) : gpu.pci.ToString());
    if (gpu.uuid && gpu.uuid->value() == uuid) return name;
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        if (compute.uuid.value() == uuid) return fmt::format("MIG {} of {}", compute.name, name);
  }
  return uuid;
}

void AddMps(const model::NodeReport& report, const Look& look, Lines& lines) {
  if (report.mps.empty()) return;
  lines.push_back(SectionHeading("shared by MPS", look));
  for (const model::MpsDomain& domain : report.mps) {
    std::vector<std::string> devices;
    for (const std::string& device : domain.devices)
      devices.push_back(Clean(SharedDeviceText(report.inventory, device), look.utf8));
    Line first = Line().PadTo(kIndent).Add(base::Join(devices, ", "), Ink::kStrong).Add("  ");
    const int indent = first.width();
    const auto warn = [&](Line line, const std::string& text) {
      line.Add(look.glyphs().warning, Ink::kWarning).Add(" ");
      Append(Wrapped(line, line.width(), Clean(text, look.utf8), Ink::kPlain, look), lines);
    };
    if (domain.problem.empty()) {
      first.Add(domain.kept ? "ready, but only for pods that hold shares already" : "ready");
      lines.push_back(std::move(first));
    } else {
      warn(std::move(first), domain.problem);
    }
    if (!domain.warning.empty()) warn(Line().PadTo(indent), domain.warning);
  }
  lines.emplace_back();
}

void AddError(
    const Line& first, const base::Error& error, Ink ink, const Look& look, Lines& lines) {
  Append(Wrapped(first, first.width(), Clean(error.ToString(), look.utf8), ink, look), lines);
  for (const std::string_view hint : base::SplitLines(error.hint())) {
    Line advice = Line().PadTo(first.width());
    advice.Add(look.glyphs().advice, Ink::kStrong).Add(" ");
    Append(Wrapped(advice, advice.width(), Clean(hint, look.utf8), Ink::kPlain, look), lines);
  }
}

void AddProblems(const model::Inventory& inventory, const Look& look, Lines& lines) {
  if (inventory.problems.empty()) return;
  lines.push_back(SectionHeading("could not be read", look));
  for (const model::Problem& problem : inventory.problems) {
    Line first = Line().PadTo(kIndent).Add(look.glyphs().warning, Ink::kWarning).Add(" ");
    if (!problem.gpu.empty()) first.Add(fmt::format("GPU {}: ", problem.gpu), Ink::kStrong);
    AddError(first, problem.error, Ink::kPlain, look, lines);
  }
  lines.emplace_back();
}

void AddDeviceNodes(const model::Inventory& inventory, const Look& look, Lines& lines) {
  if (inventory.nodes.empty()) return;
  lines.push_back(SectionHeading("device nodes", look));
  std::vector<Line> pieces;
  for (const model::DeviceNode& node : inventory.nodes) {
    pieces.push_back(
        Line()
            .Add(Clean(node.path, look.utf8))
            .Add(fmt::format(" {}:{} {:04o}", node.major, node.minor, node.mode), Ink::kFaint));
  }
  Append(Flow(Line().PadTo(kIndent), pieces, 3, look), lines);
  lines.emplace_back();
}

// What the signs of this very drawing mean.
void AddLegend(const model::Inventory& inventory, const Look& look, Lines& lines) {
  const Glyphs& glyphs = look.glyphs();
  std::vector<Line> pieces;
  const auto sign = [&](std::string_view glyph, Ink ink, std::string_view meaning) {
    pieces.push_back(Line().Add(glyph, ink).Add(" ").Add(meaning, Ink::kFaint));
  };
  const auto any = [&](auto predicate) {
    return std::any_of(inventory.gpus.begin(), inventory.gpus.end(), predicate);
  };
  if (any([](const model::Gpu& gpu) { return gpu.memory.has_value(); })) {
    sign(glyphs.used, Ink::kMemory, "used");
    sign(glyphs.reserved, Ink::kReserved, "driver's own");
  }
  if (any([](const model::Gpu& gpu) { return gpu.mig && gpu.mig->enabled; })) {
    sign(glyphs.held, Ink::kHeld, "held by a process");
    sign(glyphs.idle, Ink::kIdle, "idle");
    pieces.push_back(Line().Add("cells are memory slices", Ink::kFaint));
  }
  const auto stranded = [](const SlicePiece& piece) { return piece.kind == PieceKind::kStranded; };
  if (any([&](const model::Gpu& gpu) {
        if (!gpu.mig || !gpu.mig->enabled) return false;
        const SliceLayout layout = LayOutSlices(*gpu.mig);
        return std::any_of(layout.pieces.begin(), layout.pieces.end(), stranded);
      })) {
    pieces.push_back(Line().Add("no fit").Add(": no profile can use the slice", Ink::kFaint));
  }
  Append(Flow(Line(), pieces, 3, look), lines);
}

}  // namespace

Lines DrawStatus(const model::NodeReport& report, bool details, const Look& look) {
  const model::Inventory& inventory = report.inventory;
  Lines lines = Header(report, look);
  lines.emplace_back();
  if (inventory.driver_error) {
    const Line mark = Line().Add(look.glyphs().fault, Ink::kFault).Add(" ");
    AddError(mark, *inventory.driver_error, Ink::kPlain, look, lines);
    lines.emplace_back();
  }
  AddGpus(report, details, look, lines);
  if (Lines links = DrawLinks(inventory, look); !links.empty()) {
    lines.push_back(SectionHeading("links between GPUs", look));
    Append(std::move(links), lines);
    lines.emplace_back();
  }
  AddMps(report, look, lines);
  AddVfio(inventory, look, lines);
  AddProblems(inventory, look, lines);
  if (details) AddDeviceNodes(inventory, look, lines);
  AddLegend(inventory, look, lines);
  while (!lines.empty() && lines.back().width() == 0) lines.pop_back();
  return lines;
}

}  // namespace partita::cli
