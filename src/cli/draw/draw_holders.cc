#include "cli/draw/draw_holders.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/quantity.h"
#include "model/holder.h"
#include "model/unread.h"
#include "model/words.h"

namespace partita::cli {

namespace {

struct Entry {
  std::string pid, name, memory, place, owner;
};

std::string ProcessName(const model::Process& process, bool utf8) {
  if (process.name.empty()) return "(name unknown)";
  std::string_view name = process.name;
  // The directory of a program says less than its name, and is what would not fit.
  const std::size_t slash = name.substr(0, name.find(' ')).rfind('/');
  if (slash != std::string_view::npos && slash + 1 < name.size()) name.remove_prefix(slash + 1);
  std::string clean = Clean(name, utf8);
  if (process.kind != model::ProcessKind::kCompute) {
    clean += fmt::format(" ({})", Word(process.kind));
  }
  return clean;
}

Entry EntryOf(const model::Process& process, bool utf8) {
  Entry entry;
  entry.pid = fmt::format("{}", process.pid);
  entry.name = ProcessName(process, utf8);
  entry.memory = process.memory ? WithUnit(*process.memory) : "memory ?";
  if (process.gpu_instance) entry.place = fmt::format("GI {}", *process.gpu_instance);
  if (process.compute_instance) entry.place += fmt::format("/CI {}", *process.compute_instance);
  if (process.container) entry.owner = Clean(model::ContainerText(*process.container), utf8);
  return entry;
}

int Widest(const std::vector<Entry>& entries, std::string Entry::*member) {
  int width = 0;
  for (const Entry& entry : entries) width = std::max(width, DisplayWidth(entry.*member));
  return width;
}

// How wide each part of an entry is, and how many entries stand side by side.
struct EntryColumns {
  int pid = 0, name = 0, memory = 0, place = 0, owner = 0;
  int around = 0;  // all but the name
  int count = 1;
  bool owner_below = false;
};
constexpr int kGap = 3;

EntryColumns Arrange(const std::vector<Entry>& entries, int space) {
  constexpr int kReadableName = 12, kLongestName = 48;
  EntryColumns columns;
  columns.pid = Widest(entries, &Entry::pid);
  columns.memory = Widest(entries, &Entry::memory);
  columns.place = Widest(entries, &Entry::place);
  columns.owner = Widest(entries, &Entry::owner);
  const int longest = std::min(Widest(entries, &Entry::name), kLongestName);
  const int readable = std::min(longest, kReadableName);
  // Marker, pid, name, memory and place with the spaces between them.
  columns.around =
      2 + columns.pid + 1 + 2 + columns.memory + (columns.place > 0 ? 2 + columns.place : 0);
  const int owner = columns.owner > 0 ? 2 + columns.owner : 0;
  columns.owner_below = columns.around + readable + owner > space;
  if (!columns.owner_below) columns.around += owner;
  const int fitting = (space + kGap) / (columns.around + readable + kGap);
  columns.count =
      columns.owner_below ? 1 : std::clamp(fitting, 1, static_cast<int>(entries.size()));
  columns.name = std::min((space + kGap) / columns.count - kGap - columns.around, longest);
  return columns;
}

void AddEntry(
    const Entry& entry, int begin, const EntryColumns& columns, const Look& look, Line& line) {
  const int behind_name = begin + 2 + columns.pid + 1 + columns.name;
  line.PadTo(begin).Add(look.glyphs().held, Ink::kHeld).Add(" ");
  line.AddRight(entry.pid, columns.pid).Add(" ");
  line.Add(Fit(entry.name, columns.name, look.glyphs()), Ink::kStrong);
  line.PadTo(behind_name + 2).AddRight(entry.memory, columns.memory);
  if (columns.place > 0) line.Add("  ").Add(entry.place);
  if (columns.owner == 0 || columns.owner_below) return;
  line.PadTo(begin + columns.around + columns.name - columns.owner).Add(entry.owner);
}

// Those without a pid: who hides, and that there may be more.
Lines DrawUnnamed(const model::Gpu& gpu, int indent, const Look& look) {
  Lines lines;
  const auto say = [&](std::string_view mark, Ink ink, const std::string& text) {
    const Line first = Line().PadTo(indent).Add(mark, ink).Add(" ");
    Append(Wrapped(first, first.width(), Clean(text, look.utf8), Ink::kPlain, look), lines);
  };
  for (const model::HiddenHolder& holder : gpu.hidden_holders)
    say(look.glyphs().held, Ink::kHeld, model::HolderText(holder));
  if (!gpu.hidden_holders.empty())
    say(look.glyphs().advice, Ink::kStrong, model::kHiddenHolderHint);
  if (const auto why = model::WhyHoldersUnknown(gpu)) {
    say(look.glyphs().warning, Ink::kWarning, why->ToString());
    if (!why->hint().empty()) say(look.glyphs().advice, Ink::kStrong, why->hint());
  }
  return lines;
}

}  // namespace

Lines DrawHolders(const model::Gpu& gpu, int indent, const Look& look) {
  std::vector<Entry> entries;
  for (const model::Process& process : gpu.processes) {
    entries.push_back(EntryOf(process, look.utf8));
  }
  Lines unnamed = DrawUnnamed(gpu, indent, look);
  if (entries.empty()) return unnamed;
  const EntryColumns columns = Arrange(entries, look.width - indent);
  Lines lines;
  Line line;
  int column = 0;
  for (const Entry& entry : entries) {
    if (column == columns.count) {
      lines.push_back(std::exchange(line, Line()));
      column = 0;
    }
    const int begin = indent + column * (columns.around + columns.name + kGap);
    AddEntry(entry, begin, columns, look, line);
    if (columns.owner_below && !entry.owner.empty()) {
      lines.push_back(std::exchange(line, Line()));
      const int below = indent + 2 + columns.pid + 1;
      line.PadTo(below).Add(FitEnd(entry.owner, look.width - below, look.glyphs()));
    }
    ++column;
  }
  lines.push_back(std::move(line));
  Append(std::move(unnamed), lines);
  return lines;
}

}  // namespace partita::cli
