// A specification of one GPU with everything usual in it, for tests.
#pragma once

#include "cdi/spec.h"

namespace partita::cdi::testing {

// Driver 550.90.07, GPU 0, named by index. Its text is tests/golden/cdi/f1.yaml.
[[nodiscard]] Spec F1();

}  // namespace partita::cdi::testing
