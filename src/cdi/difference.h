// How two specifications differ in what they do to a container.
#pragma once

#include <string>
#include <vector>

#include "cdi/spec.h"

namespace partita::cdi {

struct Difference {
  std::string where;   // "device 0:1: node /dev/nvidia-caps/nvidia-cap12"
  std::string before;  // "" where it was not there
  std::string after;   // "241:12"; "" where it is gone
  bool operator==(const Difference&) const = default;
};

// Devices by name, device nodes by path and mounts by container path, whatever their order; of two
// with the same the later counts, as in a container. Hooks, their arguments and env in their order.
// What is written in two ways but means the same (permissions "" and "rwm", a hostPath that is the
// path, a device's type that is left to the host) is no difference.
[[nodiscard]] std::vector<Difference> Differences(const Spec& before, const Spec& after);

}  // namespace partita::cdi
