#include "sim/tool/nodes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "sim/load/pci_address.h"
#include "sim/state/holders.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

std::string StatePath(const std::string& root) { return root + "/sim/state"; }

base::Result<void> OpenStore(const NodePlace& place, Store& store) {
  const std::string path = StatePath(place.root);
  const Access access = geteuid() == 0 ? Access::kReadWrite : Access::kReadOnly;
  const int error = Store::Open(path.c_str(), access, &store);
  if (error == EPROTO) {
    return base::MakeError(ErrorCode::kConflict,
                           "node {}: {} was made by another version of partita-sim",
                           base::Quoted(place.name), path)
        .WithHint("take it down (partita-sim down) and up again with this one");
  }
  if (error != 0) return base::ErrnoError("open " + path, error);
  return {};
}

base::Error NoNode(std::string_view name, const std::vector<NodePlace>& nodes) {
  if (nodes.empty()) {
    return base::MakeError(ErrorCode::kNotFound, "no node {} is up: none is", base::Quoted(name))
        .WithHint("partita-sim up dgx-a100-40 makes one; partita-sim profiles lists the others");
  }
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodePlace& node : nodes) names.push_back(node.name);
  const std::string near = base::DidYouMean(name, names);
  return base::MakeError(ErrorCode::kNotFound, "no node {} is up; there is {}", base::Quoted(name),
                         base::Join(names, ", "))
      .WithHint(near.empty() ? "" : "did you mean " + base::Quoted(near) + "?");
}

std::string NodeNameAt(const std::string& root) {
  Store store;
  if (Store::Open(StatePath(root).c_str(), Access::kReadOnly, &store) != 0) return "";
  std::string name = store.machine().node;
  store.Close();
  return name;
}

}  // namespace

std::string NodesDirectory() {
  const char* directory = std::getenv("PARTITA_SIM_DIR");
  return directory == nullptr || *directory == '\0' ? "/run/partita-sim" : directory;
}

bool InsideView() { return base::Exists(StatePath(NodesDirectory())); }

base::Result<std::vector<NodePlace>> ListNodes() {
  const std::string directory = NodesDirectory();
  if (InsideView()) return std::vector<NodePlace>{{NodeNameAt(directory), directory}};
  std::vector<NodePlace> nodes;
  if (!base::Exists(directory)) return nodes;
  TRY(names, base::ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string root = base::JoinPath(directory, name);
    if (name.starts_with(".") || !base::Exists(StatePath(root))) continue;
    nodes.push_back({name, root});
  }
  return nodes;
}

base::Result<NodePlace> ChooseNode(const base::Invocation& invocation) {
  TRY(nodes, ListNodes());
  const std::optional<std::string> name = invocation.Get("node");
  if (name) {
    const auto found = std::ranges::find(nodes, *name, &NodePlace::name);
    if (found == nodes.end()) return NoNode(*name, nodes);
    return *found;
  }
  if (nodes.size() == 1) return nodes.front();
  if (nodes.empty()) {
    return base::MakeError(ErrorCode::kNotFound, "no simulated node is up")
        .WithHint("partita-sim up dgx-a100-40 makes one; partita-sim profiles lists the others");
  }
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodePlace& node : nodes) names.push_back(node.name);
  return base::MakeError(ErrorCode::kInvalid, "several nodes are up: {}", base::Join(names, ", "))
      .WithHint("say which one with --node, or in PARTITA_SIM_NODE");
}

base::Result<std::unique_ptr<Node>> Node::Open(const NodePlace& place) {
  std::unique_ptr<Node> node(new Node(place));
  TRY_VOID(OpenStore(place, node->store_));
  return node;
}

base::Result<std::unique_ptr<Node>> Node::Open(const base::Invocation& invocation) {
  TRY(place, ChooseNode(invocation));
  return Open(place);
}

Node::~Node() {
  if (store_.is_open()) store_.Close();
}

std::unique_ptr<Slot> Node::Snapshot() const {
  auto slot = std::make_unique<Slot>();
  store_.Snapshot(slot.get());
  Reap(place_.root.c_str(), machine(), *slot);
  return slot;
}

base::Result<void> Node::Change(const Edit& change) {
  Transaction transaction;
  const int begun = Transaction::Begin(store_, &transaction);
  if (begun == EACCES || begun == EPERM || begun == EROFS) {
    return base::ErrnoError("change node " + base::Quoted(name()), begun)
        .WithHint("only root changes a node");
  }
  if (begun != 0) return base::ErrnoError("change node " + base::Quoted(name()), begun);
  Reap(place_.root.c_str(), machine(), transaction.slot());
  TRY_VOID(change(machine(), transaction.slot()));
  const int rendered = transaction.Commit();
  if (rendered != 0) {
    return base::ErrnoError(
               "node " + base::Quoted(name()) +
                   " was changed, but its files in proc and dev were not brought in line",
               rendered)
        .WithHint("the next change tries again");
  }
  return {};
}

base::Result<std::uint32_t> ParseGpu(const Machine& machine, std::string_view text) {
  if (const auto index = base::ParseUnsigned(text)) {
    if (*index < machine.gpu_count) return static_cast<std::uint32_t>(*index);
    return base::MakeError(ErrorCode::kNotFound, "no GPU {}: node {} has {}, numbered from 0",
                           *index, base::Quoted(machine.node), machine.gpu_count);
  }
  const auto address = load::ParsePciAddress(text);
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    const Board& board = machine.boards[i];
    if (text == board.uuid || (address && load::Same(*address, board.pci))) return i;
  }
  return base::MakeError(ErrorCode::kNotFound, "no GPU {} on node {}", base::Quoted(text),
                         base::Quoted(machine.node))
      .WithHint("name it by index, GPU-… UUID or PCI address; partita-sim show lists them");
}

base::Result<std::vector<std::uint32_t>> ChooseGpus(const Machine& machine,
                                                    const base::Invocation& invocation,
                                                    bool required) {
  const std::vector<std::string> given = invocation.GetAll("gpu");
  std::vector<std::uint32_t> gpus;
  if (given.empty() && required) {
    return base::MakeError(ErrorCode::kInvalid, "which GPU?")
        .WithHint("give --gpu with an index, UUID or PCI address, or --gpu all");
  }
  for (const std::string& list : given.empty() ? std::vector<std::string>{"all"} : given) {
    for (const std::string_view item : base::Split(list, ',')) {
      if (item == "all") {
        for (std::uint32_t i = 0; i < machine.gpu_count; ++i) gpus.push_back(i);
        continue;
      }
      TRY(gpu, ParseGpu(machine, item));
      gpus.push_back(gpu);
    }
  }
  std::ranges::sort(gpus);
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  return gpus;
}

}  // namespace partita::sim::tool
