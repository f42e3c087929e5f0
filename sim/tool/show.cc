#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/show_document.h"

namespace partita::sim::tool {

int RunShow(const base::Invocation& invocation) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  return Print(invocation, NodeDocument(**node, *(*node)->Snapshot()), NodeText);
}

}  // namespace partita::sim::tool
