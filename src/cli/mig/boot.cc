#include "service/mig/boot.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/characters.h"
#include "cli/mig/change.h"
#include "cli/mig/change_place.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

void Say(const std::string& line) {
  std::fprintf(stderr, "partita-mig: %s\n", base::Printable(line, "\n\t").c_str());
}

struct MigBootOptions : MigOptions {
  service::mig::BootChoice choice;
};

base::Result<MigBootOptions> ReadMigBootOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  const auto text = [&](const char* option) { return invocation.Get(option).value_or(""); };
  service::mig::BootChoice choice;
  choice.selected_config = text("selected-config");
  choice.config_file = text("config-file");
  choice.config_dir = text("config-dir");
  choice.hooks_file = text("hooks-file");
  choice.gpu_clients_file = text("gpu-clients-file");
  choice.reboot = invocation.Has("reboot");
  return MigBootOptions{std::move(common), std::move(choice)};
}

}  // namespace

int RunMigBoot(const base::Invocation& invocation) {
  const base::Result<MigBootOptions> options = ReadMigBootOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  StopOnSignals();
  const service::mig::BootEnd end =
      ChangePlace(options->reader).Boot(options->choice, [](const service::mig::ChangeNews& news) {
        if (news.kind == service::mig::NewsKind::kLine) {
          Say(news.text);
        } else {
          ShowProgress(news);
        }
      });
  Say(end.line);
  return ExitStatus(end.status);
}

}  // namespace partita::cli
