// How the boards of a machine reach each other: what PCIe paths and NVLinks follow from a node
// file.
#pragma once

#include <cstdint>

#include "sim/state/layout.h"

namespace partita::sim::load {

// Levels of nvmlGpuTopologyLevel_t.
inline constexpr std::uint32_t kSingleSwitch = 10, kManySwitches = 20, kHostBridge = 30,
                               kNumaNode = 40, kSystem = 50;

// The level by the bridges above two different boards: a switch is an upstream port with downstream
// ports below it, so boards that part right below a common bridge share one switch.
[[nodiscard]] std::uint32_t CommonAncestor(const Board& a, const Board& b);

// Fills common_ancestor of every board. Towards itself a board gets 0.
void ConnectPcie(Machine& machine);

// Every link of the board goes to a switch, in turn.
void ConnectToSwitches(const Machine& machine, std::uint32_t links, Board& board);
// Every link of either board goes to the other.
void ConnectPair(std::uint32_t links, Board& a, Board& b);

}  // namespace partita::sim::load
