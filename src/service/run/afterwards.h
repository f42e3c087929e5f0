// What is left when this process has become another program and that has ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace partita::service::run {

struct Leavings {
  std::vector<std::string> command;      // run first: by path, with an empty environment; or empty
  std::vector<std::string> directories;  // then removed in this order, each as soon as it is empty
};

// A process that waits for the end of this one, however it comes, and clears up. It is nobody's
// child and in no terminal: whatever this process executes does not meet it. It stays outside of
// namespaces and cgroups that are entered later.
[[nodiscard]] base::Result<void> ClearAfterwards(const Leavings& leavings);

}  // namespace partita::service::run
