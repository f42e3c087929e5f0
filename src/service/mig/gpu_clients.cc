#include "service/mig/gpu_clients.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"

namespace partita::service::mig {

namespace {

// Longer than a unit's own limit for stopping, and shorter than what a boot unit may take.
constexpr std::chrono::milliseconds kLimit{120'000};

base::Result<base::SubprocessResult> Systemctl(std::vector<std::string> arguments,
                                               const std::atomic<bool>* stop = nullptr) {
  arguments.insert(arguments.begin(), "systemctl");
  base::Subprocess program;
  program.arguments = std::move(arguments);
  program.limit = kLimit;
  program.stop = stop;
  return base::Run(program);
}

base::Result<void> Do(const std::vector<std::string>& arguments,
                      const std::atomic<bool>* stop = nullptr) {
  TRY(result, Systemctl(arguments, stop));
  if (result.Succeeded()) return {};
  return base::MakeError(base::ErrorCode::kIo, "systemctl {} {}: {}", base::Join(arguments, " "),
                         result.Describe(), base::Trim(result.output))
      .WithHint("systemctl status tells more");
}

// systemd's own test of whether it runs this machine.
bool UnderSystemd() { return base::Exists("/run/systemd/system"); }

base::Result<std::vector<std::string>> Running(const std::vector<std::string>& units) {
  std::vector<std::string> arguments = units;
  arguments.insert(arguments.begin(), "is-active");
  // A line for each unit; the status says only whether one of them is active.
  TRY(result, Systemctl(arguments));
  const std::vector<std::string_view> states = base::SplitLines(base::Trim(result.output));
  if (states.size() != units.size()) {
    return base::MakeError(base::ErrorCode::kIo, "systemctl is-active: {}",
                           base::Trim(result.output));
  }
  std::vector<std::string> running;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (states[i] == "active" || states[i] == "activating" || states[i] == "reloading") {
      running.push_back(units[i]);
    }
  }
  return running;
}

// The journal has one unit a line, and systemctl takes what begins with a dash for an option.
void CheckUnit(const config::Node& unit, config::Problems& problems) {
  if (!unit.IsScalar()) return;
  const char* what = base::HasUnprintable(unit.text) ? "holds a control character"
                     : unit.text.starts_with('-')    ? "is no unit"
                                                     : nullptr;
  if (what == nullptr) return;
  problems.Add(unit, fmt::format("{} {}", base::Quoted(unit.text), what),
               "write the name of one unit");
}

}  // namespace

base::Result<std::vector<std::string>> LoadGpuClients(const std::string& path) {
  TRY(document, config::Document::Load(path));
  config::Problems problems(document);
  std::vector<std::string> units;
  const config::Node& root = document.root();
  if (config::ExpectMap(root, problems, "the file of GPU clients")) {
    if (const config::Node* version = config::Require(root, "version", problems);
        version != nullptr && version->text != "v1") {
      problems.Add(*version, fmt::format("unknown version {}", base::Quoted(version->text)),
                   "only v1 exists");
    }
    const config::Node* list = config::Require(root, "systemd-services", problems);
    if (list != nullptr && config::ExpectList(*list, problems, "systemd-services")) {
      units = config::ReadStrings(*list, problems);
      for (const config::Node& unit : list->items) CheckUnit(unit, problems);
    }
  }
  TRY_VOID(problems.ToResult());
  std::erase(units, "partita-mig.service");
  std::erase(units, "nvidia-mig-manager.service");
  return units;
}

base::Result<std::vector<std::string>> GpuClients::ReadJournal() const {
  std::vector<std::string> units;
  if (!base::Exists(Journal())) return units;
  TRY(text, base::ReadFile(Journal()));
  for (const std::string_view line : base::SplitLines(text)) {
    if (!base::Trim(line).empty()) units.emplace_back(base::Trim(line));
  }
  return units;
}

base::Result<void> GpuClients::WriteJournal(const std::vector<std::string>& units) const {
  if (units.empty()) return base::RemoveTree(Journal());
  TRY_VOID(base::MakeDirectories(options_.directory, 0755));
  return base::WriteFileAtomically(Journal(), base::Join(units, "\n") + "\n", 0644);
}

base::Result<void> GpuClients::Stop() {
  if (options_.units.empty() || !UnderSystemd()) return {};
  TRY(running, Running(options_.units));
  if (running.empty()) return {};
  // What an earlier run stopped and could not start is still to be started.
  TRY(journal, ReadJournal());
  for (const std::string& unit : running) {
    if (std::find(journal.begin(), journal.end(), unit) == journal.end()) journal.push_back(unit);
  }
  TRY_VOID(WriteJournal(journal));
  for (auto unit = running.rbegin(); unit != running.rend(); ++unit) {
    TRY_VOID(Do({"stop", *unit}, options_.stop));
  }
  return {};
}

base::Result<StartedClients> GpuClients::Start() {
  StartedClients started;
  TRY(units, ReadJournal());
  if (units.empty()) return started;
  std::vector<std::string> left;
  for (const std::string& unit : units) {
    const base::Result<void> done = Do({"--no-block", "start", unit});
    if (done.ok()) {
      started.units.push_back(unit);
      continue;
    }
    left.push_back(unit);
    started.failures.push_back(fmt::format("{} ({}; {} names it until it starts)",
                                           done.error().ToString(), done.error().hint(),
                                           Journal()));
  }
  TRY_VOID(WriteJournal(left));
  return started;
}

}  // namespace partita::service::mig
