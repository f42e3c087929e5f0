#include "hw/procfs/display_module.h"

#include "base/files.h"
#include "base/text.h"

namespace partita::hw::procfs {

bool DisplayModuleHoldsGpus(const std::string& root) {
  // Below /sys/module only while it is loaded; absent and unreadable are no reason to warn.
  const base::Result<std::string> modeset =
      base::ReadFile(base::JoinPath(root, "sys/module/nvidia_drm/parameters/modeset"));
  return modeset.ok() && base::Trim(*modeset) == "Y";
}

}  // namespace partita::hw::procfs
