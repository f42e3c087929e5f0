#include "cli/draw_holders.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/quantity.h"
#include "cli/words.h"

namespace partita::cli {

namespace {

struct Entry {
  std::string pid, name, memory, place;
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

Entry Describe(const model::Process& process, bool utf8) {
  Entry entry;
  entry.pid = fmt::format("{}", process.pid);
  entry.name = ProcessName(process, utf8);
  entry.memory = process.memory ? WithUnit(*process.memory) : "memory ?";
  if (process.gpu_instance) entry.place = fmt::format("GI {}", *process.gpu_instance);
  if (process.compute_instance) entry.place += fmt::format("/CI {}", *process.compute_instance);
  return entry;
}

int Widest(const std::vector<Entry>& entries, std::string Entry::*member) {
  int width = 0;
  for (const Entry& entry : entries) width = std::max(width, DisplayWidth(entry.*member));
  return width;
}

}  // namespace

Lines DrawHolders(const model::Gpu& gpu, int indent, const Look& look) {
  std::vector<Entry> entries;
  for (const model::Process& process : gpu.processes) {
    entries.push_back(Describe(process, look.utf8));
  }
  if (entries.empty()) return {};
  constexpr int kReadableName = 12, kLongestName = 48, kGap = 3;
  const int pid = Widest(entries, &Entry::pid);
  const int memory = Widest(entries, &Entry::memory);
  const int place = Widest(entries, &Entry::place);
  const int longest = std::min(Widest(entries, &Entry::name), kLongestName);
  // Marker, pid, name, memory and place with the spaces between them.
  const int around = 2 + pid + 1 + 2 + memory + (place > 0 ? 2 + place : 0);
  const int space = look.width - indent;
  const int fitting = (space + kGap) / (around + std::min(longest, kReadableName) + kGap);
  const int columns = std::clamp(fitting, 1, static_cast<int>(entries.size()));
  const int name = std::min((space + kGap) / columns - kGap - around, longest);

  Lines lines;
  Line line;
  int column = 0;
  for (const Entry& entry : entries) {
    if (column == columns) {
      lines.push_back(std::exchange(line, Line()));
      column = 0;
    }
    const int begin = indent + column * (around + name + kGap);
    line.PadTo(begin).Add(look.glyphs().held, Ink::kHeld).Add(" ").AddRight(entry.pid, pid);
    line.Add(" ").Add(Fit(entry.name, name, look.glyphs()), Ink::kStrong);
    line.PadTo(begin + 2 + pid + 1 + name + 2).AddRight(entry.memory, memory);
    if (place > 0) line.Add("  ").Add(entry.place);
    ++column;
  }
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace partita::cli
