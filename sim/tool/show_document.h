// The state of a node as a document; every command that shows a part of it shows it from here.
#pragma once

#include <string>

#include "base/value.h"
#include "sim/state/layout.h"
#include "sim/tool/nodes.h"

namespace partita::sim::tool {

[[nodiscard]] base::Value NodeDocument(const Node& node, const Slot& slot);
[[nodiscard]] base::Value ClockDocument(const Slot& slot);
// `{"workloads": […]}`: who holds which GPU or slice.
[[nodiscard]] base::Value WorkloadsDocument(const Node& node, const Slot& slot);
// `{"faults": […]}`: what was injected and has not ended.
[[nodiscard]] base::Value FaultsDocument(const Machine& machine, const Slot& slot);

[[nodiscard]] std::string NodeText(const base::Value& document);
[[nodiscard]] std::string ClockText(const base::Value& document);
[[nodiscard]] std::string WorkloadsText(const base::Value& document);
[[nodiscard]] std::string FaultsText(const base::Value& document);

}  // namespace partita::sim::tool
