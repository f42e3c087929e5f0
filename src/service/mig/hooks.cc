#include "service/mig/hooks.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/subprocess.h"

namespace partita::service::mig {
namespace {

// Relative ones are so to where the command was given, wherever this runs.
std::string DirectoryOf(const config::HookCommand& hook, const HookOptions& options) {
  if (options.directory.empty() || hook.workdir.starts_with('/')) return hook.workdir;
  return hook.workdir.empty() ? options.directory : base::JoinPath(options.directory, hook.workdir);
}

base::Result<void> RunHook(const config::HookCommand& hook, const HookOptions& options) {
  std::map<std::string, std::string> variables = hook.envs;
  for (const auto& [name, value] : options.variables) variables[name] = value;
  base::Subprocess program;
  program.arguments = {hook.command};
  program.arguments.insert(program.arguments.end(), hook.args.begin(), hook.args.end());
  program.environment.emplace();
  for (const auto& [name, value] : variables) {
    program.environment->push_back(fmt::format("{}={}", name, value));
  }
  program.directory = DirectoryOf(hook, options);
  program.limit = hook.timeout ? hook.timeout : options.limit;
  program.stop = options.stop;
  TRY(result, base::Run(program), "hook {}", hook.command);
  if (options.wrote && (options.starts || !result.Succeeded())) options.wrote(result.output);
  if (result.Succeeded()) return {};
  return base::MakeError(base::ErrorCode::kIo, "hook {} {}", hook.command, result.Describe());
}

}  // namespace

base::Result<void> HookRunner::Run(std::string_view point) const {
  for (const config::HookCommand& hook : hooks_.At(point)) {
    if (options_.starts) options_.starts(point, hook.command);
    TRY_VOID(RunHook(hook, options_), "error running {} hooks", point);
  }
  return {};
}

}  // namespace partita::service::mig
