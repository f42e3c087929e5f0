#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_status.h"

namespace partita::cli {

int RunCompletion(const base::Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments();
  const std::string script =
      base::Completion(ProgramNamed(words.size() > 1 ? words[1] : ""), words.at(0));
  std::fwrite(script.data(), 1, script.size(), stdout);
  return kExitDone;
}

}  // namespace partita::cli
