// The state of a container as runtimes hand it to hooks on standard input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::oci {

struct State {
  std::string id, bundle, root;  // `root`: crun tells it; else empty
  std::int64_t pid = 0;          // 0: none yet
};

// Takes only what it knows; `bundlePath`, from before the specification, is the bundle too.
// kInvalid: no JSON, no map, a member of another kind.
[[nodiscard]] base::Result<State> ParseState(std::string_view json);

// `root.path` of a config.json; kInvalid where there is none.
[[nodiscard]] base::Result<std::string> ParseRootPath(std::string_view config_json);

}  // namespace partita::oci
