#pragma once

#include "base/result.h"

namespace partita::cli {

// Prints the error with its hint on standard error and returns the exit status that it means.
int ReportError(const base::Error& error);

}  // namespace partita::cli
