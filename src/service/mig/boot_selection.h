// What the boot unit selects, in the drop-in file of nvidia-mig-manager.service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::service::mig {

// Empty: nothing is selected, and the boot unit takes what was applied last.
struct BootSelection {
  std::string config_file, hooks_file, config;
  bool operator==(const BootSelection&) const = default;
};

// The drop-in with this selection instead of its own; every other line stays.
[[nodiscard]] std::string WithSelection(std::string_view drop_in, const BootSelection& selection);

// kInvalid for a path with control characters, which no line of a drop-in can hold as they are.
[[nodiscard]] base::Result<void> CheckSelectable(const std::string& path);

// Lets the next boot bring back what was applied now, where the drop-in exists and would select
// something else. The reference does this in a hook, before it applies; here it follows success. A
// file that the boot unit cannot see is not selected: what was applied last is the same. Returns
// what somebody should know of it; nothing else depends on it. The caller holds the changing lock,
// so that two changes do not leave the layout of one and the selection of the other.
[[nodiscard]] std::vector<std::string> KeepSelection(BootSelection selection);

}  // namespace partita::service::mig
