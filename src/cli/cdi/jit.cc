#include "service/cdi/jit.h"

#include <cstdio>
#include <string>

#include "cli/cdi/commands.h"
#include "cli/cdi/node.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {

namespace {

base::Result<std::string> NodeDevicesText(const base::Invocation& invocation) {
  TRY(common, ReadCommandOptions(invocation));
  TRY(hooks, HookSetOf(invocation));
  TRY(inventory, ReadInventory(common));
  TRY(files, service::cdi::ReadNodeFiles(NodeFilesOptionsOf(invocation, common), inventory));
  return base::ToJsonLine(cdi::ToValue(service::cdi::MakeNodeDevices(inventory, files, hooks)));
}

int RunCdiJit(const base::Invocation& invocation) {
  const base::Result<std::string> text = NodeDevicesText(invocation);
  if (!text.ok()) return ReportError(text.error());
  std::printf("%s\n", text->c_str());
  return kExitDone;
}

}  // namespace

base::Command CdiJitCommand() {
  return {.name = "jit",
          .summary = "Print what partita-hook needs to know of this machine",
          .description =
              "One line of JSON (apis/devices-v1.schema.json): the devices, what a container needs "
              "for each, and the driver's files. partita-hook reads it where no agent keeps "
              "/run/partita/devices.json.",
          .options = {DevRootOption(), HookPathOption(), LdconfigPathOption()},
          .examples = {{"partita cdi jit", "as the runtime calls it"}},
          .hidden = true,
          .run = RunCdiJit};
}

}  // namespace partita::cli
