// How a MIG device that a pod asks for could be made, or a whole GPU of divided ones.
#pragma once

#include <cstdint>
#include <string>

#include "model/profile_name.h"
#include "service/explain/advice.h"

namespace partita::service::explain {

// What to do for so many more devices of a profile: the command that makes them without taking
// anything from anybody, as the planner of `partita mig` finds it; or why there is none.
[[nodiscard]] std::string HowToMake(const NodeView& node,
                                    const model::ProfileName& profile,
                                    std::uint64_t count);

// What to do for a GPU that is not divided, where every one is: the command that takes nothing from
// anybody, or who holds what.
[[nodiscard]] std::string HowToMakeWhole(const NodeView& node);

// Whether some GPU has one already, whoever it is offered to.
[[nodiscard]] bool HasDevice(const NodeView& node, const model::ProfileName& profile);

}  // namespace partita::service::explain
