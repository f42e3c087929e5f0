#pragma once

#include <string>

#include "base/result.h"

namespace partita::cli {

// The one table from reasons to exit statuses.
[[nodiscard]] int ExitStatusOf(base::ErrorCode code);

// Prints the error with its hint on standard error and returns the exit status that it means.
int ReportError(const base::Error& error);

// The error of a driver that was not found, with the options that tell where one is: below this
// layer nobody knows them. An error with a native code comes from a driver that was found.
[[nodiscard]] base::Error SayWhereToFind(base::Error error);

// `partita: warning: …` on standard error.
void Warn(const std::string& text);

}  // namespace partita::cli
