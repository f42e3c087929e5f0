#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "service/mig/generated_config.h"

namespace partita::cli {

namespace {

// A configuration has no words for them, and whoever applies it elsewhere does not want them.
void WarnOfUnclaimed(const model::Inventory& node) {
  for (const model::Gpu& gpu : node.gpus) {
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances) {
      if (!instance.compute_instances.empty()) continue;
      const std::string text = fmt::format(
          "{}: {} at slice {} is unclaimed, since it has no compute instance: it is left out",
          GpuLabel(gpu), instance.profile_name, instance.placement.start);
      std::fprintf(stderr, "partita: warning: %s\n", text.c_str());
    }
  }
}

struct ExportOptions : MigOptions {
  std::string label;  // of the configuration
};

base::Result<ExportOptions> ReadExportOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  return ExportOptions{std::move(common), invocation.Get("config-label").value_or("current")};
}

}  // namespace

int RunMigExport(const base::Invocation& invocation) {
  const base::Result<ExportOptions> options = ReadExportOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    const base::Result<base::Value> config = service::mig::ExportConfig(node, options->label);
    if (!config.ok()) return ReportError(config.error());
    WarnOfUnclaimed(node);
    PrintConfig(*options, *config);
    return kExitDone;
  });
}

}  // namespace partita::cli
