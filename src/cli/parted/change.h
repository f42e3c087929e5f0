// A change by nvidia-mig-parted, from the first hook to the last.
#pragma once

#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "service/mig/apply.h"
#include "service/mig/boot_selection.h"

namespace partita::cli::parted {

// `options` are the command's flags, which hooks see as variables. `modes` is the goal of a look
// without a driver; empty where there can be none.
// Once everything is applied or waits for a reset, `selection` is what the next boot selects.
[[nodiscard]] base::Result<void> Changed(const base::Invocation& invocation,
                                         const std::vector<base::Option>& options,
                                         const service::mig::BootSelection& selection,
                                         service::mig::NodeGoalFn goal,
                                         service::mig::NodeGoalFn modes = nullptr);

}  // namespace partita::cli::parted
