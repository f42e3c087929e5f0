#include "cli/mig/request.h"

#include <cstdio>
#include <optional>
#include <utility>

#include "base/files.h"

namespace partita::cli {

using service::mig::GoalKind;
using service::mig::GoalSource;
using service::mig::WantedGoal;

base::Result<config::MigConfigFile> LoadMigConfig(const std::string& path) {
  TRY_VOID(service::mig::CheckSelectable(path));
  if (path != "-") return config::MigConfigFile::Load(path);
  TRY(text, base::ReadFile("/dev/stdin"), "standard input");
  return config::MigConfigFile::Parse(std::move(text), "standard input");
}

service::mig::BootSelection MigRequest::Selection() const {
  const GoalSource& source = goal_.source();
  if (source.kind != GoalKind::kFile || !source.gpus.empty()) return {};
  return {path_, "", source.config};
}

base::Result<MigRequest> MigRequest::Read(const base::Invocation& invocation) {
  GoalSource source;
  source.gpus = invocation.GetAll("gpu");
  std::optional<std::string> file = invocation.Get("config-file");
  const std::optional<std::string> want = invocation.Get("want");
  // A flag beats a variable, of another option too.
  if (want && invocation.FromEnvironment("config-file")) file.reset();
  if (file.has_value() == want.has_value()) {
    return base::Error(base::ErrorCode::kInvalid,
                       file ? "--config-file and --want exclude each other"
                            : "nothing says what the GPUs shall be")
        .WithHint("-f FILE with -c NAME takes a configuration, --want \"1g.5gb:7\" is one itself");
  }
  if (want) {
    source.text = *want;
    TRY(goal, WantedGoal::Parse(std::move(source)));
    return MigRequest(std::move(goal), "");
  }
  TRY(loaded, LoadMigConfig(*file));
  TRY(config, loaded.Select(invocation.Get("selected-config").value_or("")));
  source.kind = GoalKind::kFile;
  source.text = loaded.document().text();
  source.file = loaded.document().file_name();
  source.config = config->name;
  TRY(goal, WantedGoal::Parse(std::move(source)));
  return MigRequest(std::move(goal), *file);
}

void MigRequest::WarnOfLeftOut(const model::Inventory& node,
                               const service::mig::NodeGoal& goal) const {
  for (const std::string& line : goal_.LeftOut(node, goal)) {
    std::fprintf(stderr, "partita: warning: %s\n", line.c_str());
  }
}

}  // namespace partita::cli
