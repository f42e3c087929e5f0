// A change by nvidia-mig-parted, from the first hook to the last.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "service/mig/boot_selection.h"
#include "service/mig/goal_source.h"

namespace partita::cli::parted {

// By the flags of apply and restore.
struct ChangeOptions {
  std::string hooks_file;  // "": no hooks
  bool skip_reset = false;
  bool mode_only = false;
  bool debug = false;
  std::map<std::string, std::string> variables;  // of all of these flags, as hooks see them
};
[[nodiscard]] ChangeOptions ReadChangeOptions(const base::Invocation& invocation,
                                              const std::vector<base::Option>& flags);

// Once everything is applied or waits for a reset, `selection` is what the next boot selects.
[[nodiscard]] base::Result<void> Changed(const ChangeOptions& options,
                                         const service::mig::BootSelection& selection,
                                         const service::mig::WantedGoal& goal);

}  // namespace partita::cli::parted
