#include "service/mig/remote_order.h"

#include <string_view>
#include <utility>

#include "config/hooks_file.h"

namespace partita::service::mig {
namespace {

base::Result<HookRunner> MakeHooks(const RemoteOrder& order,
                                   const TellNews& tell,
                                   const std::atomic<bool>* stop) {
  config::HooksFile hooks;
  if (!order.hooks->text.empty()) {
    TRY(parsed, config::HooksFile::Parse(order.hooks->text, order.hooks->file));
    hooks = std::move(parsed);
  }
  HookOptions around;
  around.variables = order.hooks->variables;
  around.directory = order.hooks->directory;
  around.stop = stop;
  around.wrote = [tell](const std::string& output) { tell({NewsKind::kHookWrote, output}); };
  if (order.tell_hooks) {
    around.starts = [tell](std::string_view point, const std::string& command) {
      tell({NewsKind::kHookStarts, command, std::string(point)});
    };
  }
  return HookRunner(std::move(hooks), std::move(around));
}

}  // namespace

base::Result<ChangeOrder> MakeOrder(const RemoteOrder& order,
                                    const TellNews& tell,
                                    std::atomic<bool>* stop) {
  TRY(goal, WantedGoal::Parse(order.source));
  ChangeOrder made;
  made.goal = goal.Goal();
  made.modes = goal.Modes();
  made.options.skip_reset = order.skip_reset;
  made.options.mode_only = order.mode_only;
  made.lock.emplace();
  made.lock->command = order.command;
  made.lock->wait = order.wait;
  made.lock->stop = stop;
  made.lock->waiting = [tell](const std::string& holder) { tell({NewsKind::kWaiting, holder}); };
  made.in_steps = order.in_steps;
  if (order.hooks) {
    TRY(hooks, MakeHooks(order, tell, stop));
    made.hooks = std::move(hooks);
  }
  if (order.must_agree) {
    made.agree = [agreed = order.agreed](const model::Inventory&, const model::PinnedParts&) {
      return Agreement{agreed.has_value(), agreed};
    };
  }
  made.remember = order.remember;
  made.selection = order.selection;
  made.progress.step = [tell](const std::string& gpu, const std::string& step, bool done) {
    tell({NewsKind::kStep, step, gpu, done});
  };
  made.through_pci = [tell] { tell({NewsKind::kThroughPci}); };
  made.debug = [tell](const std::string& line) { tell({NewsKind::kDebug, line}); };
  made.stop = stop;
  return made;
}

}  // namespace partita::service::mig
