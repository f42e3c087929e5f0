// Why a resource cannot be had, and what would have to change.
#pragma once

#include <cstddef>
#include <string>

#include "service/explain/explain.h"

namespace partita::service::explain {

struct Advice {
  std::string text;    // what is so
  std::string change;  // what to do; empty where nothing on this node would help
};

// A name of ours under which there is nothing: another name of the same thing, a setting, or a MIG
// device that is still to be made, with the command that makes it.
[[nodiscard]] Advice WhyNotOffered(const NodeView& node, const config::ResourceRequest& request);

// More are asked for than are free. `above` are what pods and containers before it would have.
[[nodiscard]] Advice WhyNotEnough(const NodeView& node,
                                  const device_plugin::ReportedResource& resource,
                                  const config::ResourceRequest& request,
                                  std::size_t free,
                                  std::size_t above);

}  // namespace partita::service::explain
