#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/subprocess.h"
#include "cli/mig/change.h"
#include "cli/parted/outcome.h"
#include "cli/parted/parted.h"

namespace partita::cli {

namespace {

base::Result<void> RunHook(const config::HookCommand& hook,
                           const std::map<std::string, std::string>& flags,
                           std::optional<std::chrono::milliseconds> limit,
                           bool debug) {
  std::map<std::string, std::string> variables = hook.envs;
  for (const auto& [name, value] : flags) variables[name] = value;
  base::Subprocess program;
  program.arguments = {hook.command};
  program.arguments.insert(program.arguments.end(), hook.args.begin(), hook.args.end());
  program.environment.emplace();
  for (const auto& [name, value] : variables) {
    program.environment->push_back(fmt::format("{}={}", name, value));
  }
  program.directory = hook.workdir;
  program.limit = hook.timeout ? hook.timeout : limit;
  program.stop = &StopFlag();
  TRY(result, base::Run(program), "hook {}", hook.command);
  if (debug || !result.Succeeded()) std::fputs(result.output.c_str(), stderr);
  if (result.Succeeded()) return {};
  return base::MakeError(base::ErrorCode::kIo, "hook {} {}", hook.command, result.Describe());
}

}  // namespace

base::Result<void> HookRunner::Run(std::string_view point) const {
  for (const config::HookCommand& hook : hooks_.At(point)) {
    if (debug_) {
      parted::PrintLog(parted::Level::kDebug, fmt::format("{}: {}", point, hook.command));
    }
    TRY_VOID(RunHook(hook, flags_, limit_, debug_), "error running {} hooks", point);
  }
  return {};
}

}  // namespace partita::cli
