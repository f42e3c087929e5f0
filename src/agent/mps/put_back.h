// Compute modes after the last agent: it made GPUs exclusive for MPS, was taken away, and no other
// comes that would put them back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/inventory_reader.h"
#include "model/inventory.h"

namespace partita::agent::mps {

// What became of one GPU.
struct PutBack {
  std::string uuid;
  model::ComputeMode before = model::ComputeMode::kDefault;  // an agent made it exclusive
  bool changed = false;  // no error either: somebody else has set another mode meanwhile
  std::optional<base::Error> error;  // it is as it was, and still to be done
};

// What the last agent has left.
struct Left {
  std::string modes_file;
  std::string boot_id;
  std::string host_root;  // the host's files are below it
  std::string mps_root;   // of domains, on the host, beside what modes_file says; empty: no other
};

// Blocks. Of every GPU that the file of an agent's modes has for this boot, by UUID; the driver is
// asked for none without one. No agent runs meanwhile. kBusy: a daemon of MPS does, or that cannot
// be seen from here: whoever came next would have its GPU beside it, and without its limits.
[[nodiscard]] base::Result<std::vector<PutBack>> PutModesBack(const Left& left,
                                                              const hw::ReaderOptions& reader);

}  // namespace partita::agent::mps
