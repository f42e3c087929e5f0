#include "service/inventory/reader.h"

#include "hw/node_facts.h"
#include "hw/procfs/display_module.h"
#include "service/inventory/node_facts.h"

namespace partita::service::inventory {

bool DisplayModuleHoldsGpus(const ReaderOptions& options) {
  return hw::procfs::DisplayModuleHoldsGpus(options.root);
}

model::NodeFacts ReadNodeFacts(const std::string& root) { return hw::ReadNodeFacts(root); }

}  // namespace partita::service::inventory
