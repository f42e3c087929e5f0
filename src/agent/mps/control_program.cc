#include "agent/mps/control_program.h"

#include "agent/mps/control.h"
#include "service/cdi/driver_root.h"

namespace partita::agent::mps {

base::Result<std::string> FindControlProgram(const std::string& driver_root) {
  TRY(driver, service::cdi::DriverRoot::Open(driver_root, driver_root));
  const service::cdi::Search search = service::cdi::ReadSearch(driver_root);
  const auto inside = service::cdi::FindExecutable(driver, search, kControlProgram);
  if (inside) return driver.MountSource(*inside);
  return base::MakeError(base::ErrorCode::kNotFound, "the driver in {} has no {}", driver_root,
                         kControlProgram)
      .WithHint(
          "install it: Debian's package is nvidia-cuda-mps, the driver's own installer has it");
}

}  // namespace partita::agent::mps
