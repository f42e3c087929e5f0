// One function per command, each returning the exit status.
#pragma once

#include <functional>
#include <string>

#include "base/command_line.h"
#include "base/output_format.h"
#include "base/result.h"
#include "base/value.h"
#include "sim/load/catalog.h"

namespace partita::sim::tool {

int RunUp(const base::Invocation& invocation);
int RunDown(const base::Invocation& invocation);
int RunList(const base::Invocation& invocation);
int RunProfiles(const base::Invocation& invocation);
int RunShow(const base::Invocation& invocation);
int RunSet(const base::Invocation& invocation);
int RunUnset(const base::Invocation& invocation);
int RunWorkloadStart(const base::Invocation& invocation);
int RunWorkloadList(const base::Invocation& invocation);
int RunWorkloadStop(const base::Invocation& invocation);
int RunFaultXid(const base::Invocation& invocation);
int RunFaultLost(const base::Invocation& invocation);
int RunFaultResetRequired(const base::Invocation& invocation);
int RunFaultCall(const base::Invocation& invocation);
int RunFaultMps(const base::Invocation& invocation);
int RunFaultVersionMismatch(const base::Invocation& invocation);
int RunFaultClear(const base::Invocation& invocation);
int RunFaultList(const base::Invocation& invocation);
int RunClockFreeze(const base::Invocation& invocation);
int RunClockRun(const base::Invocation& invocation);
int RunClockAdvance(const base::Invocation& invocation);
int RunClockShow(const base::Invocation& invocation);
int RunDriverLoad(const base::Invocation& invocation);
int RunDriverUnload(const base::Invocation& invocation);
int RunDriverReload(const base::Invocation& invocation);
int RunReset(const base::Invocation& invocation);
int RunReboot(const base::Invocation& invocation);
int RunExchange(const base::Invocation& invocation);
int RunRun(const base::Invocation& invocation);
int RunShell(const base::Invocation& invocation);
int RunCompletion(const base::Invocation& invocation);
int RunMan(const base::Invocation& invocation);

// The whole command line of partita-sim.
[[nodiscard]] const base::Program& SimProgram();

// The keys of `set`, for its help.
[[nodiscard]] std::string SettingsHelp();

// The facts that --data names; without it those built in.
[[nodiscard]] base::Result<load::Catalog> ChooseCatalog(const base::Invocation& invocation);

// Exit statuses.
inline constexpr int kDone = 0, kFailed = 1, kInvalidInput = 2, kBlocked = 4;

// Prints the error to standard error and returns the status for it.
int Report(const base::Error& error);
// The status of a command that either works or does not.
int Finish(const base::Result<void>& result);
// Prints the document, or what `text` makes of it, as --output says.
int Print(const base::Invocation& invocation,
          const base::Value& document,
          const std::function<std::string(const base::Value&)>& text);

}  // namespace partita::sim::tool
