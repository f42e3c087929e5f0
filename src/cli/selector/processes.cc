#include "cli/selector/processes.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace partita::cli {
namespace {

std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<StartedProcess> ReadProcesses(const std::string& proc) {
  std::vector<StartedProcess> processes;
  const base::Result<std::vector<std::string>> names = base::ListDirectory(proc);
  if (!names.ok()) return processes;
  for (const std::string& name : *names) {
    const std::optional<std::uint64_t> pid = base::ParseUnsigned(name);
    if (!pid) continue;
    const base::Result<std::string> words = base::ReadFile(proc + "/" + name + "/cmdline");
    if (!words.ok()) continue;  // it has ended
    processes.push_back({static_cast<pid_t>(*pid), words->substr(0, words->find('\0'))});
  }
  std::sort(processes.begin(), processes.end(),
            [](const StartedProcess& a, const StartedProcess& b) { return a.pid < b.pid; });
  return processes;
}

std::optional<pid_t> FindProcess(std::span<const StartedProcess> processes, std::string_view name) {
  if (LastName(name).empty()) return std::nullopt;
  for (const StartedProcess& each : processes)
    if (each.first_word == name) return each.pid;
  for (const StartedProcess& each : processes)
    if (LastName(each.first_word) == LastName(name)) return each.pid;
  return std::nullopt;
}

}  // namespace partita::cli
