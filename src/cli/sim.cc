#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/report_error.h"

namespace partita::cli {

// The simulator is a program of its own, which the agent's image does not contain.
int RunSim(const base::Invocation& invocation) {
  const base::Result<std::string> self = base::ReadLink("/proc/self/exe");
  if (!self.ok()) return ReportError(self.error());
  const std::string program = self->substr(0, self->rfind('/') + 1) + "partita-sim";
  std::vector<std::string> words = {program};
  words.insert(words.end(), invocation.rest().begin(), invocation.rest().end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  const int error_number = errno;
  base::Error error = base::ErrnoError("run " + program, error_number);
  if (error_number == ENOENT) {
    error = std::move(error).WithHint(
        "the simulator is not installed here; it is built beside partita and is no part of its "
        "images");
  }
  return ReportError(error);
}

}  // namespace partita::cli
