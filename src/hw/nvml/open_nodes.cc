#include "hw/nvml/open_nodes.h"

#include "base/files.h"

namespace partita::hw::nvml {

base::Result<void> CheckNoOpenNodes(const std::string& directory) {
  TRY(names, base::ListDirectory(directory));
  for (const std::string& name : names) {
    // One that is closed in between, as that of the listing itself, is nobody's.
    const base::Result<std::string> target = base::ReadLink(base::JoinPath(directory, name));
    if (target.ok() && target->starts_with("/dev/nvidia")) {
      return base::MakeError(base::ErrorCode::kBusy, "this process still has {} open", *target)
          .WithHint(
              "the driver's library did not close it: see the kernel log, then end this "
              "process and try again");
    }
  }
  return {};
}

}  // namespace partita::hw::nvml
