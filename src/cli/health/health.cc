#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "base/characters.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/answer.h"
#include "cli/command_options.h"
#include "cli/draw/drawing.h"
#include "cli/draw/table.h"
#include "cli/exit_status.h"
#include "cli/health/commands.h"
#include "cli/health/look.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::Value;

// Of an agent's answer, which may be of another version.
std::string MemberText(const Value& map, std::string_view key) {
  const Value* member = map.Find(key);
  if (member == nullptr) return "";
  if (member->kind() == Value::Kind::kString) return base::Printable(member->AsString());
  return base::ToJsonLine(*member);
}

const std::vector<Value>& ItemsOf(const Value& map, std::string_view key) {
  static const std::vector<Value> none;
  const Value* member = map.Find(key);
  return member != nullptr && member->kind() == Value::Kind::kList ? member->items() : none;
}

std::string MigText(const Value& device) {
  if (device.Find("mig") == nullptr) return "";
  return fmt::format("{} {}", MemberText(device, "profile"), MemberText(device, "mig"));
}

std::string GpuText(const Value& device) {
  const std::string index = MemberText(device, "index");
  return index.empty() ? MemberText(device, "pci") : index;
}

std::vector<std::string> DeviceRow(const Value& device) {
  std::vector<std::string> row = {GpuText(device), MigText(device), MemberText(device, "state")};
  const std::vector<Value>& faults = ItemsOf(device, "faults");
  row.push_back(faults.empty() ? "" : MemberText(faults.front(), "reason"));
  row.push_back(faults.empty() ? "" : MemberText(faults.front(), "since"));
  return row;
}

// What it is and what to do, once for each fault: that of a GPU is not said again of its slices.
std::string Explain(const Value& device, const Look& look) {
  const std::string mig = MigText(device);
  std::string text;
  for (const Value& fault : ItemsOf(device, "faults")) {
    if (!mig.empty() && MemberText(fault, "scope") == "gpu") continue;
    const std::string line = fmt::format("GPU {}{}{}: {}", GpuText(device), mig.empty() ? "" : ", ",
                                         mig, MemberText(fault, "text"));
    text += base::Wrap(line, static_cast<std::size_t>(look.width), 2) + "\n";
  }
  return text;
}

std::string ExplainMps(const Value& document, const Look& look) {
  std::string text;
  for (const Value& domain : ItemsOf(document, "mps")) {
    const std::string problem = MemberText(domain, "problem");
    const std::string warning = MemberText(domain, "warning");
    for (const std::string& line :
         {problem.empty() ? "" : fmt::format("gives no shares: {}", problem), warning}) {
      if (line.empty()) continue;
      text += base::Wrap(fmt::format("MPS domain {}: {}", MemberText(domain, "name"), line),
                         static_cast<std::size_t>(look.width), 2) +
              "\n";
    }
  }
  return text;
}

std::string Draw(const Value& document, const Look& look) {
  std::vector<std::vector<std::string>> rows = {{"GPU", "MIG device", "state", "reason", "since"}};
  std::string faults;
  for (const Value& device : ItemsOf(document, "devices")) {
    rows.push_back(DeviceRow(device));
    faults += Explain(device, look);
  }
  if (rows.size() == 1) return "no GPUs\n";
  faults += ExplainMps(document, look);
  return ToString(DrawTable(rows, "lllll", 0, look), look.colour) +
         (faults.empty() ? "" : "\n" + faults);
}

bool IsUsable(const Value& document) {
  const Value* usable = document.Find("usable");
  return usable != nullptr && usable->kind() == Value::Kind::kBool && usable->AsBool();
}

base::Result<Value> ClearThroughAgent(const std::string& device) {
  base::Result<agent::control::Client> client = agent::control::Client::Connect();
  if (!client.ok()) {
    if (client.error().code() != ErrorCode::kUnavailable) return std::move(client).error();
    return base::Error(ErrorCode::kUnavailable, "no agent runs here that could clear it")
        .WithHint("start partita agent: it keeps what is wrong, and forgets it when told to");
  }
  return client->Call("health.clear", Value::Map().Set("device", device),
                      {.patience = std::chrono::seconds(5)});
}

}  // namespace

int RunHealth(const base::Invocation& invocation) {
  const base::Result<CommandOptions> options = ReadCommandOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const base::Result<Value> document = LookAtHealth(options->reader);
  if (!document.ok()) return ReportError(document.error());
  PrintAs(options->format, *document, Draw(*document, options->look));
  return IsUsable(*document) ? kExitDone : kExitNotApplied;
}

int RunHealthClear(const base::Invocation& invocation) {
  const base::Result<Value> answer = ClearThroughAgent(invocation.arguments().front());
  if (!answer.ok()) return ReportError(answer.error());
  const std::string count = MemberText(*answer, "cleared");
  return PrintAnswer(invocation, *answer,
                     count == "0"
                         ? "nothing was wrong there alone; what is wrong with all of a GPU "
                           "is cleared with the GPU (partita health)\n"
                         : fmt::format("cleared: {}; what a look still finds is there "
                                       "again (partita health)\n",
                                       count),
                     kExitDone);
}

base::Command HealthCommand() {
  return {
      .name = "health",
      .summary = "Show which GPUs and MIG devices may get work, and what is wrong",
      .description =
          "Lists every GPU and MIG device with its state (healthy, degraded, unhealthy, "
          "recovering, unmonitored), why, since when and what to do. Unhealthy and recovering "
          "ones get no work; they come back by themselves once the cause is proven gone.\n\n"
          "Where partita agent runs, it is asked. Without one, what a single look finds is shown, "
          "and what an agent has written down in this boot; errors that the driver told meanwhile "
          "are not known then.\n\n"
          "The agent also names domains of MPS that give no shares, and why, and GPUs whose "
          "compute "
          "mode could not be set for MPS or put back.\n\n"
          "The exit status is 0 when all may get work, 3 when some may not, 6 without a driver.",
      .examples = {{"partita health", "how are they?"},
                   {"partita health -o json", "for programs: partita.dev/health/v1"},
                   {"partita health clear 3", "GPU 3 was looked after: trust it again"}},
      .commands =
          {{.name = "clear",
            .summary = "Forget what was wrong with a GPU or MIG device",
            .description =
                "For errors that nothing on this machine can prove to be over, after somebody has "
                "looked. The agent forgets them and logs who said so; what a look still finds is "
                "there again at once. A GPU is meant with all its MIG devices.",
            .arguments = {{.name = "DEVICE",
                           .help = "a GPU by index, UUID or PCI address, a MIG device by UUID, or "
                                   "all"}},
            .examples = {{"partita health clear 3", "GPU 3 and everything on it"},
                         {"partita health clear MIG-2f3ab1c2", "one MIG device"},
                         {"partita health clear all", "everything"}},
            .run = RunHealthClear}},
      .run = RunHealth};
}

}  // namespace partita::cli
