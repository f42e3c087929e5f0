#include "cli/mig_parted.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/mig_change.h"
#include "cli/mig_checkpoint.h"
#include "cli/mig_compare.h"
#include "cli/mig_export.h"
#include "cli/mig_memory.h"
#include "cli/mig_request.h"
#include "cli/mig_validate.h"
#include "cli/mig_without_driver.h"
#include "config/mig_config.h"
#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "service/mig/apply.h"
#include "service/mig/lock.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using base::Command;
using base::Error;
using base::ErrorCode;
using base::Invocation;
using base::Option;
using base::Result;

// What failed, and the status that partita would end with.
struct Failure {
  std::string message;
  int status = kExitError;
  bool usage = false;  // the command's help is shown as well
};
// Nothing: done.
using Outcome = std::optional<Failure>;

Failure Fail(const Error& error, int status = kExitError) {
  std::string text = error.ToString();
  if (!error.hint().empty()) text += fmt::format(": {}", error.hint());
  return {std::move(text), status};
}

Failure MissingFlag(std::string_view flag) {
  return {fmt::format("missing required flags '{}'", flag), kExitInvalidInput, true};
}

// As the reference's logger writes it: short for a person, fields for a file.
void PrintFatal(std::string message) {
  if (!message.empty()) {
    message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  }
  if (isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "FATA[0000] %s\n", message.c_str());
    return;
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> when{};
  std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(stderr, "time=\"%s\" level=fatal msg=%s\n", when.data(),
               base::JsonString(message).c_str());
}

bool Extended(const Invocation& invocation) {
  return invocation.Get("exit-codes").value_or("") == "extended";
}

// Ends a command: the result line on standard output, or the reason on standard error.
int Finish(const Invocation& invocation, const Outcome& failure, std::string_view done) {
  if (!failure) {
    if (!done.empty()) fmt::print("{}\n", done);
    return kExitDone;
  }
  if (failure->usage) {
    std::fputs(base::HelpText(MakeMigPartedProgram(), invocation.path()).c_str(), stdout);
  }
  PrintFatal(failure->message);
  return Extended(invocation) ? failure->status : kExitError;
}

hw::ReaderOptions Reading() {
  hw::ReaderOptions options;
  options.readings = false;
  return options;
}

struct Selected {
  config::MigConfigFile file;
  const config::MigConfig* config = nullptr;  // inside file
};

// Fills `selected`, which must not move afterwards.
Outcome LoadSelected(const Invocation& invocation, std::optional<Selected>& selected) {
  const std::optional<std::string> path = invocation.Get("config-file");
  if (!path) return MissingFlag("config-file");
  Result<config::MigConfigFile> file = LoadMigConfig(*path);
  if (!file.ok()) {
    Failure failure = Fail(file.error(), kExitInvalidInput);
    failure.message = "error parsing config file: " + failure.message;
    return failure;
  }
  selected.emplace(Selected{*std::move(file)});
  const std::string name = invocation.Get("selected-config").value_or("");
  const std::vector<config::MigConfig>& configs = selected->file.configs();
  if (name.empty() && configs.size() != 1) {
    return Failure{
        "error selecting MIG config: missing required flag 'selected-config' when more "
        "than one config available",
        kExitInvalidInput};
  }
  const Result<const config::MigConfig*> config = selected->file.Select(name);
  if (!config.ok()) {
    return Failure{
        fmt::format("error selecting MIG config: selected mig-config not present: {}", name),
        kExitInvalidInput};
  }
  selected->config = *config;
  return std::nullopt;
}

Outcome ReadNode(hw::InventoryReader& reader, model::Inventory& node) {
  node = reader.Read();
  if (node.driver) return std::nullopt;
  const Error none(ErrorCode::kUnavailable, "no driver answers on this machine");
  return Fail(node.driver_error.value_or(none), kExitNoDriver);
}

// One change, from the first hook to the last.
class Change {
 public:
  // `modes`: the goal of a look without a driver; empty where there can be none.
  Change(const Invocation& invocation,
         service::mig::NodeGoalFn goal,
         service::mig::NodeGoalFn modes,
         HookRunner hooks)
      : invocation_(invocation),
        goal_(std::move(goal)),
        modes_(std::move(modes)),
        hooks_(std::move(hooks)),
        reader_(Reading()),
        control_(Reading()) {}

  Outcome Run() {
    StopOnSignals();
    const Result<service::mig::ChangeLock> lock = service::mig::ChangeLock::Acquire(
        {.command = std::string(kMigPartedName), .wait = true, .stop = &StopFlag()});
    if (!lock.ok()) return Fail(lock.error(), kExitBlocked);
    if (const Result<void> hook = hooks_.Run("apply-start"); !hook.ok()) return Fail(hook.error());
    Outcome outcome = Middle();
    Release();
    // It undoes what apply-start did: it runs whatever happened, and hides no earlier failure.
    if (const Result<void> hook = hooks_.Run("apply-exit"); !hook.ok() && !outcome) {
      outcome = Fail(hook.error());
    }
    return outcome;
  }

 private:
  Outcome Middle() {
    if (Outcome failure = Step(true, "pre-apply-mode")) return failure;
    if (invocation_.Has("mode-only")) return std::nullopt;
    return Step(false, "pre-apply-config");
  }

  // Modes, or everything; the hook runs only when there is something to change.
  Outcome Step(bool modes, std::string_view hook_point) {
    model::Inventory node;
    Outcome unread = ReadNode(reader_, node);
    if (unread && modes && modes_ && NeedsPci(Reading(), node)) return StepThroughPci(hook_point);
    if (unread) return unread;
    const Result<service::mig::NodeGoal> goal = goal_(node);
    if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
    if (Differences(node, *goal, modes).empty() && (modes || AtTheirPlaces(node, *goal))) {
      return std::nullopt;
    }
    Release();  // programs that hooks stop or start may need the GPUs for themselves
    if (const Result<void> hook = hooks_.Run(hook_point); !hook.ok()) return Fail(hook.error());
    return Apply(modes);
  }

  // Modes while no driver is loaded.
  Outcome StepThroughPci(std::string_view hook_point) {
    const hw::PciMigOptions pci = PciOptions(Reading());
    const Result<model::Inventory> node = service::mig::LookWithoutDriver(pci);
    if (!node.ok()) return Fail(node.error());
    const Result<service::mig::NodeGoal> goal = modes_(*node);
    if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
    const std::vector<std::string> why = service::mig::OutOfReach(*node, *goal);
    if (why.empty() && Differences(*node, *goal, true).empty()) return std::nullopt;
    if (!why.empty() && why.size() == goal->size()) {
      return Failure{base::Join(why, "; "), kExitNoDriver};
    }
    if (const Result<void> hook = hooks_.Run(hook_point); !hook.ok()) return Fail(hook.error());
    const bool skip_reset = invocation_.Has("skip-reset");
    const Result<service::mig::ApplyReport> report = service::mig::ApplyModesWithoutDriver(
        *node, *goal, skip_reset, pci, DebugProgress(), StopFlag());
    if (!report.ok()) return Fail(report.error());
    return OutcomeOf(*report, skip_reset);
  }

  static bool AtTheirPlaces(const model::Inventory& node, const service::mig::NodeGoal& goal) {
    for (const service::mig::GpuTarget& target : goal) {
      if (target.exact && !service::mig::IsApplied(node, target)) return false;
    }
    return true;
  }

  Outcome Apply(bool modes) {
    const service::mig::ApplyOptions options{.skip_reset = invocation_.Has("skip-reset"),
                                             .mode_only = modes};
    const Result<service::mig::ApplyReport> report =
        service::mig::Apply(reader_, control_, goal_, options, DebugProgress(), &StopFlag());
    if (!report.ok()) {
      const ErrorCode code = report.error().code();
      return Fail(report.error(), code == ErrorCode::kBusy       ? kExitBlocked
                                  : code == ErrorCode::kConflict ? kExitInvalidInput
                                                                 : kExitError);
    }
    if (report->applied) RememberApplied(report->after, goal_);
    return OutcomeOf(*report, modes && options.skip_reset);
  }

  // A mode that waits for the reset that was not wanted (`may_wait`) is what was asked for.
  static Outcome OutcomeOf(const service::mig::ApplyReport& report, bool may_wait) {
    if (report.applied || (may_wait && report.errors.empty())) return std::nullopt;
    if (!report.errors.empty()) {
      return Failure{base::Join(report.errors, "; "), ResultStatus(report)};
    }
    return Failure{"a GPU reset or a reboot is required", ResultStatus(report)};
  }

  [[nodiscard]] service::mig::Progress DebugProgress() const {
    if (!invocation_.Has("debug")) return {[](const auto&, const auto&, bool) {}};
    return ShowSteps();
  }

  void Release() {
    reader_.Release();
    control_.Release();
  }

  const Invocation& invocation_;
  service::mig::NodeGoalFn goal_, modes_;
  HookRunner hooks_;
  hw::InventoryReader reader_;
  hw::MigControl control_;
};

// The variables of a command's flags, as hooks see them.
std::map<std::string, std::string> FlagVariables(const Invocation& invocation,
                                                 const std::vector<Option>& options) {
  std::map<std::string, std::string> variables;
  for (const Option& option : options) {
    if (option.environment.empty()) continue;
    variables[option.environment] = option.value_name.empty()
                                        ? (invocation.Has(option.name) ? "true" : "false")
                                        : invocation.Get(option.name).value_or("");
  }
  return variables;
}

Result<HookRunner> LoadHooks(const Invocation& invocation, const std::vector<Option>& options) {
  config::HooksFile hooks;
  if (const std::optional<std::string> path = invocation.Get("hooks-file");
      path && !path->empty()) {
    TRY(loaded, config::HooksFile::Load(*path), "error parsing hooks file");
    hooks = std::move(loaded);
  }
  return HookRunner(std::move(hooks), FlagVariables(invocation, options), invocation.Has("debug"));
}

Option FileFlag(std::string name, std::string environment, std::string help) {
  return {.name = std::move(name),
          .letter = 'f',
          .value_name = "FILE",
          .help = std::move(help),
          .environment = std::move(environment)};
}

const Option kSelected{.name = "selected-config",
                       .letter = 'c',
                       .value_name = "NAME",
                       .help = "the label of the configuration in the file",
                       .environment = "MIG_PARTED_SELECTED_CONFIG"};
const Option kHooks{.name = "hooks-file",
                    .letter = 'k',
                    .value_name = "FILE",
                    .help = "programs to run around the change",
                    .environment = "MIG_PARTED_HOOKS_FILE"};
const Option kModeOnly{.name = "mode-only",
                       .letter = 'm',
                       .help = "only MIG modes, no devices",
                       .environment = "MIG_PARTED_MODE_CHANGE_ONLY"};
const Option kSkipReset{.name = "skip-reset",
                        .letter = 's',
                        .help = "leave modes pending that need a GPU reset",
                        .environment = "MIG_PARTED_SKIP_RESET"};
const Option kFormat{.name = "output-format",
                     .letter = 'o',
                     .value_name = "FORMAT",
                     .help = "yaml or json",
                     .environment = "MIG_PARTED_OUTPUT_FORMAT",
                     .default_value = "yaml"};

Option ConfigFile() {
  return FileFlag("config-file", "MIG_PARTED_CONFIG_FILE", "the configurations; - is stdin");
}
Option CheckpointFile() {
  return FileFlag("checkpoint-file", "MIG_PARTED_CHECKPOINT_FILE", "the checkpoint");
}

Outcome Changed(const Invocation& invocation,
                const std::vector<Option>& options,
                service::mig::NodeGoalFn goal,
                service::mig::NodeGoalFn modes = nullptr) {
  Result<HookRunner> hooks = LoadHooks(invocation, options);
  if (!hooks.ok()) return Fail(hooks.error(), kExitInvalidInput);
  return Change(invocation, std::move(goal), std::move(modes), *std::move(hooks)).Run();
}

std::vector<Option> ApplyFlags() {
  return {ConfigFile(), kSelected, kHooks, kSkipReset, kModeOnly};
}

int RunApply(const Invocation& invocation) {
  std::optional<Selected> selected;
  Outcome outcome = LoadSelected(invocation, selected);
  if (!outcome) {
    outcome = Changed(
        invocation, ApplyFlags(),
        [&](const model::Inventory& node) {
          return service::mig::ResolveConfig(selected->file, *selected->config, node);
        },
        [&](const model::Inventory& node) {
          return service::mig::ResolveModes(selected->file, *selected->config, node);
        });
  }
  return Finish(invocation, outcome, "MIG configuration applied successfully");
}

Failure NotApplied() {
  return {"assertion failure: selected configuration not currently applied", kExitNotApplied};
}

Outcome AssertedThroughPci(const Selected& selected) {
  const Result<model::Inventory> node = service::mig::LookWithoutDriver(PciOptions(Reading()));
  if (!node.ok()) return Fail(node.error());
  const Result<service::mig::NodeGoal> goal =
      service::mig::ResolveModes(selected.file, *selected.config, *node);
  if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
  if (const std::vector<std::string> why = service::mig::OutOfReach(*node, *goal); !why.empty()) {
    return Failure{base::Join(why, "; "), kExitNoDriver};
  }
  return Differences(*node, *goal, true).empty() ? Outcome() : NotApplied();
}

Outcome Asserted(const Invocation& invocation) {
  std::optional<Selected> selected;
  if (Outcome failure = LoadSelected(invocation, selected)) return failure;
  hw::InventoryReader reader(Reading());
  model::Inventory node;
  Outcome unread = ReadNode(reader, node);
  if (unread && invocation.Has("mode-only") && NeedsPci(Reading(), node)) {
    return AssertedThroughPci(*selected);
  }
  if (unread) return unread;
  if (invocation.Has("valid-config")) {
    const ConfigVerdict verdict = Validate(selected->file, *selected->config, node);
    if (verdict.reasons.empty()) return std::nullopt;
    return Failure{base::Join(verdict.reasons, "; "), kExitInvalidInput};
  }
  const Result<service::mig::NodeGoal> goal =
      service::mig::ResolveConfig(selected->file, *selected->config, node);
  if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
  if (Differences(node, *goal, invocation.Has("mode-only")).empty()) return std::nullopt;
  return NotApplied();
}

int RunAssert(const Invocation& invocation) {
  std::string_view done = "Selected MIG configuration currently applied";
  if (invocation.Has("mode-only")) {
    done = "Selected MIG mode settings from configuration currently applied";
  }
  if (invocation.Has("valid-config")) done = "Selected MIG configuration is valid";
  return Finish(invocation, Asserted(invocation), done);
}

// Prints a configuration, or writes it where --output-file says.
Outcome Emit(const Invocation& invocation,
             const std::function<Result<base::Value>(const model::Inventory&)>& make) {
  const std::string format = invocation.Get("output-format").value_or("yaml");
  if (format != "yaml" && format != "json") {
    return Failure{fmt::format("unrecognized 'output-format': {}", format), kExitInvalidInput,
                   true};
  }
  hw::InventoryReader reader(Reading());
  model::Inventory node;
  if (Outcome failure = ReadNode(reader, node)) return failure;
  const Result<base::Value> config = make(node);
  if (!config.ok()) return Fail(config.error());
  const std::string text = format == "json" ? base::ToJson(*config) : base::ToYaml(*config);
  const std::optional<std::string> path = invocation.Get("output-file");
  if (!path || path->empty() || *path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::nullopt;
  }
  const Result<void> written = base::WriteFileAtomically(*path, text, 0644);
  return written.ok() ? Outcome() : Fail(written.error());
}

int RunExport(const Invocation& invocation) {
  const std::string label = invocation.Get("config-label").value_or("current");
  return Finish(invocation,
                Emit(invocation,
                     [&](const model::Inventory& node) -> Result<base::Value> {
                       return ExportConfig(node, label);
                     }),
                "");
}

int RunGenerate(const Invocation& invocation) {
  return Finish(invocation, Emit(invocation, GenerateConfig), "");
}

Outcome Checkpointed(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path) return MissingFlag("checkpoint-file");
  hw::InventoryReader reader(Reading());
  model::Inventory node;
  if (Outcome failure = ReadNode(reader, node)) return failure;
  const std::string text = base::ToJson(CheckpointDocument(node));
  const Result<void> written = base::WriteFileAtomically(*path, text, 0600);
  return written.ok() ? Outcome() : Fail(written.error());
}

int RunCheckpoint(const Invocation& invocation) {
  return Finish(invocation, Checkpointed(invocation),
                "MIG configuration checkpointed successfully");
}

std::vector<Option> RestoreFlags() { return {CheckpointFile(), kHooks, kModeOnly}; }

Outcome Restored(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path) return MissingFlag("checkpoint-file");
  Result<std::string> text = base::ReadFile(*path);
  if (!text.ok()) return Fail(text.error());
  const Result<Checkpoint> checkpoint = Checkpoint::Parse(*std::move(text), *path);
  if (!checkpoint.ok()) return Fail(checkpoint.error(), kExitInvalidInput);
  return Changed(invocation, RestoreFlags(),
                 [&](const model::Inventory& node) { return checkpoint->Resolve(node); });
}

int RunRestore(const Invocation& invocation) {
  return Finish(invocation, Restored(invocation), "MIG configuration restored successfully");
}

std::vector<Command> Commands() {
  const Option valid{.name = "valid-config",
                     .letter = 'a',
                     .help = "only whether these GPUs could be so",
                     .environment = "MIG_PARTED_VALID_CONFIG"};
  const Option label{.name = "config-label",
                     .letter = 'l',
                     .value_name = "NAME",
                     .help = "the label of the configuration",
                     .environment = "MIG_PARTED_CONFIG_LABEL",
                     .default_value = "current"};
  return {
      {.name = "apply",
       .summary = "Apply a MIG configuration",
       .options = ApplyFlags(),
       .run = RunApply},
      {.name = "assert",
       .summary = "Check that a MIG configuration is applied",
       .options = {ConfigFile(), kSelected, kModeOnly, valid},
       .run = RunAssert},
      {.name = "export",
       .summary = "Print the present MIG configuration",
       .options = {kFormat, label},
       .run = RunExport},
      {.name = "generate-config",
       .summary = "Print every common configuration of these GPUs",
       .options = {FileFlag("output-file", "MIG_PARTED_OUTPUT_FILE", "instead of stdout"), kFormat},
       .run = RunGenerate},
      {.name = "checkpoint",
       .summary = "Write the present MIG state to a file",
       .options = {CheckpointFile()},
       .run = RunCheckpoint},
      {.name = "restore",
       .summary = "Restore the MIG state of a checkpoint",
       .options = RestoreFlags(),
       .run = RunRestore}};
}

}  // namespace

base::Program MakeMigPartedProgram() {
  base::Program program;
  program.version = Version();
  program.root = {
      .name = std::string(kMigPartedName),
      .summary = "Divide NVIDIA GPUs with MIG; partita under the name of NVIDIA's editor",
      .options =
          {{.name = "debug", .letter = 'd', .help = "say more", .environment = "MIG_PARTED_DEBUG"},
           {.name = "exit-codes",
            .value_name = "KIND",
            .help = "extended: 2 invalid, 3 not applied, 4 in use, 5 reset required, 6 no "
                    "driver; else 1 for every error",
            .choices = {"reference", "extended"},
            .default_value = "reference"}},
      .commands = Commands(),
  };
  program.exit_statuses = {{kExitDone, "done"}, {kExitError, "an error"}};
  return program;
}

int MigPartedMain(int argc, char** argv) {
  const base::Program program = MakeMigPartedProgram();
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const Result<base::Parsed> parsed = base::ParseCommandLine(program, words, environment);
  if (parsed.ok()) return base::Main(program, argc, argv);
  std::fputs(base::HelpText(program, {}).c_str(), stdout);
  PrintFatal(Fail(parsed.error()).message);
  return kExitError;
}

}  // namespace partita::cli
