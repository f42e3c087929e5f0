#include "cli/report_error.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/characters.h"
#include "base/command_line.h"
#include "cli/exit_status.h"

namespace partita::cli {

int ExitStatusOf(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kInvalid: return kExitInvalidInput;
    case base::ErrorCode::kNotApplied: return kExitNotApplied;
    case base::ErrorCode::kBusy: return kExitBlocked;
    case base::ErrorCode::kResetRequired: return kExitResetRequired;
    case base::ErrorCode::kNoDriver: return kExitNoDriver;
    case base::ErrorCode::kNotFound:
    case base::ErrorCode::kUnavailable:
    case base::ErrorCode::kUnsupported:
    case base::ErrorCode::kDenied:
    case base::ErrorCode::kConflict:
    case base::ErrorCode::kTimeout:
    case base::ErrorCode::kIo:
    case base::ErrorCode::kInternal: return kExitError;
  }
  return kExitError;
}

int ReportError(const base::Error& error) {
  std::fputs(base::ErrorText("partita", error).c_str(), stderr);
  return ExitStatusOf(error.code());
}

base::Error SayWhereToFind(base::Error error) {
  if (error.native()) return error;
  std::string hint = error.hint();
  if (!hint.empty()) hint += '\n';
  return std::move(error).WithHint(hint + "--driver-root DIR or --library FILE say where it is");
}

void Warn(const std::string& text) {
  std::fprintf(stderr, "partita: warning: %s\n", base::Printable(text).c_str());
}

}  // namespace partita::cli
