// Nodes that are up: where they are, which one a command means, and how it changes one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "sim/state/store.h"

namespace partita::sim::tool {

// The directory that holds all nodes: PARTITA_SIM_DIR, else /run/partita-sim.
[[nodiscard]] std::string NodesDirectory();

struct NodePlace {
  std::string name;
  std::string root;
};

// By name. Inside a node's view: that node alone.
[[nodiscard]] base::Result<std::vector<NodePlace>> ListNodes();
// The one that --node names; without it the only one there is.
[[nodiscard]] base::Result<NodePlace> ChooseNode(const base::Invocation& invocation);

// Whether the nodes' directory is itself a node: this process runs in a node's view.
[[nodiscard]] bool InsideView();

class Node {
 public:
  // The result is not copied around: a Node keeps the state mapped until it goes.
  [[nodiscard]] static base::Result<std::unique_ptr<Node>> Open(const NodePlace& place);
  // ChooseNode, then Open.
  [[nodiscard]] static base::Result<std::unique_ptr<Node>> Open(const base::Invocation& invocation);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const std::string& name() const { return place_.name; }
  [[nodiscard]] const std::string& root() const { return place_.root; }
  [[nodiscard]] const Machine& machine() const { return store_.machine(); }
  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] std::string holders_path() const { return place_.root + "/sim/holders"; }

  // A consistent copy of the state, with the entries of dead holders freed.
  [[nodiscard]] std::unique_ptr<Slot> Snapshot() const;

  // One transaction: `change` checks and edits the slot, in which dead holders are freed already.
  // After an error from it nothing has changed.
  using Edit = std::function<base::Result<void>(const Machine&, Slot&)>;
  [[nodiscard]] base::Result<void> Change(const Edit& change);

 private:
  explicit Node(NodePlace place) : place_(std::move(place)) {}
  NodePlace place_;
  Store store_;
};

// A GPU by index, UUID or PCI address.
[[nodiscard]] base::Result<std::uint32_t> ParseGpu(const Machine& machine, std::string_view text);
// The GPUs of every --gpu given, each a list by commas or "all"; without it all, or an error when
// `required`.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> ChooseGpus(
    const Machine& machine, const base::Invocation& invocation, bool required);

}  // namespace partita::sim::tool
