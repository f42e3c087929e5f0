#include "cli/mig_parted_outcome.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/value.h"
#include "cli/mig_parted.h"

namespace partita::cli::parted {

namespace {

bool Extended(const base::Invocation& invocation) {
  return invocation.Get("exit-codes").value_or("") == "extended";
}

}  // namespace

Failure Fail(const base::Error& error, int status) {
  std::string text = error.ToString();
  if (!error.hint().empty()) text += fmt::format(": {}", error.hint());
  return {std::move(text), status};
}

Failure MissingFlag(std::string_view flag) {
  return {fmt::format("missing required flags '{}'", flag), kExitInvalidInput, true};
}

void PrintFatal(std::string message) {
  if (!message.empty()) {
    message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  }
  if (isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "FATA[0000] %s\n", message.c_str());
    return;
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> when{};
  std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(stderr, "time=\"%s\" level=fatal msg=%s\n", when.data(),
               base::JsonString(message).c_str());
}

int Finish(const base::Invocation& invocation, const Outcome& failure, std::string_view done) {
  if (!failure) {
    if (!done.empty()) fmt::print("{}\n", done);
    return kExitDone;
  }
  if (failure->usage) {
    std::fputs(base::HelpText(MakeMigPartedProgram(), invocation.path()).c_str(), stdout);
  }
  PrintFatal(failure->message);
  return Extended(invocation) ? failure->status : kExitError;
}

}  // namespace partita::cli::parted
