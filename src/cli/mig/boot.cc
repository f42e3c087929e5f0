#include "service/mig/boot.h"

#include <cstdio>
#include <string>

#include "base/characters.h"
#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

void Say(const std::string& line) {
  std::fprintf(stderr, "partita-mig: %s\n", base::Printable(line, "\n\t").c_str());
}

}  // namespace

int RunMigBoot(const base::Invocation& invocation) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const auto text = [&](const char* option) { return invocation.Get(option).value_or(""); };
  service::mig::BootOptions boot;
  boot.reader = options->reader;
  boot.selected_config = text("selected-config");
  boot.config_file = text("config-file");
  boot.config_dir = text("config-dir");
  boot.hooks_file = text("hooks-file");
  boot.gpu_clients_file = text("gpu-clients-file");
  boot.reboot = invocation.Has("reboot");
  boot.stop = &StopFlag();
  boot.say = Say;
  boot.hook_wrote = ShowOutput;
  StopOnSignals();
  const service::mig::BootEnd end = service::mig::BringMigBack(boot);
  Say(end.line);
  return ExitStatus(end.status);
}

}  // namespace partita::cli
