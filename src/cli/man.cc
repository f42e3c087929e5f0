#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_status.h"

namespace partita::cli {

int RunMan(const base::Invocation&) {
  const std::string page = base::ManPage(MakeProgram());
  std::fwrite(page.data(), 1, page.size(), stdout);
  return kExitDone;
}

}  // namespace partita::cli
