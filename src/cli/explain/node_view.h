// The node that pods are held against: this one as its agent knows it, this one by a look of our
// own, or one that is not there.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "cli/command_options.h"
#include "service/explain/explain.h"

namespace partita::cli {

struct ExplainView {
  service::explain::NodeView node;
  std::string source;                 // "agent", "look", "model"
  std::vector<std::string> warnings;  // what the answer does not know
};

// kNoDriver: this machine has none; kInvalid: an option or a file of settings is wrong.
[[nodiscard]] base::Result<ExplainView> ViewNode(const base::Invocation& invocation,
                                                 const CommandOptions& options);

}  // namespace partita::cli
