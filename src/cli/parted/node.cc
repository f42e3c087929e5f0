#include "cli/parted/node.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/mig/request.h"

namespace partita::cli::parted {

using base::Error;
using base::ErrorCode;
using base::Result;

service::inventory::ReaderOptions Reading() {
  service::inventory::ReaderOptions options;
  options.readings = false;
  options.only_mig = true;
  return options;
}

Outcome ReadNode(service::inventory::Reader& reader, model::Inventory& node) {
  node = reader.Read();
  if (node.driver) return std::nullopt;
  const Error none(ErrorCode::kUnavailable, "no driver answers on this machine");
  return Fail(node.driver_error.value_or(none), kExitNoDriver);
}

Outcome LoadSelected(const base::Invocation& invocation, std::optional<Selected>& selected) {
  const std::optional<std::string> path = invocation.Get("config-file");
  if (!path || path->empty()) return MissingFlag("config-file");
  Result<config::MigConfigFile> file = LoadMigConfig(*path);
  if (!file.ok()) {
    Failure failure = Fail(file.error(), kExitInvalidInput);
    failure.message = "error parsing config file: " + failure.message;
    return failure;
  }
  selected.emplace(Selected{*std::move(file)});
  const std::string name = invocation.Get("selected-config").value_or("");
  const std::vector<config::MigConfig>& configs = selected->file.configs();
  if (name.empty() && configs.size() > 1) {
    return Failure{
        "error selecting MIG config: missing required flag 'selected-config' when more "
        "than one config available",
        kExitInvalidInput};
  }
  const Result<const config::MigConfig*> config = selected->file.Select(name);
  if (!config.ok()) {
    return Failure{
        fmt::format("error selecting MIG config: selected mig-config not present: {}", name),
        kExitInvalidInput};
  }
  selected->config = *config;
  return std::nullopt;
}

}  // namespace partita::cli::parted
