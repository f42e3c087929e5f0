#include "cli/ctk/usage.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cli {
namespace {

struct Row {
  std::string left, right;
};

std::string Section(std::string_view title, const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.left.size());
  std::string text = fmt::format("\n{}:\n", title);
  for (const Row& row : rows) {
    text += row.right.empty() ? fmt::format("  {}\n", row.left)
                              : fmt::format("  {:<{}}  {}\n", row.left, width, row.right);
  }
  return text;
}

std::string Dashed(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name);
}

std::string NoteOf(const CtkFlag& flag) {
  switch (flag.use) {
    case CtkUse::kNoEffect: return "no effect here";
    case CtkUse::kRefused: return "not here";
    case CtkUse::kValues: return "may be repeated";
    case CtkUse::kValue:
    case CtkUse::kSwitch: break;
  }
  return "";
}

// Names of one flag stand on one line, whatever it is called here.
std::vector<Row> FlagRows(std::span<const CtkFlag> flags) {
  std::vector<Row> rows;
  std::string_view before;
  for (const CtkFlag& flag : flags) {
    if (!flag.ours.empty() && flag.ours == before) {
      const std::size_t value = rows.back().left.rfind(" VALUE");
      rows.back().left.insert(std::min(value, rows.back().left.size()), ", " + Dashed(flag.name));
      continue;
    }
    before = flag.ours;
    std::vector<std::string> notes;
    if (const std::string note = NoteOf(flag); !note.empty()) notes.push_back(note);
    if (flag.variable != nullptr) notes.push_back(fmt::format("${}", flag.variable));
    rows.push_back({Dashed(flag.name) + (flag.use == CtkUse::kSwitch ? "" : " VALUE"),
                    base::Join(notes, ", ")});
  }
  return rows;
}

std::string NameOf(const CtkCommand& command) {
  return command.verb.empty() ? std::string(command.group)
                              : fmt::format("{} {}", command.group, command.verb);
}

std::vector<Row> CommandRows(std::string_view group) {
  std::vector<Row> rows;
  for (const CtkCommand& command : CtkCommands()) {
    if (group.empty() || command.group == group)
      rows.push_back({NameOf(command), std::string(command.summary)});
  }
  if (group.empty()) rows.push_back({"hook", "What CDI specifications call in containers"});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.left < b.left; });
  return rows;
}

std::vector<Row> MissingRows(std::string_view group) {
  std::vector<Row> rows;
  for (const CtkMissing& each : CtkMissingCommands()) {
    if (group.empty() || each.command.starts_with(fmt::format("{} ", group)))
      rows.push_back({std::string(each.command), std::string(each.instead)});
  }
  return rows;
}

}  // namespace

std::string CtkUsage() {
  std::string text = "nvidia-ctk: NVIDIA's container toolkit by partita\n";
  text += "\nUsage: nvidia-ctk [OPTIONS] COMMAND [OPTIONS]\n";
  text += Section("Commands", CommandRows(""));
  text += Section("Not here", MissingRows(""));
  std::vector<Row> options = FlagRows(CtkGlobalFlags());
  options.push_back({"--help, -h", "also behind a command"});
  options.push_back({"--version, -v", ""});
  return text + Section("Options", options);
}

std::string CtkUsage(std::string_view group) {
  std::string text = fmt::format("Usage: nvidia-ctk {} COMMAND [OPTIONS]\n", group);
  const std::vector<Row> commands = CommandRows(group);
  if (!commands.empty()) text += Section("Commands", commands);
  const std::vector<Row> missing = MissingRows(group);
  if (!missing.empty()) text += Section("Not here", missing);
  return text;
}

std::string CtkUsage(const CtkCommand& command) {
  return fmt::format("nvidia-ctk {0}: {1}\n\nUsage: nvidia-ctk {0} [OPTIONS]\n", NameOf(command),
                     command.summary) +
         Section("Options", FlagRows(command.flags)) +
         fmt::format("\nIt is partita {}: partita help {} says what each does.\n", command.ours,
                     command.ours.substr(0, command.ours.find(" --")));
}

}  // namespace partita::cli
