#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/value.h"
#include "cli/answer.h"
#include "cli/doctor/commands.h"
#include "cli/exit_status.h"
#include "service/toolkit/diagnose.h"

namespace partita::cli {
namespace {

using service::toolkit::Finding;
using service::toolkit::HostFacts;
using service::toolkit::HostOptions;
using service::toolkit::Level;

constexpr std::string_view kUsualPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

HostOptions ReadOptions(const base::Invocation& invocation) {
  HostOptions options;
  options.host_root = invocation.Get("host-root").value_or("/");
  options.driver_root = invocation.Get("driver-root").value_or("/");
  options.library = invocation.Get("library").value_or("");
  if (invocation.Has("spec-dir")) options.spec_directories = invocation.GetAll("spec-dir");
  if (invocation.Has("hooks-dir")) options.hook_directories = invocation.GetAll("hooks-dir");
  const char* path = std::getenv("PATH");
  // What a daemon finds counts, also where a person's own path is a short one.
  options.search_path = fmt::format("{}:{}", path == nullptr ? "" : path, kUsualPath);
  return options;
}

std::string_view MarkOf(Level level) {
  switch (level) {
    case Level::kGood: return "ok";
    case Level::kWarning: return "warning";
    case Level::kBad: return "BAD";
    case Level::kNotChecked: return "-";
  }
  return "";
}

std::string TextOf(const std::vector<Finding>& findings) {
  std::string text;
  std::size_t bad = 0, warnings = 0;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {}\n", MarkOf(finding.level), finding.what);
    if (!finding.mend.empty())
      text += fmt::format("         $ {}\n", base::Printable(finding.mend));
    if (finding.level == Level::kBad) ++bad;
    if (finding.level == Level::kWarning) ++warnings;
  }
  text += fmt::format("\n{} wrong, {} to know of\n", bad, warnings);
  return text;
}

base::Value FindingsDocument(const std::vector<Finding>& findings) {
  base::Value list = base::Value::List();
  bool healthy = true;
  for (const Finding& finding : findings) {
    base::Value row = base::Value::Map();
    row.Set("id", finding.id).Set("level", ToString(finding.level)).Set("what", finding.what);
    if (!finding.mend.empty()) row.Set("mend", finding.mend);
    list.Add(std::move(row));
    healthy = healthy && finding.level != Level::kBad;
  }
  base::Value document = base::Value::Map();
  document.Set("apiVersion", "partita.dev/doctor/v1")
      .Set("kind", "HostDiagnosis")
      .Set("healthy", healthy)
      .Set("findings", std::move(list));
  return document;
}

int StatusOf(const HostFacts& facts, const std::vector<Finding>& findings) {
  if (service::toolkit::LacksDriver(facts)) return kExitNoDriver;
  const bool bad = std::any_of(findings.begin(), findings.end(),
                               [](const Finding& finding) { return finding.level == Level::kBad; });
  return bad ? kExitError : kExitDone;
}

}  // namespace

int RunDoctor(const base::Invocation& invocation) {
  const HostFacts facts = service::toolkit::ReadHost(ReadOptions(invocation));
  const std::vector<Finding> findings = service::toolkit::Diagnose(facts);
  return PrintAnswer(invocation, FindingsDocument(findings), TextOf(findings),
                     StatusOf(facts, findings));
}

base::Command DoctorCommand() {
  return {
      .name = "doctor",
      .summary = "Say what is wrong with this host, and what mends it",
      .description =
          "Looks at the host in the order in which things depend on each other: the PCI bus, the "
          "kernel modules, device nodes, the driver's library, CDI files, the programs that run as "
          "hooks, docker, containerd and podman. For everything that is wrong it prints one "
          "command "
          "that mends it, where there is one. It changes nothing; of this machine's driver it asks "
          "whether it answers.\n\n"
          "The exit status is 1 when something is wrong, and 6 when no driver answers.",
      .options = {{.name = "spec-dir",
                   .value_name = "DIR",
                   .help = "CDI files are here, instead of /etc/cdi and /var/run/cdi",
                   .repeatable = true},
                  {.name = "hooks-dir",
                   .value_name = "DIR",
                   .help = "podman's hook files are here, instead of its two usual places",
                   .repeatable = true}},
      .examples = {{"partita doctor", "look this host over"},
                   {"partita doctor -o json", "for programs: partita.dev/doctor/v1"},
                   {"partita doctor --host-root /host --driver-root /run/nvidia/driver",
                    "from inside a container, with the driver of another"}},
      .run = RunDoctor};
}

}  // namespace partita::cli
