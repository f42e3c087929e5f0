#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_status.h"

namespace partita::cli {

int RunCompletion(const base::Invocation& invocation) {
  const std::string script = base::Completion(MakeProgram(), invocation.arguments().at(0));
  std::fwrite(script.data(), 1, script.size(), stdout);
  return kExitDone;
}

}  // namespace partita::cli
