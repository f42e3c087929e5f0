// A node that is not there: of products and machines that the program knows, with MIG layouts that
// the planner makes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"
#include "model/node_facts.h"

namespace partita::service::explain {

struct ModelNode {
  // UUIDs are made up, and so are addresses of products that stand in no machine. The driver is
  // there without a version where no machine says one.
  model::Inventory inventory;
  model::NodeFacts facts;
};

// Each of `models` is a product ("A100-SXM4-40GB"), several ("A100-SXM4-40GB x8") or a machine
// ("dgx-a100-40"), with a layout of its own behind "=" ("A100-SXM4-40GB x4 = 1g.5gb:2,3g.20gb").
// `layout` is for every GPU that can do MIG and has none of its own: the words of --want, or
// "all-1g.5gb" for as many as fit. kInvalid says which is wrong.
[[nodiscard]] base::Result<ModelNode> MakeModelNode(const std::vector<std::string>& models,
                                                    const std::optional<std::string>& layout);

}  // namespace partita::service::explain
