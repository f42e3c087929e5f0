#include "sim/load/topology.h"

#include "sim/load/pci_address.h"

namespace partita::sim::load {
namespace {

// The bus that the topmost device of the path sits on.
const PciFunction& OnRootBus(const Board& board) {
  return board.bridge_count > 0 ? board.bridges[0] : board.pci;
}

bool SameRootBus(const Board& a, const Board& b) {
  return OnRootBus(a).domain == OnRootBus(b).domain && OnRootBus(a).bus == OnRootBus(b).bus;
}

void AddLink(Board& board, LinkRemote kind, const PciFunction& remote) {
  board.links[board.link_count++] = {kind, remote.domain, remote.bus, remote.device};
}

}  // namespace

std::uint32_t CommonAncestor(const Board& a, const Board& b) {
  std::uint32_t common = 0;
  while (common < a.bridge_count && common < b.bridge_count &&
         Same(a.bridges[common], b.bridges[common])) {
    ++common;
  }
  if (common > 0) {
    const bool direct = a.bridge_count - common <= 1 && b.bridge_count - common <= 1;
    return direct ? kSingleSwitch : kManySwitches;
  }
  if (SameRootBus(a, b)) return kHostBridge;
  return a.numa_node == b.numa_node ? kNumaNode : kSystem;
}

void ConnectPcie(Machine& machine) {
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    for (std::uint32_t j = 0; j < machine.gpu_count; ++j) {
      machine.boards[i].common_ancestor[j] =
          i == j ? 0 : CommonAncestor(machine.boards[i], machine.boards[j]);
    }
  }
}

void ConnectToSwitches(const Machine& machine, std::uint32_t links, Board& board) {
  for (std::uint32_t i = 0; i < links && machine.switch_count > 0; ++i) {
    AddLink(board, LinkRemote::kSwitch, machine.switches[i % machine.switch_count]);
  }
}

void ConnectPair(std::uint32_t links, Board& a, Board& b) {
  for (std::uint32_t i = 0; i < links; ++i) {
    AddLink(a, LinkRemote::kGpu, b.pci);
    AddLink(b, LinkRemote::kGpu, a.pci);
  }
}

}  // namespace partita::sim::load
