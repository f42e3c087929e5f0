#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "cli/draw/drawing.h"
#include "config/mig_config.h"
#include "model/inventory.h"

namespace partita::cli {

// One configuration of a file, judged.
struct ConfigVerdict {
  std::string name;
  std::size_t gpus = 0;              // that it is for, here
  std::vector<std::string> reasons;  // why it cannot be; empty when it can
  bool operator==(const ConfigVerdict&) const = default;
};

// Whether the GPUs of the node, were they empty and idle, could become what the configuration says.
[[nodiscard]] ConfigVerdict Validate(const config::MigConfigFile& file,
                                     const config::MigConfig& config,
                                     const model::Inventory& node);

// As many GPUs of a kind as the configurations name by index, so that every entry is judged.
[[nodiscard]] model::Inventory ModelNode(const model::Gpu& gpu,
                                         const std::vector<config::MigConfig>& configs);

[[nodiscard]] Lines DrawVerdicts(const std::vector<ConfigVerdict>& verdicts, const Look& look);
// partita.dev/mig/v1, kind MigValidation.
[[nodiscard]] base::Value VerdictsDocument(const std::vector<ConfigVerdict>& verdicts);

}  // namespace partita::cli
