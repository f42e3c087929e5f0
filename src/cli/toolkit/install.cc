#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "cli/toolkit/commands.h"
#include "service/cdi/node_files.h"
#include "service/toolkit/install.h"

namespace partita::cli {

int RunToolkitInstall(const base::Invocation& invocation) {
  const std::string hook = service::cdi::InstalledHook();
  const auto done = service::toolkit::InstallToolkit(hook, invocation.Get("to").value_or(""));
  if (!done.ok()) return ReportError(done.error());
  base::Value changed = base::Value::List();
  for (const std::string& name : done->changed) changed.Add(name);
  base::Value document = base::Value::Map();
  document.Set("apiVersion", "partita.dev/toolkit/v1")
      .Set("kind", "InstalledToolkit")
      .Set("program", done->program)
      .Set("changed", std::move(changed));
  const std::string text =
      done->changed.empty()
          ? fmt::format("{}: nothing to change\n", done->program)
          : fmt::format("{}: installed {}\n", done->program, base::Join(done->changed, ", "));
  return PrintAnswer(invocation, document, text, kExitDone);
}

base::Command ToolkitCommand() {
  return {
      .name = "toolkit",
      .summary = "Put what container engines call onto a host",
      .examples = {{"partita toolkit install", "from an agent's image to its host"}},
      .commands = {{
          .name = "install",
          .summary = "Copy partita-hook to a directory, under all its names",
          .description =
              "CDI files name a program that engines start on the host. Where partita runs in a "
              "container, that program has to be put there: this copies the partita-hook beside "
              "this program, and links nvidia-cdi-hook, nvidia-container-runtime and the other "
              "names to it. Programs that run meanwhile go on; what is there already is left "
              "alone.",
          .options = {{.name = "to",
                       .value_name = "DIR",
                       .help = "the directory on the host",
                       .default_value = "/usr/local/nvidia/toolkit"}},
          .examples = {{"partita toolkit install", "to the usual place"},
                       {"partita toolkit install --to /opt/nvidia/toolkit",
                        "where /usr is read-only"}},
          .run = RunToolkitInstall,
      }},
  };
}

}  // namespace partita::cli
