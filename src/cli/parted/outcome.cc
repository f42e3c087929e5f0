#include "cli/parted/outcome.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/value.h"
#include "cli/exit_status.h"
#include "cli/parted/parted.h"
#include "cli/report_error.h"

namespace partita::cli::parted {

namespace {

struct LevelName {
  std::string_view terminal, file;
};

LevelName NameOf(Level level) {
  switch (level) {
    case Level::kDebug: return {"DEBU", "debug"};
    case Level::kWarning: return {"WARN", "warning"};
    case Level::kFatal: return {"FATA", "fatal"};
  }
  return {};
}

}  // namespace

ExitCodes ReadExitCodes(const base::Invocation& invocation) {
  const bool extended = invocation.Get("exit-codes").value_or("") == "extended";
  return extended ? ExitCodes::kExtended : ExitCodes::kReference;
}

std::string TextOf(const base::Error& error) {
  std::string text = error.ToString();
  if (!error.hint().empty()) text += fmt::format(": {}", error.hint());
  return text;
}

base::Error Unusable(std::string_view what, const base::Error& error) {
  return base::MakeError(base::ErrorCode::kInvalid, "{}: {}", what, TextOf(error));
}

base::Error WrongUsage(const base::Invocation& invocation, std::string message) {
  std::fputs(base::HelpText(MakeMigPartedProgram(), invocation.path()).c_str(), stdout);
  return {base::ErrorCode::kInvalid, std::move(message)};
}

base::Error MissingFlag(const base::Invocation& invocation, std::string_view flag) {
  return WrongUsage(invocation, fmt::format("missing required flags '{}'", flag));
}

void PrintLog(Level level, std::string message) {
  if (!message.empty()) {
    message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  }
  message = base::Printable(message, "\n\t");
  const LevelName name = NameOf(level);
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "{}[0000] {}\n", name.terminal, message);
    return;
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> when{};
  std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  fmt::print(stderr, "time=\"{}\" level={} msg={}\n", when.data(), name.file,
             base::JsonString(message));
}

int Finish(ExitCodes codes, const base::Result<void>& end, std::string_view done) {
  if (end.ok()) {
    if (!done.empty()) fmt::print("{}\n", done);
    return kExitDone;
  }
  PrintLog(Level::kFatal, TextOf(end.error()));
  return codes == ExitCodes::kExtended ? ExitStatusOf(end.error().code()) : kExitError;
}

}  // namespace partita::cli::parted
