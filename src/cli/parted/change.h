// A change by nvidia-mig-parted, from the first hook to the last.
#pragma once

#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "service/mig/boot_selection.h"
#include "service/mig/goal_source.h"

namespace partita::cli::parted {

// `options` are the command's flags, which hooks see as variables. Once everything is applied or
// waits for a reset, `selection` is what the next boot selects.
[[nodiscard]] base::Result<void> Changed(const base::Invocation& invocation,
                                         const std::vector<base::Option>& options,
                                         const service::mig::BootSelection& selection,
                                         const service::mig::WantedGoal& goal);

}  // namespace partita::cli::parted
