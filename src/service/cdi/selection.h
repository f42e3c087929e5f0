// Which GPUs and MIG devices a specification is about.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::service::cdi {

// A GPU, or a MIG device of one.
struct Subject {
  const model::Gpu* gpu = nullptr;
  const model::GpuInstance* instance = nullptr;
  const model::ComputeInstance* compute = nullptr;
};

struct Selection {
  std::vector<Subject> subjects;
  std::vector<base::Error> broken;   // GPUs that should be here and cannot
  std::vector<std::string> nothing;  // why a GPU offers nothing though it is well
  // On the bus, but none of the driver's library, which counts without them.
  std::vector<const model::Gpu*> unlisted;
};

// GPUs that are not in MIG mode, and every MIG device.
[[nodiscard]] Selection SelectAll(const model::Inventory& inventory);

// These alone, by index ("0", "0:1"), UUID (also "MIG-GPU-<uuid>/<gi>/<ci>") or PCI address. A GPU
// in MIG mode is selected when it is named. kInvalid: not a name; kNotFound: nobody's.
[[nodiscard]] base::Result<Selection> SelectByIds(const model::Inventory& inventory,
                                                  std::span<const std::string> ids);

}  // namespace partita::service::cdi
