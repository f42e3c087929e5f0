#include "service/mig/boot.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/state_file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "config/hooks_file.h"
#include "config/mig_config.h"
#include "service/mig/applied.h"
#include "service/mig/generated_config.h"
#include "service/mig/gpu_clients.h"
#include "service/mig/hooks.h"
#include "service/mig/lock.h"
#include "service/mig/modes_without_driver.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using base::Result;

// Of a hook that names none: the unit has no limit, and a hook that hangs must not keep a machine
// from ever finishing its boot.
constexpr std::chrono::seconds kHookLimit{480};

BootEnd BootFailed(const base::Error& error, ChangeStatus status = ChangeStatus::kFailed) {
  std::string text = error.ToString();
  if (!error.hint().empty()) text += fmt::format(" ({})", error.hint());
  return {std::move(text), status};
}

class Boot {
 public:
  explicit Boot(const BootOptions& options)
      : options_(options), procedure_(options.reader, options.driver) {}

  BootEnd Run() {
    const Result<ChangeLock> lock =
        ChangeLock::Acquire({.command = options_.command, .wait = true, .stop = options_.stop});
    if (!lock.ok()) return BootFailed(lock.error(), ChangeStatus::kBlocked);
    // What a run before this one stopped and, killed half-way, did not start. What cannot start
    // even now keeps nobody from MIG.
    if (const Result<std::size_t> left = StartClients(); !left.ok()) {
      Say("warning: " + left.error().ToString());
    }
    BootEnd end = BringBack();
    procedure_.Release();
    // systemd starts nothing any more; after the reboot it starts what is enabled.
    if (end.rebooting) return end;
    const Result<std::size_t> left = StartClients();
    if (end.status != ChangeStatus::kDone) return end;
    if (!left.ok()) return BootFailed(left.error());
    if (*left == 0) return end;
    return {
        fmt::format("{}; {} of the units that were stopped for it cannot start", end.line, *left),
        ChangeStatus::kFailed};
  }

 private:
  BootEnd BringBack() {
    node_ = procedure_.reader().Read();
    if (!node_.driver) return WithoutDriver();
    if (const Result<void> chosen = Choose(); !chosen.ok()) {
      return BootFailed(chosen.error(), ChangeStatus::kInvalid);
    }
    if (!choice_) return {"nothing is selected and nothing was applied before: nothing changed"};
    if (const Result<NodeGoal> goal = goal_(node_); !goal.ok()) {
      return BootFailed(goal.error(), ChangeStatus::kInvalid);
    }
    if (Result<NodeGoal> goal = goal_(node_); goal.ok() && goal->empty() && unread_.empty()) {
      return NameUnread({"what is selected is for no GPU of this machine: nothing changed"});
    }
    Result<HookRunner> hooks = LoadHooks();
    // As with a configuration: one with a mistake is somebody's to mend, one that cannot be read
    // must not cost the layout.
    if (!hooks.ok() && hooks.error().code() != base::ErrorCode::kInvalid) {
      unseen_ += fmt::format("{}no hook ran: {}", unseen_.empty() ? "" : "; ",
                             BootFailed(hooks.error()).line);
      Say("warning: " + unseen_);
      hooks = HookRunner({}, {});
    }
    if (!hooks.ok()) return BootFailed(hooks.error(), ChangeStatus::kInvalid);
    return NameUnread(Change(*std::move(hooks)));
  }

  // One GPU that cannot be read, and so is left alone, keeps no other from what it shall be.
  Result<NodeGoal> GoalOfReadable(const model::Inventory& node) {
    unread_.clear();
    model::Inventory readable;
    for (const model::Gpu& gpu : node.gpus) {
      model::Inventory alone;
      alone.gpus = {gpu};
      if (CheckRead(gpu).ok()) {
        readable.gpus.push_back(gpu);
      } else if (const Result<NodeGoal> meant = choice_(alone); !meant.ok()) {
        unread_.push_back(BootFailed(meant.error()).line);
      } else if (!gpu.mig && !gpu.faults.empty() && means_(gpu)) {
        // "all" passes over a GPU that fell off the bus; the boot must not.
        unread_.push_back(
            fmt::format("{} cannot be configured ({})", NameOf(gpu), gpu.faults.front().text));
      }
    }
    return choice_(readable);
  }

  // What keeps a boot that is done from being a success.
  BootEnd NameUnread(BootEnd end) const {
    if (unread_.empty() && unseen_.empty()) return end;
    const bool done = end.status == ChangeStatus::kDone && !end.rebooting;
    if (!unread_.empty()) end.line += (done ? ", except: " : "; ") + base::Join(unread_, "; ");
    if (!unseen_.empty()) end.line += (done ? ", but " : "; ") + unseen_;
    if (done) end.status = ChangeStatus::kFailed;
    return end;
  }

  BootEnd Change(HookRunner hooks) {
    ChangeOrder order;
    order.goal = goal_;
    order.in_steps = true;
    order.hooks = std::move(hooks);
    order.before_modes = [this] { return StopClients(); };
    order.remember = selected_.empty() ? Remember::kNothing : Remember::kApplied;
    order.guards = options_.guards;
    order.progress = TellSteps();
    order.stop = options_.stop;
    const ChangeEnd end = procedure_.Run(order);
    for (const std::string& warning : end.warnings) Say("warning: " + warning);
    if (end.error) return BootFailed(*end.error, end.status);
    const std::string errors = base::Join(ErrorTexts(*end.report), "; ");
    if (end.status == ChangeStatus::kResetRequired) return NeedsReboot(errors);
    if (!end.Done()) return {errors, end.status};
    for (const std::string& error : ErrorTexts(*end.report)) Say("warning: " + error);
    return Done();
  }

  // A driver that is loaded and does not answer is a fault; none at all is a machine without GPUs
  // or one whose driver comes later, and no reason for a failed boot.
  BootEnd WithoutDriver() {
    if (!NeedsPci(options_.reader, node_)) {
      const std::string why = node_.driver_error ? node_.driver_error->ToString() : "it is absent";
      return {fmt::format("the driver fails: {}", why), ChangeStatus::kNoDriver};
    }
    BootEnd later{"no driver is loaded: nothing changed; start this unit again when one is"};
    selected_ = options_.choice.selected_config;
    if (selected_.empty()) return later;
    const Result<config::MigConfigFile> file = LoadFile();
    if (!file.ok()) return BootFailed(file.error(), ChangeStatus::kInvalid);
    const Result<const config::MigConfig*> config = file->Select(selected_);
    if (!config.ok()) return BootFailed(config.error(), ChangeStatus::kInvalid);
    ChangeOrder order;
    order.modes = [&](const model::Inventory& node) -> Result<NodeGoal> {
      TRY(goal, ResolveModes(*file, **config, node));
      for (const std::string& why : ErrorTexts(OutOfReach(node, goal), node)) Say(why);
      return goal;
    };
    order.options.mode_only = true;
    order.remember = Remember::kNothing;
    order.progress = TellSteps();
    order.stop = options_.stop;
    const ChangeEnd end = procedure_.Run(order);
    if (end.status == ChangeStatus::kNoDriver) return later;
    if (end.error) return BootFailed(*end.error, end.status);
    if (end.Done()) return {"no driver is loaded: the modes are in force, devices come with it"};
    return {base::Join(ErrorTexts(*end.report), "; "), ChangeStatus::kNotApplied};
  }

  // What the environment selects, else what was applied last, else nothing.
  Result<void> Choose() {
    selected_ = options_.choice.selected_config;
    if (selected_.empty()) return ChooseRemembered();
    Result<void> chosen = ChooseSelected();
    // A file with a mistake is somebody's to mend. One that cannot be read, as on a disk that is
    // not there or in a home directory, must not cost the layout that is known to be good.
    const bool unreadable = !chosen.ok() && !file_.empty() && !choice_ &&
                            chosen.error().code() != base::ErrorCode::kInvalid;
    if (!unreadable) return chosen;
    TRY_VOID(ChooseRemembered());
    if (!choice_) return chosen;
    unseen_ = fmt::format("{} was selected: {}", base::Quoted(selected_),
                          BootFailed(chosen.error()).line);
    Say("warning: " + unseen_);
    selected_.clear();
    file_.clear();
    return {};
  }

  Result<void> ChooseRemembered() {
    TRY(remembered, RecallApplied());
    if (!remembered.warning.empty()) Say("warning: " + remembered.warning);
    if (!remembered.layout) return {};
    const auto layout = std::make_shared<const Checkpoint>(*std::move(remembered.layout));
    for (const std::string& uuid : layout->Gone(node_)) {
      Say(fmt::format("warning: {} is gone", uuid));
    }
    choice_ = [layout](const model::Inventory& node) { return layout->ResolvePresent(node); };
    // A GPU that tells no UUID may be one that is missing.
    const bool some_gone = !layout->Gone(node_).empty();
    means_ = [layout, some_gone](const model::Gpu& gpu) {
      return gpu.uuid ? layout->Has(gpu.uuid->value()) : some_gone;
    };
    return {};
  }

  Result<void> ChooseSelected() {
    TRY(file, LoadFile());
    const auto kept = std::make_shared<const config::MigConfigFile>(std::move(file));
    TRY(config, kept->Select(selected_));
    choice_ = [kept, config = config](const model::Inventory& node) {
      return ResolveConfig(*kept, *config, node);
    };
    means_ = [kept, config = config](const model::Gpu& gpu) {
      return std::any_of(config->specs.begin(), config->specs.end(),
                         [&](const config::MigSpec& spec) { return spec.Selects(gpu); });
    };
    return {};
  }

  // The file that is named, else the first there is, else what fits these GPUs.
  Result<config::MigConfigFile> LoadFile() {
    const std::string directory = options_.choice.config_dir;
    file_ = options_.choice.config_file;
    for (const char* name : {"config.yaml", "config-default.yaml"}) {
      if (file_.empty() && base::Exists(base::JoinPath(directory, name))) {
        file_ = base::JoinPath(directory, name);
      }
    }
    if (!file_.empty()) return config::MigConfigFile::Load(file_);
    model::Inventory known = node_;
    for (model::Gpu& gpu : known.gpus) {
      if (!CheckRead(gpu).ok()) gpu.mig.reset();
    }
    TRY(generated, GenerateConfig(known));
    return config::MigConfigFile::Parse(base::ToYaml(generated), "what these GPUs can be");
  }

  Result<HookRunner> LoadHooks() const {
    std::string path = options_.choice.hooks_file;
    const std::string usual = base::JoinPath(options_.choice.config_dir, "hooks.yaml");
    if (path.empty() && base::Exists(usual)) path = usual;
    config::HooksFile hooks;
    if (!path.empty()) {
      TRY(loaded, config::HooksFile::Load(path));
      hooks = std::move(loaded);
    }
    HookOptions around;
    around.variables = {{"MIG_PARTED_CONFIG_FILE", file_},
                        {"MIG_PARTED_SELECTED_CONFIG", selected_},
                        {"MIG_PARTED_HOOKS_FILE", path},
                        {"MIG_PARTED_SKIP_RESET", "false"},
                        {"MIG_PARTED_MODE_CHANGE_ONLY", "false"}};
    around.limit = kHookLimit;
    around.stop = options_.stop;
    around.wrote = options_.hook_wrote;
    return HookRunner(std::move(hooks), std::move(around));
  }

  BootEnd Done() const {
    const Result<void> removed = base::RemoveTree(Guard());
    if (!removed.ok()) return BootFailed(removed.error());
    if (selected_.empty()) return {"what was applied last is in force"};
    return {fmt::format("{} is in force", base::Quoted(selected_))};
  }

  // At most one reboot, and only where it is allowed: a machine must not do it for ever.
  BootEnd NeedsReboot(const std::string& why) const {
    if (base::Exists(Guard())) {
      return {fmt::format("{}; the reboot that was tried did not help: see to it, then delete {}",
                          why, Guard()),
              ChangeStatus::kResetRequired};
    }
    if (!options_.choice.reboot) {
      return {
          fmt::format("{}; a reboot is required, and --reboot or WITH_REBOOT=true allows one", why),
          ChangeStatus::kResetRequired};
    }
    const Result<void> made = base::MakeDirectories(base::StateDirectory(), 0700);
    if (!made.ok()) return BootFailed(made.error());
    const Result<void> kept = base::WriteFileAtomically(Guard(), "partita mig boot\n", 0600);
    if (!kept.ok()) return BootFailed(kept.error());
    base::Subprocess program;
    program.arguments = {"systemctl", "--no-block", "reboot"};
    const Result<base::SubprocessResult> reboot = base::Run(program);
    if (!reboot.ok()) return BootFailed(reboot.error());
    // The first thing that a reboot ends may be this unit, with systemctl in it.
    const bool ended_by_it = reboot->signal == SIGTERM && !reboot->timed_out;
    if (!reboot->Succeeded() && !ended_by_it) {
      return {
          fmt::format("systemctl reboot {}: {}", reboot->Describe(), base::Trim(reboot->output)),
          ChangeStatus::kResetRequired};
    }
    // A success: a failed unit would alarm, or be restarted, for what is being mended.
    return {fmt::format("{}; rebooting once", why), ChangeStatus::kDone, true};
  }

  static std::string Guard() { return base::StateDirectory() + "/mig-reboot-attempted"; }

  Result<void> StopClients() const {
    GpuClientOptions options;
    options.stop = options_.stop;
    if (const std::string path = options_.choice.gpu_clients_file; !path.empty()) {
      TRY(units, LoadGpuClients(path));
      options.units = std::move(units);
    }
    return GpuClients(std::move(options)).Stop();
  }

  // How many could not be started.
  [[nodiscard]] Result<std::size_t> StartClients() const {
    TRY(started, GpuClients({}).Start());
    if (!started.units.empty()) Say("starting " + base::Join(started.units, ", "));
    for (const std::string& failure : started.failures) Say("warning: " + failure);
    return started.failures.size();
  }

  [[nodiscard]] Progress TellSteps() const {
    return {[this](const std::string& gpu, const std::string& step, bool done) {
      if (done) Say(fmt::format("{}: {}", gpu, step));
    }};
  }

  void Say(const std::string& line) const { options_.say(line); }

  const BootOptions& options_;
  ChangeProcedure procedure_;
  model::Inventory node_;
  std::string selected_, file_;
  NodeGoalFn choice_;                             // of GPUs that can all be read
  std::function<bool(const model::Gpu&)> means_;  // whether the choice is about this GPU
  std::string unseen_;  // why what is selected was not chosen; empty when it was
  const NodeGoalFn goal_ = [this](const model::Inventory& node) { return GoalOfReadable(node); };
  std::vector<std::string> unread_;  // GPUs of the choice that the last look left out, with why
};

}  // namespace

BootEnd BringMigBack(const BootOptions& options) { return Boot(options).Run(); }

}  // namespace partita::service::mig
