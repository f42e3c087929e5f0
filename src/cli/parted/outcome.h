// How a command of nvidia-mig-parted ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/command_line.h"
#include "base/result.h"
#include "cli/exit_status.h"

namespace partita::cli::parted {

// What failed, and the status that partita would end with.
struct Failure {
  std::string message;
  int status = kExitError;
  bool usage = false;  // the command's help is shown as well
};
// Nothing: done.
using Outcome = std::optional<Failure>;

// The error with its hint, in one line.
[[nodiscard]] Failure Fail(const base::Error& error, int status = kExitError);
[[nodiscard]] Failure MissingFlag(std::string_view flag);

// A line on standard error as the reference's logger writes it: short for a person, fields for a
// file.
enum class Level { kDebug, kWarning, kFatal };
void PrintLog(Level level, std::string message);

// Whether --exit-codes asks for partita's own statuses.
[[nodiscard]] bool Extended(const base::Invocation& invocation);

// Ends a command: the result line on standard output, or the reason on standard error.
int Finish(const base::Invocation& invocation, const Outcome& failure, std::string_view done);

}  // namespace partita::cli::parted
