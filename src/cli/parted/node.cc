#include "cli/parted/node.h"

#include <optional>
#include <string>
#include <utility>

#include "cli/mig/request.h"
#include "model/unread.h"

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

Result<model::Inventory> ReadNode() {
  model::Inventory node = service::inventory::Reader(Reading()).Read();
  if (!node.driver) return model::WhyNoDriver(node);
  return node;
}

Result<Selected> LoadSelected(const base::Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("config-file");
  if (!path || path->empty()) return MissingFlag(invocation, "config-file");
  Result<config::MigConfigFile> file = LoadMigConfig(*path);
  if (!file.ok()) return Unusable("error parsing config file", file.error());
  Selected selected;
  selected.path = *path;
  selected.file = std::make_shared<const config::MigConfigFile>(*std::move(file));
  const std::string name = invocation.Get("selected-config").value_or("");
  if (name.empty() && selected.file->configs().size() > 1) {
    return Error(ErrorCode::kInvalid,
                 "error selecting MIG config: missing required flag 'selected-config' when more "
                 "than one config available");
  }
  const Result<const config::MigConfig*> config = selected.file->Select(name);
  if (!config.ok()) {
    return base::MakeError(ErrorCode::kInvalid,
                           "error selecting MIG config: selected mig-config not present: {}", name);
  }
  selected.config = *config;
  return selected;
}

}  // namespace partita::cli::parted
