#include "cli/draw/draw_gpu.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/draw_details.h"
#include "cli/draw/draw_holders.h"
#include "cli/draw/draw_slices.h"
#include "cli/draw/quantity.h"
#include "model/words.h"

namespace partita::cli {

namespace {

Lines Faults(const model::Gpu& gpu, const Look& look) {
  Lines lines;
  for (const model::Fault& fault : gpu.faults) {
    Line first = Line().PadTo(kIndent).Add(look.glyphs().fault, Ink::kFault).Add(" ");
    const int indent = first.width();
    first.Add(Word(fault.kind), Ink::kFault).Add(": ");
    Append(Wrapped(first, indent, Clean(fault.text, look.utf8), Ink::kPlain, look), lines);
  }
  return lines;
}

Lines Age(const model::Gpu& gpu, const model::StaleGpu* stale, const Look& look) {
  if (stale == nullptr) return {};
  Line first = Line().PadTo(kIndent).Add(look.glyphs().warning, Ink::kWarning).Add(" ");
  const int indent = first.width();
  std::string text = stale->seconds ? fmt::format("last answered {} ago", InAge(*stale->seconds))
                                    : "has not answered yet";
  // A fault may have said it already.
  const bool told =
      std::any_of(gpu.faults.begin(), gpu.faults.end(),
                  [&](const model::Fault& fault) { return fault.text == stale->why; });
  if (!told && !stale->why.empty()) text += ": " + Clean(stale->why, look.utf8);
  return Wrapped(first, indent, text, Ink::kWarning, look);
}

// Columns of the gauges, the same for every GPU of a drawing.
struct GaugeColumns {
  static constexpr int kMemoryText = 15, kLoadText = 4, kTemperature = 6, kPower = 11;
  int memory_bar = 0, load_bar = 0;
  bool one_line = true;

  explicit GaugeColumns(int width) {
    const int memory = kIndent + 7 + 1 + kMemoryText;
    const int load = 5 + 1 + kLoadText + 1 + kTemperature + 1 + kPower;
    one_line = memory + 2 + load + 16 <= width;
    if (one_line) {
      const int bars = width - memory - 2 - load;
      memory_bar = std::min(bars * 3 / 5, 60);
      load_bar = std::min(bars - bars * 3 / 5, 40);
    } else {
      memory_bar = std::clamp(width - memory, 8, 40);
      load_bar = std::clamp(width - kIndent - load - 2, 8, memory_bar);
    }
  }
};

Line MemoryGauge(const model::Gpu& gpu, const GaugeColumns& columns, const Glyphs& glyphs) {
  Line line = Line().Add("memory ", Ink::kFaint);
  const int end = 7 + columns.memory_bar + 1 + GaugeColumns::kMemoryText;
  if (!gpu.memory) return line.Add("unknown", Ink::kFaint).PadTo(end);
  const model::Memory& memory = *gpu.memory;
  line.Add(Bar({memory.used.value(), memory.reserved.value(), memory.total.value()},
               columns.memory_bar, Ink::kMemory, glyphs));
  return line.AddRight(UsedOfTotal(memory) + " GiB", 1 + GaugeColumns::kMemoryText);
}

Line LoadGauge(const model::Gpu& gpu, const GaugeColumns& columns, const Glyphs& glyphs) {
  Line line = Line().Add("load ", Ink::kFaint);
  const int room = columns.load_bar + 1 + GaugeColumns::kLoadText;
  if (gpu.readings.utilization) {
    const std::uint32_t percent = gpu.readings.utilization->value();
    line.Add(Bar({percent, 0, 100}, columns.load_bar, Ink::kLoad, glyphs));
    return line.AddRight(fmt::format("{}%", percent), 1 + GaugeColumns::kLoadText);
  }
  // In MIG mode the driver counts load for no GPU, slice or not: that is no failure to read.
  const bool sliced = gpu.mig && gpu.mig->enabled;
  const std::string_view text = sliced ? "n/a in MIG mode" : "unknown";
  return line.Add(Fit(text, room, glyphs), Ink::kFaint).PadTo(5 + room);
}

std::string Power(const model::Readings& readings) {
  if (!readings.power) return "";
  const std::string power = InWatts(*readings.power);
  if (!readings.power_limit) return power + " W";
  return fmt::format("{}/{} W", power, InWatts(*readings.power_limit));
}

Lines Gauges(const model::Gpu& gpu, const Look& look) {
  const model::Readings& readings = gpu.readings;
  if (!gpu.memory && !readings.utilization && !readings.temperature && !readings.power) return {};
  const GaugeColumns columns(look.width);
  const Glyphs& glyphs = look.glyphs();
  Line first = Line().PadTo(kIndent).Add(MemoryGauge(gpu, columns, glyphs));
  Line second = LoadGauge(gpu, columns, glyphs);
  std::string temperature;
  if (readings.temperature) {
    temperature = fmt::format("{} {}", *readings.temperature, glyphs.degrees);
  }
  second.AddRight(temperature, 1 + GaugeColumns::kTemperature);
  second.AddRight(Power(readings), 1 + GaugeColumns::kPower);
  if (columns.one_line) return {first.Add("  ").Add(second)};
  return {first, Line().PadTo(kIndent).Add("  ").Add(second)};
}

Line Mode(std::string_view label, std::string_view value, Ink ink = Ink::kPlain) {
  return Line().Add(label, Ink::kFaint).Add(" ").Add(value, ink);
}

// "on", or "on, off after a reset" when a change waits.
Line Switch(std::string_view label, bool now, bool pending) {
  if (now == pending) return Mode(label, now ? "on" : "off");
  return Mode(label, now ? "on, off after a reset" : "off, on after a reset", Ink::kWarning);
}

Line Clocks(const model::Readings& readings) {
  Line line;
  if (readings.sm_clock) line.Add("SM ", Ink::kFaint).Add(fmt::format("{}", *readings.sm_clock));
  if (readings.memory_clock) {
    if (line.width() > 0) line.Add(" ");
    line.Add("mem ", Ink::kFaint).Add(fmt::format("{}", *readings.memory_clock));
  }
  if (line.width() > 0) line.Add(" MHz", Ink::kFaint);
  return line;
}

Lines Modes(const model::Gpu& gpu, const Look& look) {
  std::vector<Line> modes;
  if (Line clocks = Clocks(gpu.readings); clocks.width() > 0) modes.push_back(std::move(clocks));
  if (gpu.readings.performance_state) {
    modes.push_back(Line().Add(fmt::format("P{}", *gpu.readings.performance_state)));
  }
  if (gpu.mig) modes.push_back(Switch("MIG", gpu.mig->enabled, gpu.mig->pending_enabled));
  if (gpu.ecc) modes.push_back(Switch("ECC", *gpu.ecc, gpu.ecc_pending.value_or(*gpu.ecc)));
  if (gpu.uncorrected_errors && gpu.uncorrected_errors->in_all > 0) {
    modes.push_back(Mode("uncorrected errors",
                         fmt::format("{} in all", gpu.uncorrected_errors->in_all), Ink::kWarning));
  }
  if (gpu.row_remapping && gpu.row_remapping->corrected + gpu.row_remapping->uncorrected > 0) {
    modes.push_back(
        Mode("rows remapped",
             fmt::format("{}", gpu.row_remapping->corrected + gpu.row_remapping->uncorrected),
             Ink::kWarning));
  }
  if (gpu.persistence) modes.push_back(Mode("persistence", *gpu.persistence ? "on" : "off"));
  if (gpu.compute_mode) {
    const bool usual = *gpu.compute_mode == model::ComputeMode::kDefault;
    modes.push_back(Mode("compute", Word(*gpu.compute_mode), usual ? Ink::kPlain : Ink::kWarning));
  }
  // Links idle at a lower generation to save power, but lanes do not go away by themselves.
  if (gpu.pcie_width && gpu.pcie_width_max && *gpu.pcie_width < *gpu.pcie_width_max) {
    const std::string_view times = look.glyphs().times;
    modes.push_back(Mode(
        "PCIe", fmt::format("{}{} of {}{}", times, *gpu.pcie_width, times, *gpu.pcie_width_max),
        Ink::kWarning));
  }
  return Flow(Line().PadTo(kIndent), modes, 2, look);
}

// What the driver says could still be made, largest first.
Lines Room(const model::Gpu& gpu, const Look& look) {
  if (!gpu.mig || !gpu.mig->enabled) return {};
  std::vector<const model::GpuInstanceProfile*> open;
  for (const model::GpuInstanceProfile& profile : gpu.mig->profiles) {
    if (profile.remaining.value_or(0) > 0) open.push_back(&profile);
  }
  std::stable_sort(open.begin(), open.end(), [](const auto* a, const auto* b) {
    return std::pair(a->slice_count, a->memory) > std::pair(b->slice_count, b->memory);
  });
  std::vector<Line> pieces;
  for (const model::GpuInstanceProfile* profile : open) {
    Line piece;
    if (!pieces.empty()) piece.Add("or ", Ink::kFaint);
    pieces.push_back(piece.Add(fmt::format("{}{} {}", *profile->remaining, look.glyphs().times,
                                           Clean(profile->name, look.utf8))));
  }
  return Flow(Line().PadTo(kIndent).Add("room for ", Ink::kFaint), pieces, 1, look);
}

}  // namespace

// The UUID is whole where everything fits, else its first group; the name is cut last.
Line DrawGpuHeading(const model::Gpu& gpu, const Look& look) {
  const Glyphs& glyphs = look.glyphs();
  const std::string index = gpu.index ? fmt::format("GPU {}", *gpu.index) : "GPU ?";
  const std::string name = Clean(gpu.name.empty() ? "name unknown" : gpu.name, look.utf8);
  std::string place = PciText(gpu);
  if (gpu.numa_node) place += fmt::format("  NUMA {}", *gpu.numa_node);

  // Two rules at each end, at least two between, and the spaces around them.
  const int frame = 3 + DisplayWidth(index) + 2 + 1 + 2 + 1 + DisplayWidth(place) + 3;
  const int room = look.width - frame;
  std::string uuid = gpu.uuid ? Clean(gpu.uuid->value(), look.utf8) + "  " : "";
  constexpr std::size_t kFirstGroup = 12;
  if (DisplayWidth(name) + DisplayWidth(uuid) > room && uuid.size() > kFirstGroup) {
    uuid = uuid.substr(0, kFirstGroup) + "  ";
  }
  constexpr int kReadableName = 16;
  if (kReadableName + DisplayWidth(uuid) > room) uuid.clear();

  Line line;
  const Ink ink = gpu.faults.empty() ? Ink::kStrong : Ink::kFault;
  line.Add(Repeat(glyphs.rule, 2), Ink::kFaint).Add(" ").Add(index, ink).Add("  ");
  line.Add(Fit(name, std::max(room - DisplayWidth(uuid), 8), glyphs), Ink::kStrong).Add(" ");
  const int rule = look.width - line.width() - 1 - DisplayWidth(uuid) - DisplayWidth(place) - 3;
  line.Add(Repeat(glyphs.rule, std::max(rule, 2)), Ink::kFaint).Add(" ").Add(uuid).Add(place);
  return line.Add(" ").Add(Repeat(glyphs.rule, 2), Ink::kFaint);
}

Lines DrawGpu(const model::Gpu& gpu, const model::StaleGpu* stale, bool details, const Look& look) {
  Lines lines = {DrawGpuHeading(gpu, look)};
  Append(Faults(gpu, look), lines);
  Append(Age(gpu, stale, look), lines);
  Append(Gauges(gpu, look), lines);
  Append(Modes(gpu, look), lines);
  if (details) {
    Append(DrawIdentity(gpu, kIndent, look), lines);
    Append(DrawProfiles(gpu, kIndent, look), lines);
  }
  Append(DrawSlices(gpu, kIndent, look), lines);
  Append(Room(gpu, look), lines);
  if (details) Append(DrawMigDevices(gpu, kIndent, look), lines);
  Append(DrawHolders(gpu, kIndent, look), lines);
  return lines;
}

}  // namespace partita::cli
