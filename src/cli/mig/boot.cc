// The boot service: MIG as it was, or as the machine's files select it.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "base/state_file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/exit_status.h"
#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/request.h"
#include "cli/mig/without_driver.h"
#include "cli/report_error.h"
#include "config/hooks_file.h"
#include "hw/mig_control.h"
#include "service/mig/applied.h"
#include "service/mig/differences.h"
#include "service/mig/generated_config.h"
#include "service/mig/gpu_clients.h"
#include "service/mig/hooks.h"
#include "service/mig/lock.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using base::Result;
using service::mig::NodeGoal;

// Of a hook that names none: the unit has no limit, and a hook that hangs must not keep a machine
// from ever finishing its boot.
constexpr std::chrono::seconds kHookLimit{480};

// How a boot ended: the line of the unit's log, and the status.
struct BootEnd {
  std::string line;
  int status = kExitDone;
  bool rebooting = false;  // asked for and granted: nothing more is to be done in this boot
};

BootEnd Failed(const base::Error& error, int status = kExitError) {
  std::string text = error.ToString();
  if (!error.hint().empty()) text += fmt::format(" ({})", error.hint());
  return {std::move(text), status};
}

void Say(const std::string& line) {
  std::fprintf(stderr, "partita-mig: %s\n", base::Printable(line, "\n\t").c_str());
}

std::string TextOf(const base::Invocation& invocation, const std::string& option) {
  return invocation.Get(option).value_or("");
}

class Boot {
 public:
  Boot(const base::Invocation& invocation, MigOptions options)
      : invocation_(invocation),
        options_(std::move(options)),
        reader_(options_.reader),
        control_(options_.reader) {}

  BootEnd Run() {
    StopOnSignals();
    const Result<service::mig::ChangeLock> lock = service::mig::ChangeLock::Acquire(
        {.command = "partita mig boot", .wait = true, .stop = &StopFlag()});
    if (!lock.ok()) return Failed(lock.error(), kExitBlocked);
    // What a run before this one stopped and, killed half-way, did not start. What cannot start
    // even now keeps nobody from MIG.
    if (const Result<std::size_t> left = StartClients(); !left.ok()) {
      Say("warning: " + left.error().ToString());
    }
    BootEnd end = BringBack();
    Release();
    // systemd starts nothing any more; after the reboot it starts what is enabled.
    if (end.rebooting) return end;
    const Result<std::size_t> left = StartClients();
    if (end.status != kExitDone) return end;
    if (!left.ok()) return Failed(left.error());
    if (*left == 0) return end;
    return {
        fmt::format("{}; {} of the units that were stopped for it cannot start", end.line, *left),
        kExitError};
  }

 private:
  BootEnd BringBack() {
    node_ = reader_.Read();
    if (!node_.driver) return WithoutDriver();
    if (const Result<void> chosen = Choose(); !chosen.ok()) {
      return Failed(chosen.error(), kExitInvalidInput);
    }
    if (!choice_) return {"nothing is selected and nothing was applied before: nothing changed"};
    if (const Result<NodeGoal> goal = goal_(node_); !goal.ok()) {
      return Failed(goal.error(), kExitInvalidInput);
    }
    return NameUnread(WithHooks());
  }

  // One GPU that cannot be read, and so is left alone, keeps no other from what it shall be.
  Result<NodeGoal> GoalOfReadable(const model::Inventory& node) {
    unread_.clear();
    model::Inventory readable;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      model::Inventory alone;
      alone.gpus = {node.gpus[i]};
      if (service::mig::CheckRead(node.gpus[i]).ok()) {
        readable.gpus.push_back(node.gpus[i]);
        positions.push_back(i);
      } else if (const Result<NodeGoal> meant = choice_(alone); !meant.ok()) {
        unread_.push_back(Failed(meant.error()).line);
      } else if (const model::Gpu& gpu = node.gpus[i];
                 !gpu.mig && !gpu.faults.empty() && means_(gpu)) {
        // "all" passes over a GPU that fell off the bus; the boot must not.
        unread_.push_back(fmt::format("{} cannot be configured ({})", service::mig::NameOf(gpu),
                                      gpu.faults.front().text));
      }
    }
    TRY(goal, choice_(readable));
    for (service::mig::GpuTarget& target : goal) target.gpu = positions[target.gpu];
    return goal;
  }

  // What keeps a boot that is done from being a success.
  BootEnd NameUnread(BootEnd end) const {
    if (unread_.empty() && unseen_.empty()) return end;
    const bool done = end.status == kExitDone && !end.rebooting;
    if (!unread_.empty()) end.line += (done ? ", except: " : "; ") + base::Join(unread_, "; ");
    if (!unseen_.empty()) end.line += (done ? ", but " : "; ") + unseen_;
    if (done) end.status = kExitError;
    return end;
  }

  BootEnd WithoutDriver() {
    // A driver that is loaded and does not answer is a fault; none at all is a machine without GPUs
    // or one whose driver comes later, and no reason for a failed boot.
    if (!NeedsPci(options_.reader, node_)) {
      const std::string why = node_.driver_error ? node_.driver_error->ToString() : "it is absent";
      return {fmt::format("the driver fails: {}", why), kExitNoDriver};
    }
    BootEnd later{"no driver is loaded: nothing changed; start this unit again when one is"};
    selected_ = TextOf(invocation_, "selected-config");
    if (selected_.empty()) return later;
    const Result<config::MigConfigFile> file = LoadFile();
    if (!file.ok()) return Failed(file.error(), kExitInvalidInput);
    const Result<const config::MigConfig*> config = file->Select(selected_);
    if (!config.ok()) return Failed(config.error(), kExitInvalidInput);
    return ModesThroughPci(*file, **config, later);
  }

  BootEnd ModesThroughPci(const config::MigConfigFile& file,
                          const config::MigConfig& config,
                          const BootEnd& later) const {
    const hw::PciMigOptions pci = PciOptions(options_.reader);
    const Result<model::Inventory> look = service::mig::LookWithoutDriver(pci);
    if (!look.ok()) return Failed(look.error());
    const Result<NodeGoal> goal = service::mig::ResolveModes(file, config, *look);
    if (!goal.ok()) return Failed(goal.error(), kExitInvalidInput);
    for (const std::string& why : service::mig::OutOfReach(*look, *goal)) Say(why);
    const Result<service::mig::ApplyReport> report =
        service::mig::ApplyModesWithoutDriver(*look, *goal, false, pci, TellSteps(), StopFlag());
    if (!report.ok()) return Failed(report.error());
    if (report->applied)
      return {"no driver is loaded: the modes are in force, devices come with it"};
    if (ModesStatus(*report, *goal) == kExitNoDriver) return later;
    return {base::Join(report->errors, "; "), kExitNotApplied};
  }

  // What the environment selects, else what was applied last, else nothing.
  Result<void> Choose() {
    selected_ = TextOf(invocation_, "selected-config");
    if (selected_.empty()) return ChooseRemembered();
    Result<void> chosen = ChooseSelected();
    // A file with a mistake is somebody's to mend. One that cannot be read, as on a disk that is
    // not there or in a home directory, must not cost the layout that is known to be good.
    const bool unreadable = !chosen.ok() && !file_.empty() && !choice_ &&
                            chosen.error().code() != base::ErrorCode::kInvalid;
    if (!unreadable) return chosen;
    TRY_VOID(ChooseRemembered());
    if (!choice_) return chosen;
    unseen_ =
        fmt::format("{} was selected: {}", base::Quoted(selected_), Failed(chosen.error()).line);
    Say("warning: " + unseen_);
    selected_.clear();
    file_.clear();
    return {};
  }

  Result<void> ChooseRemembered() {
    TRY(remembered, service::mig::RecallApplied());
    if (!remembered.warning.empty()) Say("warning: " + remembered.warning);
    if (!remembered.layout) return {};
    const auto layout =
        std::make_shared<const service::mig::Checkpoint>(*std::move(remembered.layout));
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
      return service::mig::ResolveConfig(*kept, *config, node);
    };
    means_ = [kept, config = config](const model::Gpu& gpu) {
      return std::any_of(config->specs.begin(), config->specs.end(),
                         [&](const config::MigSpec& spec) { return spec.Selects(gpu); });
    };
    return {};
  }

  // The file that is named, else the first there is, else what fits these GPUs.
  Result<config::MigConfigFile> LoadFile() {
    const std::string directory = TextOf(invocation_, "config-dir");
    file_ = TextOf(invocation_, "config-file");
    for (const char* name : {"config.yaml", "config-default.yaml"}) {
      if (file_.empty() && base::Exists(base::JoinPath(directory, name))) {
        file_ = base::JoinPath(directory, name);
      }
    }
    if (!file_.empty()) return config::MigConfigFile::Load(file_);
    model::Inventory known = node_;
    for (model::Gpu& gpu : known.gpus) {
      if (!service::mig::CheckRead(gpu).ok()) gpu.mig.reset();
    }
    TRY(generated, service::mig::GenerateConfig(known));
    return config::MigConfigFile::Parse(base::ToYaml(generated), "what these GPUs can be");
  }

  Result<service::mig::HookRunner> LoadHooks() const {
    std::string path = TextOf(invocation_, "hooks-file");
    const std::string usual = base::JoinPath(TextOf(invocation_, "config-dir"), "hooks.yaml");
    if (path.empty() && base::Exists(usual)) path = usual;
    config::HooksFile hooks;
    if (!path.empty()) {
      TRY(loaded, config::HooksFile::Load(path));
      hooks = std::move(loaded);
    }
    service::mig::HookOptions around;
    around.variables = {{"MIG_PARTED_CONFIG_FILE", file_},
                        {"MIG_PARTED_SELECTED_CONFIG", selected_},
                        {"MIG_PARTED_HOOKS_FILE", path},
                        {"MIG_PARTED_SKIP_RESET", "false"},
                        {"MIG_PARTED_MODE_CHANGE_ONLY", "false"}};
    around.limit = kHookLimit;
    around.stop = &StopFlag();
    around.wrote = ShowOutput;
    return service::mig::HookRunner(std::move(hooks), std::move(around));
  }

  BootEnd WithHooks() {
    const Result<service::mig::HookRunner> hooks = LoadHooks();
    if (!hooks.ok()) return Failed(hooks.error(), kExitInvalidInput);
    if (const Result<void> hook = hooks->Run("apply-start"); !hook.ok()) {
      return Failed(hook.error());
    }
    BootEnd end = Step(true, *hooks);
    if (end.status == kExitDone && !end.rebooting) end = Step(false, *hooks);
    Release();
    StopFlag().store(false);  // it was heard: the next one is for this hook
    const Result<void> hook = hooks->Run("apply-exit");
    if (!hook.ok() && end.status == kExitDone && !end.rebooting) end = Failed(hook.error());
    return end;
  }

  // Modes, then everything; hooks and clients only where there is something to change.
  BootEnd Step(bool modes, const service::mig::HookRunner& hooks) {
    node_ = reader_.Read();
    const Result<NodeGoal> goal = goal_(node_);
    if (!goal.ok()) return Failed(goal.error(), kExitInvalidInput);
    const Result<std::vector<service::mig::GpuDifference>> differences =
        service::mig::Differences(node_, *goal, modes);
    if (!differences.ok()) return Failed(differences.error());
    if (modes ? differences->empty() : service::mig::IsApplied(node_, *goal)) return Done();
    Release();
    if (modes) {
      if (const Result<void> stopped = StopClients(); !stopped.ok()) return Failed(stopped.error());
    }
    const Result<void> hook = hooks.Run(modes ? "pre-apply-mode" : "pre-apply-config");
    return hook.ok() ? Apply(modes) : Failed(hook.error());
  }

  BootEnd Apply(bool modes) {
    const Result<service::mig::ApplyReport> report = service::mig::Apply(
        reader_, control_, goal_, {.mode_only = modes}, TellSteps(), &StopFlag());
    if (!report.ok()) {
      const bool busy = report.error().code() == base::ErrorCode::kBusy;
      return Failed(report.error(), busy ? kExitBlocked : kExitError);
    }
    node_ = report->after;
    if (report->applied) {
      for (const std::string& error : report->errors) Say("warning: " + error);
      return Done();
    }
    if (report->reset_required) return NeedsReboot(base::Join(report->errors, "; "));
    return {base::Join(report->errors, "; "), kExitNotApplied};
  }

  BootEnd Done() {
    const Result<void> removed = base::RemoveTree(Guard());
    if (!removed.ok()) return Failed(removed.error());
    if (!selected_.empty()) {
      const Result<NodeGoal> goal = goal_(node_);
      if (goal.ok() && service::mig::IsApplied(node_, *goal)) {
        WarnUnlessRemembered(service::mig::RememberApplied(node_, goal_));
      }
      return {fmt::format("{} is in force", base::Quoted(selected_))};
    }
    return {"what was applied last is in force"};
  }

  // At most one reboot, and only where it is allowed: a machine must not do it for ever.
  BootEnd NeedsReboot(const std::string& why) const {
    if (base::Exists(Guard())) {
      return {fmt::format("{}; the reboot that was tried did not help: see to it, then delete {}",
                          why, Guard()),
              kExitResetRequired};
    }
    if (!invocation_.Has("reboot")) {
      return {
          fmt::format("{}; a reboot is required, and --reboot or WITH_REBOOT=true allows one", why),
          kExitResetRequired};
    }
    const Result<void> made = base::MakeDirectories(base::StateDirectory(), 0700);
    if (!made.ok()) return Failed(made.error());
    const Result<void> kept = base::WriteFileAtomically(Guard(), "partita mig boot\n", 0600);
    if (!kept.ok()) return Failed(kept.error());
    base::Subprocess program;
    program.arguments = {"systemctl", "--no-block", "reboot"};
    const Result<base::SubprocessResult> reboot = base::Run(program);
    if (!reboot.ok()) return Failed(reboot.error());
    // The first thing that a reboot ends may be this unit, with systemctl in it.
    const bool ended_by_it = reboot->signal == SIGTERM && !reboot->timed_out;
    if (!reboot->Succeeded() && !ended_by_it) {
      return {
          fmt::format("systemctl reboot {}: {}", reboot->Describe(), base::Trim(reboot->output)),
          kExitResetRequired};
    }
    // A success: a failed unit would alarm, or be restarted, for what is being mended.
    return {fmt::format("{}; rebooting once", why), kExitDone, true};
  }

  static std::string Guard() { return base::StateDirectory() + "/mig-reboot-attempted"; }

  Result<void> StopClients() const {
    service::mig::GpuClientOptions options;
    options.stop = &StopFlag();
    if (const std::string path = TextOf(invocation_, "gpu-clients-file"); !path.empty()) {
      TRY(units, service::mig::LoadGpuClients(path));
      options.units = std::move(units);
    }
    return service::mig::GpuClients(std::move(options)).Stop();
  }

  // How many could not be started.
  static Result<std::size_t> StartClients() {
    TRY(started, service::mig::GpuClients({}).Start());
    if (!started.units.empty()) Say("starting " + base::Join(started.units, ", "));
    for (const std::string& failure : started.failures) Say("warning: " + failure);
    return started.failures.size();
  }

  static service::mig::Progress TellSteps() {
    return {[](const std::string& gpu, const std::string& step, bool done) {
      if (done) Say(fmt::format("{}: {}", gpu, step));
    }};
  }

  void Release() {
    reader_.Release();
    control_.Release();
  }

  const base::Invocation& invocation_;
  MigOptions options_;
  hw::InventoryReader reader_;
  hw::MigControl control_;
  model::Inventory node_;
  std::string selected_, file_;
  service::mig::NodeGoalFn choice_;               // of GPUs that can all be read
  std::function<bool(const model::Gpu&)> means_;  // whether the choice is about this GPU
  std::string unseen_;  // why what is selected was not chosen; empty when it was
  const service::mig::NodeGoalFn goal_ = [this](const model::Inventory& node) {
    return GoalOfReadable(node);
  };
  std::vector<std::string> unread_;  // GPUs of the choice that the last look left out, with why
};

}  // namespace

int RunMigBoot(const base::Invocation& invocation) {
  Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const BootEnd end = Boot(invocation, *std::move(options)).Run();
  Say(end.line);
  return end.status;
}

}  // namespace partita::cli
