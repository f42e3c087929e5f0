// How a command of nvidia-mig-parted ends.
#pragma once

#include <string>
#include <string_view>

#include "base/command_line.h"
#include "base/result.h"

namespace partita::cli::parted {

// The error with its hint, in one line.
[[nodiscard]] std::string TextOf(const base::Error& error);
// kInvalid: a file that the command line names cannot be used, "error parsing config file: …".
[[nodiscard]] base::Error Unusable(std::string_view what, const base::Error& error);
// kInvalid; shows the command's help first, as the reference does.
[[nodiscard]] base::Error WrongUsage(const base::Invocation& invocation, std::string message);
[[nodiscard]] base::Error MissingFlag(const base::Invocation& invocation, std::string_view flag);

// A line on standard error as the reference's logger writes it: short for a person, fields for a
// file.
enum class Level { kDebug, kWarning, kFatal };
void PrintLog(Level level, std::string message);

// Of --exit-codes: 1 for every error, or partita's own statuses.
enum class ExitCodes { kReference, kExtended };
[[nodiscard]] ExitCodes ReadExitCodes(const base::Invocation& invocation);

// Ends a command: the result line on standard output, or the reason on standard error.
int Finish(ExitCodes codes, const base::Result<void>& end, std::string_view done);

}  // namespace partita::cli::parted
