#include "service/mig/gpu_clients.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

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

base::Result<base::SubprocessResult> Systemctl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "systemctl");
  base::Subprocess program;
  program.arguments = std::move(arguments);
  program.limit = kLimit;
  return base::Run(program);
}

base::Result<void> Do(const std::vector<std::string>& arguments) {
  TRY(result, Systemctl(arguments));
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
    }
  }
  TRY_VOID(problems.ToResult());
  std::erase(units, "partita-mig.service");
  std::erase(units, "nvidia-mig-manager.service");
  return units;
}

base::Result<void> GpuClients::Stop() {
  if (options_.units.empty() || !UnderSystemd()) return {};
  TRY(running, Running(options_.units));
  if (running.empty()) return {};
  TRY_VOID(base::MakeDirectories(options_.directory, 0755));
  TRY_VOID(base::WriteFileAtomically(Journal(), base::Join(running, "\n") + "\n", 0644));
  for (auto unit = running.rbegin(); unit != running.rend(); ++unit) TRY_VOID(Do({"stop", *unit}));
  return {};
}

base::Result<std::vector<std::string>> GpuClients::Start() {
  std::vector<std::string> units;
  if (!base::Exists(Journal())) return units;
  TRY(text, base::ReadFile(Journal()));
  for (const std::string_view unit : base::SplitWords(text)) units.emplace_back(unit);
  for (const std::string& unit : units) TRY_VOID(Do({"--no-block", "start", unit}));
  TRY_VOID(base::RemoveTree(Journal()));
  return units;
}

}  // namespace partita::service::mig
