#include "cli/draw/draw_links.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/words.h"

namespace partita::cli {

namespace {

// One kind of connection between every two GPUs.
struct Matrix {
  std::vector<std::string> names;               // of the GPUs, in order
  std::vector<std::vector<std::string>> cells;  // [row][column]; the diagonal is not looked at
};

std::string ShortName(const model::Gpu& gpu) {
  return gpu.index ? fmt::format("{}", *gpu.index) : PciText(gpu);
}

using Pair = std::pair<model::PciAddress, model::PciAddress>;

std::map<Pair, const model::GpuLink*> ByPair(const model::Inventory& inventory) {
  std::map<Pair, const model::GpuLink*> links;
  for (const model::GpuLink& link : inventory.links) {
    links.emplace(std::minmax(link.a, link.b), &link);
  }
  return links;
}

template <typename Cell>
Matrix MakeMatrix(const model::Inventory& inventory, Cell cell) {
  Matrix matrix;
  for (const model::Gpu& a : inventory.gpus) {
    matrix.names.push_back(ShortName(a));
    std::vector<std::string>& row = matrix.cells.emplace_back();
    for (const model::Gpu& b : inventory.gpus) row.push_back(a.pci == b.pci ? "" : cell(a, b));
  }
  return matrix;
}

// The value that all pairs share, if they do.
std::optional<std::string> Uniform(const Matrix& matrix) {
  std::set<std::string> values;
  for (std::size_t r = 0; r < matrix.cells.size(); ++r) {
    for (std::size_t c = 0; c < matrix.cells.size(); ++c) {
      if (r != c) values.insert(matrix.cells[r][c]);
    }
  }
  return values.size() == 1 ? std::optional(*values.begin()) : std::nullopt;
}

Lines DrawMatrix(const Matrix& matrix, const Look& look) {
  int name_width = 1;
  for (const std::string& name : matrix.names)
    name_width = std::max(name_width, DisplayWidth(name));
  int cell = name_width;
  for (const auto& row : matrix.cells) {
    for (const std::string& text : row) cell = std::max(cell, DisplayWidth(text));
  }
  Lines lines;
  const int columns = static_cast<int>(matrix.names.size());
  if (kIndent + 4 + name_width + columns * (cell + 2) > look.width) {
    for (std::size_t r = 0; r < matrix.names.size(); ++r) {
      for (std::size_t c = r + 1; c < matrix.names.size(); ++c) {
        lines.push_back(Line().PadTo(kIndent).Add(
            fmt::format("{} to {}: {}", matrix.names[r], matrix.names[c], matrix.cells[r][c])));
      }
    }
    return lines;
  }
  Line head = Line().PadTo(kIndent + 4 + name_width);
  for (const std::string& name : matrix.names) head.Add("  ").AddRight(name, cell, Ink::kFaint);
  lines.push_back(std::move(head));
  for (std::size_t r = 0; r < matrix.names.size(); ++r) {
    Line line = Line().PadTo(kIndent).Add("GPU ", Ink::kFaint);
    line.AddRight(matrix.names[r], name_width, Ink::kFaint);
    for (std::size_t c = 0; c < matrix.names.size(); ++c) {
      line.Add("  ");
      if (r == c) {
        line.AddRight(look.glyphs().dot, cell, Ink::kFaint);
      } else {
        line.AddRight(matrix.cells[r][c], cell);
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void AddNvlink(const model::Inventory& inventory, const Look& look, Lines& lines) {
  const auto links = ByPair(inventory);
  std::map<model::PciAddress, std::uint32_t> switched;
  for (const model::SwitchLinks& s : inventory.switch_links) switched.emplace(s.gpu, s.active);
  const auto active = [&](const model::Gpu& gpu) {
    const auto found = switched.find(gpu.pci);
    return found == switched.end() ? 0U : found->second;
  };
  bool any = false;
  bool direct = false;
  const Matrix matrix = MakeMatrix(inventory, [&](const model::Gpu& a, const model::Gpu& b) {
    const auto found = links.find(std::minmax(a.pci, b.pci));
    std::uint32_t count = found == links.end() ? 0U : found->second->nvlinks;
    direct = direct || count > 0;
    // Through switches a GPU reaches a peer with as many links as the one with fewer has.
    count += std::min(active(a), active(b));
    any = any || count > 0;
    return count == 0 ? std::string("-") : fmt::format("{}", count);
  });
  if (!any) return;
  const std::string through = switched.empty() ? ""
                              : direct         ? ", some through switches"
                                               : ", through switches";
  const Line label = Line().PadTo(kIndent).Add("NVLink  ", Ink::kStrong);
  if (const std::optional<std::string> all = Uniform(matrix)) {
    Append(Wrapped(label, label.width(),
                   fmt::format("every GPU reaches every other over {} links{}", *all, through),
                   Ink::kPlain, look),
           lines);
    return;
  }
  Append(Wrapped(label, label.width(), "number of links between two GPUs" + through, Ink::kFaint,
                 look),
         lines);
  Append(DrawMatrix(matrix, look), lines);
}

void AddPcie(const model::Inventory& inventory, const Look& look, Lines& lines) {
  const auto links = ByPair(inventory);
  std::set<model::PathLevel> levels;
  const Matrix matrix = MakeMatrix(inventory, [&](const model::Gpu& a, const model::Gpu& b) {
    const auto found = links.find(std::minmax(a.pci, b.pci));
    if (found == links.end() || !found->second->path) return std::string("?");
    levels.insert(*found->second->path);
    return std::string(ShortWord(*found->second->path));
  });
  if (levels.empty()) return;
  const Line label = Line().PadTo(kIndent).Add("PCIe    ", Ink::kStrong);
  if (Uniform(matrix)) {
    Append(Wrapped(label, label.width(),
                   fmt::format("every GPU reaches every other through {}", Word(*levels.begin())),
                   Ink::kPlain, look),
           lines);
    return;
  }
  std::string legend;
  for (const model::PathLevel level : levels) {
    legend += fmt::format("{}{}: {}", legend.empty() ? "" : ", ", ShortWord(level), Word(level));
  }
  Append(Wrapped(label, label.width(), legend, Ink::kFaint, look), lines);
  Append(DrawMatrix(matrix, look), lines);
}

}  // namespace

Lines DrawLinks(const model::Inventory& inventory, const Look& look) {
  Lines lines;
  if (inventory.gpus.size() < 2) return lines;
  AddNvlink(inventory, look, lines);
  AddPcie(inventory, look, lines);
  return lines;
}

}  // namespace partita::cli
