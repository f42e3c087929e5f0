#include "cli/draw/draw_details.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/quantity.h"
#include "model/words.h"

namespace partita::cli {

namespace {

// Collects "label value" pieces; absent values leave no trace.
class Facts {
 public:
  explicit Facts(bool utf8) : utf8_(utf8) {}

  void Add(std::string_view label, std::string_view value) {
    pieces_.push_back(Line().Add(label, Ink::kFaint).Add(" ").Add(Clean(value, utf8_)));
  }
  template <typename T>
  void Add(std::string_view label, const std::optional<T>& value) {
    if (value) Add(label, fmt::format("{}", *value));
  }

  [[nodiscard]] const std::vector<Line>& pieces() const { return pieces_; }

 private:
  bool utf8_;
  std::vector<Line> pieces_;
};

void AddPci(const model::Gpu& gpu, const Look& look, Facts& facts) {
  if (gpu.pci_device_id != 0) {
    facts.Add("PCI id",
              fmt::format("{:04x}:{:04x}", gpu.pci_device_id & 0xFFFF, gpu.pci_device_id >> 16));
  }
  if (gpu.pcie_generation && gpu.pcie_width) {
    std::string link =
        fmt::format("gen {} {}{}", *gpu.pcie_generation, look.glyphs().times, *gpu.pcie_width);
    if (gpu.pcie_generation_max && gpu.pcie_width_max) {
      link += fmt::format(" of gen {} {}{}", *gpu.pcie_generation_max, look.glyphs().times,
                          *gpu.pcie_width_max);
    }
    facts.Add("PCIe", link);
  }
  facts.Add("IRQ", gpu.irq);
  if (!gpu.pci_path.empty()) {
    std::string path;
    for (const model::PciAddress& bridge : gpu.pci_path) {
      path += (path.empty() ? "" : " ") + bridge.ToString();
    }
    facts.Add("behind", path);
  }
}

std::string Starts(const model::GpuInstanceProfile& profile) {
  std::string starts;
  for (const model::Placement& placement : profile.placements) {
    starts += fmt::format("{}{}", starts.empty() ? "" : ",", placement.start);
  }
  return starts.empty() ? "-" : starts;
}

std::string Minor(const std::optional<model::CapabilityMinor>& minor) {
  return minor ? fmt::format("{}", *minor) : "?";
}

}  // namespace

Lines DrawIdentity(const model::Gpu& gpu, int indent, const Look& look) {
  Facts facts(look.utf8);
  facts.Add("UUID", gpu.uuid);
  if (gpu.minor) facts.Add("node", fmt::format("/dev/nvidia{}", *gpu.minor));
  if (gpu.architecture != model::Architecture::kUnknown) {
    facts.Add("architecture", Word(gpu.architecture));
  }
  if (gpu.compute_major && gpu.compute_minor) {
    facts.Add("compute capability", fmt::format("{}.{}", *gpu.compute_major, *gpu.compute_minor));
  }
  facts.Add("cores", gpu.cores);
  facts.Add("serial", gpu.serial);
  facts.Add("part", gpu.part_number);
  facts.Add("VBIOS", gpu.vbios);
  facts.Add("module", gpu.module_id);
  if (gpu.bar1) facts.Add("BAR1", WithUnit(*gpu.bar1));
  if (gpu.virtualization_mode) {
    facts.Add("virtualization", model::VirtualizationToken(*gpu.virtualization_mode));
  }
  AddPci(gpu, look, facts);
  return Flow(Line().PadTo(indent), facts.pieces(), 2, look);
}

Lines DrawMigDevices(const model::Gpu& gpu, int indent, const Look& look) {
  if (!gpu.mig) return {};
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"MIG", "profile", "GI/CI", "caps", "UUID"}};
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      rows.push_back({compute.slot ? fmt::format("{}", *compute.slot) : "?",
                      Clean(compute.name, look.utf8), fmt::format("{}/{}", instance.id, compute.id),
                      fmt::format("{},{}", Minor(instance.access), Minor(compute.access)),
                      Clean(compute.uuid.value(), look.utf8)});
    }
  }
  if (rows.size() == 1) return {};
  std::array<int, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  Lines lines;
  for (const Row& row : rows) {
    const Ink ink = lines.empty() ? Ink::kFaint : Ink::kPlain;
    Line line = Line().PadTo(indent);
    int column = indent;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line.PadTo(column).Add(row[c], ink);
      column += widths[c] + 2;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Lines DrawProfiles(const model::Gpu& gpu, int indent, const Look& look) {
  if (!gpu.mig || gpu.mig->profiles.empty()) return {};
  std::vector<Line> pieces;
  for (const model::GpuInstanceProfile& profile : gpu.mig->profiles) {
    pieces.push_back(Line()
                         .Add(fmt::format("{}{} {}", profile.instance_count, look.glyphs().times,
                                          Clean(profile.name, look.utf8)))
                         .Add(fmt::format(" at {}", Starts(profile)), Ink::kFaint));
  }
  return Flow(Line().PadTo(indent).Add("profiles ", Ink::kFaint), pieces, 2, look);
}

}  // namespace partita::cli
