#include "cli/parted/change.h"
#include "cli/report_error.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/mig/change.h"
#include "cli/mig/change_place.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "cli/parted/parted.h"
#include "config/document.h"
#include "config/hooks_file.h"
#include "service/mig/procedure.h"
#include "service/mig/remote_order.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;
using service::mig::ChangeStatus;

// The variables of a command's flags, as hooks see them.
std::map<std::string, std::string> FlagVariables(const Invocation& invocation,
                                                 const std::vector<Option>& flags) {
  std::map<std::string, std::string> variables;
  for (const Option& option : flags) {
    if (option.environment.empty()) continue;
    variables[option.environment] = option.value_name.empty()
                                        ? (invocation.Has(option.name) ? "true" : "false")
                                        : invocation.Get(option.name).value_or("");
  }
  return variables;
}

// Only what hooks wrote is for everybody.
void Show(const service::mig::ChangeNews& news, bool debug) {
  if (news.kind == service::mig::NewsKind::kHookWrote) return ShowProgress(news);
  if (!debug) return;
  if (news.kind == service::mig::NewsKind::kHookStarts) {
    PrintLog(Level::kDebug, fmt::format("{}: {}", news.where, news.text));
  } else if (news.kind == service::mig::NewsKind::kDebug) {
    PrintLog(Level::kDebug, news.text);
  } else {
    ShowProgress(news);
  }
}

Result<void> Judged(const Result<config::HooksFile>& hooks) {
  if (hooks.ok()) return {};
  return hooks.error();
}

// Read and judged here; run where the change is.
Result<service::mig::HookOrder> LoadHooks(const ChangeOptions& options) {
  service::mig::HookOrder hooks;
  hooks.variables = options.variables;
  std::error_code error;
  hooks.directory = std::filesystem::current_path(error);
  const std::string& path = options.hooks_file;
  if (path.empty()) return hooks;
  TRY_VOID(service::mig::CheckSelectable(path), "error parsing hooks file");
  TRY(document, config::Document::Load(path), "error parsing hooks file");
  TRY_VOID(Judged(config::HooksFile::Parse(document.text(), path)), "error parsing hooks file");
  hooks.file = path;
  hooks.text = document.text();
  return hooks;
}

// The reference's name tells how the change ended, not which error was behind it.
base::ErrorCode CodeOf(ChangeStatus status) {
  switch (status) {
    case ChangeStatus::kInvalid: return base::ErrorCode::kInvalid;
    case ChangeStatus::kUndecided:
    case ChangeStatus::kNotApplied: return base::ErrorCode::kNotApplied;
    case ChangeStatus::kBlocked: return base::ErrorCode::kBusy;
    case ChangeStatus::kResetRequired: return base::ErrorCode::kResetRequired;
    case ChangeStatus::kNoDriver: return base::ErrorCode::kNoDriver;
    case ChangeStatus::kDone:
    case ChangeStatus::kFailed: break;
  }
  return base::ErrorCode::kIo;
}

Result<void> ResultOf(const service::mig::ChangeEnd& end) {
  if (end.Done()) return {};
  const base::ErrorCode code = CodeOf(end.status);
  if (end.error) return base::Error(*end.error).As(code);
  const std::vector<std::string> errors = service::mig::ErrorTexts(*end.report);
  return base::Error(
      code, errors.empty() ? "a GPU reset or a reboot is required" : base::Join(errors, "; "));
}

}  // namespace

ChangeOptions ReadChangeOptions(const Invocation& invocation, const std::vector<Option>& flags) {
  return {invocation.Get("hooks-file").value_or(""), invocation.Has("skip-reset"),
          invocation.Has("mode-only"), invocation.Has("debug"), FlagVariables(invocation, flags)};
}

Result<void> Changed(const ChangeOptions& options,
                     const service::mig::BootSelection& selection,
                     const service::mig::WantedGoal& goal) {
  Result<service::mig::HookOrder> hooks = LoadHooks(options);
  if (!hooks.ok()) return std::move(hooks).error().As(base::ErrorCode::kInvalid);
  StopOnSignals();
  service::mig::RemoteOrder order;
  order.source = goal.source();
  order.skip_reset = options.skip_reset;
  order.mode_only = options.mode_only;
  order.command = kMigPartedName;
  order.wait = true;
  order.in_steps = true;
  order.hooks = *std::move(hooks);
  order.selection = selection;
  order.tell_hooks = options.debug;
  const service::mig::ChangeEnd end = ChangePlace(Reading()).Run(
      order, nullptr, [&](const service::mig::ChangeNews& news) { Show(news, options.debug); });
  for (const std::string& warning : end.warnings) Warn(warning);
  return ResultOf(end);
}

}  // namespace partita::cli::parted
