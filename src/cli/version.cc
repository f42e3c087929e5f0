#include <fmt/format.h>

#include "base/value.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/exit_status.h"

namespace partita::cli {

std::string_view Version() { return PARTITA_VERSION; }

int RunVersion(const base::Invocation& invocation) {
  const base::Value document = base::Value::Map()
                                   .Set("apiVersion", "partita.dev/version/v1")
                                   .Set("kind", "Version")
                                   .Set("version", Version())
                                   .Set("compiler", "gcc " __VERSION__)
                                   .Set("statusApiVersion", "partita.dev/status/v1");
  return PrintAnswer(invocation, document, fmt::format("partita {}\n", Version()), kExitDone);
}

}  // namespace partita::cli
