#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_status.h"

namespace partita::cli {

int RunMan(const base::Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments();
  const std::string page = base::ManPage(ProgramNamed(words.empty() ? "" : words.front()));
  std::fwrite(page.data(), 1, page.size(), stdout);
  return kExitDone;
}

}  // namespace partita::cli
