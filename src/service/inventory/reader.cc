#include "service/inventory/reader.h"

#include "hw/procfs/display_module.h"

namespace partita::service::inventory {

bool DisplayModuleHoldsGpus(const ReaderOptions& options) {
  return hw::procfs::DisplayModuleHoldsGpus(options.root);
}

}  // namespace partita::service::inventory
