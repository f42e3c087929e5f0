// Who is in the way of an operation. Asked before a mode change, a reset, a driver switch; those in
// the way are named, never killed. Whether this program's own handles are closed, and what counts
// on the kernel module, is for the driver's side to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/inventory.h"
#include "model/mig/plan.h"
#include "service/ledger/state.h"

namespace partita::service::ledger {

enum class BlockerKind : std::uint8_t {
  kHolder,           // in the ledger: pod, claim, virtual machine, another operation
  kForeignInstance,  // a GPU instance of somebody else
  kProcess,
  kHidden,   // memory in use that no process explains
  kUnknown,  // nobody can say who uses it
};

struct Blocker {
  BlockerKind kind;
  Device device;                  // what it holds
  std::string text;               // who it is, for people
  std::optional<model::Pid> pid;  // of a process
  std::string hint = {};          // what to do about it, where that is not plain
  bool operator==(const Blocker&) const = default;
};

// Everybody who keeps `device` (a GPU or a GPU instance of it) from being worked on; empty: clear.
// `plan` is the operation that asks, and is not in its own way.
[[nodiscard]] std::vector<Blocker> WhoBlocks(const State& state,
                                             const model::Inventory& inventory,
                                             const Device& device,
                                             const std::string& plan);

// The GPUs, and GPU instances of those that exist, that somebody holds or has reserved, whether or
// not a process is in them: a plan must leave them as they are.
[[nodiscard]] model::PinnedParts Pinned(const State& state, const model::Inventory& inventory);

}  // namespace partita::service::ledger
