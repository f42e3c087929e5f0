#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/output_format.h"
#include "base/state_file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/text_edit.h"
#include "base/value.h"
#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "cli/runtime/commands.h"
#include "service/toolkit/configure.h"

namespace partita::cli {
namespace {

using service::toolkit::Carried;
using service::toolkit::ConfigureOrder;
using service::toolkit::Engine;
using service::toolkit::EnginePlan;
using service::toolkit::EngineRow;
using service::toolkit::FileChange;

// What containerd has in force, from all of its files.
base::Result<std::string> Dump(const std::string& program, const std::string& config) {
  base::Subprocess command;
  command.arguments = {program, "--config", config, "config", "dump"};
  command.limit = std::chrono::seconds(30);
  command.most_output = std::size_t{4} << 20;
  TRY(ended, base::Run(command));
  if (!ended.Succeeded() || ended.cut) {
    return base::MakeError(base::ErrorCode::kIo, "{} {}: {}", base::Join(command.arguments, " "),
                           ended.Describe(), base::Printable(base::Trim(ended.output)));
  }
  // Its log lines are on standard error, which comes together with the answer.
  std::string text;
  for (const std::string_view line : base::SplitLines(ended.output)) {
    if (!line.starts_with("time=")) text += fmt::format("{}\n", line);
  }
  if (base::Trim(text).empty()) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} says nothing",
                           base::Join(command.arguments, " "))
        .WithHint("is it containerd that --executable-path names?");
  }
  return text;
}

struct ConfigureWish {
  Engine engine = Engine::kDocker;
  ConfigureOrder order;
  base::OutputFormat format = base::OutputFormat::kText;
  bool dry_run = false;
};

base::Result<ConfigureWish> ReadConfigureWish(const base::Invocation& invocation) {
  ConfigureWish wish;
  TRY(format, base::ParseOutputFormat(invocation.Get("output").value_or("text")));
  TRY(engine, service::toolkit::ParseEngine(invocation.Get("runtime").value_or("docker")));
  const EngineRow& row = service::toolkit::RowOf(engine);
  wish.engine = engine;
  wish.format = format;
  wish.dry_run = invocation.Has("dry-run");
  wish.order = {
      .runtime_name = invocation.Get("runtime-name").value_or("nvidia"),
      .runtime_path = invocation.Get("runtime-path").value_or(std::string(row.runtime_path)),
      .set_as_default = invocation.Has("set-as-default"),
      .enable_cdi = invocation.Has("enable-cdi"),
      .undo = invocation.Has("undo"),
      .config = invocation.Get("config").value_or(std::string(row.config)),
      .drop_in = invocation.Get("drop-in-config").value_or(std::string(row.drop_in))};
  if (invocation.Get("config-source").value_or("file") == "command") {
    if (engine != Engine::kContainerd)
      return base::Error(base::ErrorCode::kInvalid, "only containerd can be asked by a command")
          .WithHint("leave --config-source out");
    TRY(dump, Dump(invocation.Get("executable-path").value_or("containerd"), wish.order.config));
    wish.order.dump = std::move(dump);
  }
  return wish;
}

std::string_view WordFor(const FileChange& change) {
  if (!change.before) return "created";
  return change.after ? "edited" : "removed";
}

base::Value ConfiguredDocument(const ConfigureWish& wish,
                               const EnginePlan& plan,
                               const std::vector<Carried>& carried) {
  base::Value files = base::Value::List();
  for (std::size_t i = 0; i < plan.changes.size(); ++i) {
    const FileChange& change = plan.changes[i];
    base::Value file = base::Value::Map();
    file.Set("path", change.path).Set("change", WordFor(change));
    if (i < carried.size() && !carried[i].backup.empty()) file.Set("backup", carried[i].backup);
    file.Set("diff",
             base::UnifiedDiff(change.before.value_or(""), change.after.value_or(""), change.path));
    files.Add(std::move(file));
  }
  base::Value notes = base::Value::List();
  for (const std::string& note : plan.notes) notes.Add(note);
  const EngineRow& row = service::toolkit::RowOf(wish.engine);
  base::Value document = base::Value::Map();
  document.Set("apiVersion", "partita.dev/runtime/v1")
      .Set("kind", "RuntimeConfiguration")
      .Set("engine", row.name)
      .Set("done", !wish.dry_run)
      .Set("files", std::move(files))
      .Set("notes", std::move(notes));
  if (!row.restart.empty() && !plan.changes.empty()) document.Set("restart", row.restart);
  return document;
}

std::string DryRunText(const EnginePlan& plan) {
  std::string text;
  for (const FileChange& change : plan.changes)
    text += base::UnifiedDiff(change.before.value_or(""), change.after.value_or(""), change.path);
  return text.empty() ? "nothing to change\n" : text;
}

std::string DoneText(const ConfigureWish& wish, const std::vector<Carried>& carried) {
  if (carried.empty()) return "nothing to change\n";
  std::string text;
  for (const Carried& each : carried) {
    text += fmt::format("{}: {}", each.change.path, WordFor(each.change));
    if (!each.backup.empty()) text += fmt::format("; as it was: {}", each.backup);
    text += '\n';
  }
  const std::string_view restart = service::toolkit::RowOf(wish.engine).restart;
  if (!restart.empty()) text += fmt::format("it is in force after: {}\n", restart);
  return text;
}

void PrintConfigured(const ConfigureWish& wish,
                     const EnginePlan& plan,
                     const std::vector<Carried>& carried) {
  PrintAs(wish.format, ConfiguredDocument(wish, plan, carried),
          wish.dry_run ? DryRunText(plan) : DoneText(wish, carried));
  if (wish.format != base::OutputFormat::kText) return;
  for (const std::string& note : plan.notes) Warn(note);
}

}  // namespace

int RunRuntimeConfigure(const base::Invocation& invocation) {
  const base::Result<ConfigureWish> wish = ReadConfigureWish(invocation);
  if (!wish.ok()) return ReportError(wish.error());
  const std::string state = base::StateDirectory();
  const base::Result<EnginePlan> plan =
      service::toolkit::PlanEngine(wish->engine, wish->order, state);
  if (!plan.ok()) return ReportError(plan.error());
  std::vector<Carried> carried;
  if (!wish->dry_run && !plan->changes.empty()) {
    base::Result<std::vector<Carried>> done =
        service::toolkit::CarryOut(plan->changes, wish->order, state);
    if (!done.ok()) return ReportError(done.error());
    carried = *std::move(done);
  }
  PrintConfigured(*wish, *plan, carried);
  return kExitDone;
}

base::Command RuntimeCommand() {
  base::Command configure = {
      .name = "configure",
      .summary = "Tell docker, containerd or podman of NVIDIA's runtime",
      .description =
          "Adds the runtime to the engine's configuration: to daemon.json of docker; for "
          "containerd "
          "to a drop-in file, which the main file then imports (a file of version 1 is edited in "
          "place); for podman as the file of a hook. Nothing else in those files changes, not even "
          "comments and blanks, and a second time changes nothing.\n\n"
          "What was there is kept as FILE.bak-N. With --undo a file that nobody touched since "
          "becomes byte for byte what it was; in one that was edited, our entries become what they "
          "were. A default runtime that was set stays until then. "
          "With --dry-run the differences are printed and nothing is written. The engine is never "
          "restarted; the command for that is printed.\n\n"
          "containerd before 2.1 takes the table of a plugin from the last file that has it, so "
          "the drop-in has all of it: run the command again after editing the table in the main "
          "file. Where other files are imported too, or the main file is made from a template, "
          "--config-source command takes what containerd itself says.",
      .options = {{.name = "runtime",
                   .value_name = "ENGINE",
                   .help = "docker, containerd or podman",
                   .suggestions = service::toolkit::EngineNames(),
                   .default_value = "docker"},
                  {.name = "config",
                   .value_name = "FILE",
                   .help = "the engine's file, where it is not in its usual place"},
                  {.name = "drop-in-config",
                   .value_name = "FILE",
                   .help = "containerd's drop-in file"},
                  {.name = "config-source",
                   .value_name = "SOURCE",
                   .help = "where containerd's tables are taken from: its file, or the command "
                           "containerd config dump",
                   .choices = {"file", "command"},
                   .default_value = "file"},
                  {.name = "executable-path",
                   .value_name = "FILE",
                   .help = "the containerd to ask, where there are several"},
                  {.name = "runtime-name",
                   .value_name = "NAME",
                   .help = "what the engine calls the runtime",
                   .default_value = "nvidia"},
                  {.name = "runtime-path",
                   .value_name = "FILE",
                   .help = "the runtime's program; for podman the hook's"},
                  {.name = "set-as-default", .help = "containers that name no runtime get it too"},
                  {.name = "enable-cdi", .help = "also switch CDI on in the engine"},
                  {.name = "dry-run", .help = "show what would change, and change nothing"},
                  {.name = "undo", .help = "take it back"}},
      .examples = {{"partita runtime configure --runtime docker --dry-run", "as a diff"},
                   {"partita runtime configure --runtime containerd --set-as-default",
                    "for pods that name no runtime class"},
                   {"partita runtime configure --runtime containerd --undo", "as it was before"}},
      .run = RunRuntimeConfigure};
  return {
      .name = "runtime",
      .summary = "Set container engines and NVIDIA's runtime up",
      .examples = {{"partita runtime configure --runtime docker", "docker run --runtime nvidia"}},
      .commands = {std::move(configure), RuntimeConfigCommand()}};
}

}  // namespace partita::cli
