// What a `mig` command is asked to make of GPUs: a configuration of a file, or words on the command
// line.
#pragma once

#include <string>
#include <utility>

#include "base/command_line.h"
#include "base/result.h"
#include "config/mig_config.h"
#include "model/inventory.h"
#include "service/mig/boot_selection.h"
#include "service/mig/goal_source.h"

namespace partita::cli {

// "-" is standard input.
[[nodiscard]] base::Result<config::MigConfigFile> LoadMigConfig(const std::string& path);

class MigRequest {
 public:
  // From --config-file with --selected-config, or --want; each with --gpu.
  [[nodiscard]] static base::Result<MigRequest> Read(const base::Invocation& invocation);

  // What the boot unit would have to select for the same: nothing for words, or for some GPUs only.
  [[nodiscard]] service::mig::BootSelection Selection() const;

  // See service::mig::WantedGoal.
  [[nodiscard]] base::Result<service::mig::NodeGoal> Resolve(const model::Inventory& node) const {
    return goal_.Resolve(node);
  }
  // Says on standard error which GPUs "all" leaves out, since they cannot be asked.
  void WarnOfLeftOut(const model::Inventory& node, const service::mig::NodeGoal& goal) const;

  [[nodiscard]] const service::mig::WantedGoal& goal() const { return goal_; }

 private:
  MigRequest(service::mig::WantedGoal goal, std::string path)
      : goal_(std::move(goal)), path_(std::move(path)) {}
  service::mig::WantedGoal goal_;
  std::string path_;  // of the file, as the command line names it
};

}  // namespace partita::cli
