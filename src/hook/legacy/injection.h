// What the prestart hook of the 2021 flow does, whoever calls it and however.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hook/legacy/root.h"
#include "hook/report.h"
#include "request/request.h"

namespace partita::hook {

struct LegacyCall {
  request::Request request;  // of a container that wants something
  std::int64_t pid = 0;      // of its process, which does not run yet
  LegacyRoot root;
  std::string driver_root{};                // empty: whatever the node has
  std::string ldconfig = "/sbin/ldconfig";  // the host's
  bool cgroups = true;
  bool bind_nodes = true;
  bool cuda_compat =
      false;  // the image's own CUDA libraries count where they can stand on the driver
};

// Everything is found, judged and planned before the container is touched.
[[nodiscard]] base::Result<void> InjectLegacy(const LegacyCall& call, const Report& report);

}  // namespace partita::hook
