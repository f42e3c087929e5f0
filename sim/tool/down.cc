#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/tool/building.h"
#include "sim/tool/busy.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/pci_server.h"
#include "sim/tool/processes.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

base::Result<void> CheckNobodyInside(const std::string& name, const std::string& root) {
  std::vector<Process> inside = ProcessesInView(root);
  std::erase_if(inside, [server = PciServer(root)](const Process& process) {
    return process.pid == server;  // goes with the node, wherever it was started
  });
  if (inside.empty()) return {};
  std::vector<std::string> names;
  names.reserve(inside.size());
  for (const Process& process : inside) names.push_back(Describe(process));
  return base::MakeError(ErrorCode::kBusy, "take down {}: {} in it", base::Quoted(name),
                         base::Join(names, ", ") + (names.size() == 1 ? " runs" : " run"))
      .WithHint("end them, or use --force: they stay, with an empty driver root");
}

// Guardians have nothing left to guard.
base::Result<void> EndGuardians(Node& node) {
  const std::unique_ptr<Slot> slot = node.Snapshot();
  for (std::uint32_t i = 0; i < kMaxHolders; ++i) {
    if (slot->holders[i].live == 0 || slot->holders[i].guarded == 0) continue;
    TRY_VOID(EndLockOwner(node.holders_path(), i, SIGTERM, kEndTimeoutMs), "workload {}", i);
  }
  return {};
}

base::Result<void> Down(const base::Invocation& invocation) {
  if (InsideView()) {
    return base::MakeError(ErrorCode::kConflict,
                           "this is the node itself: take it down from outside")
        .WithHint("leave partita-sim run or shell first");
  }
  TRY(place, ChooseNode(invocation));
  if (geteuid() != 0) {
    return base::MakeError(ErrorCode::kDenied, "take down {}: only root can",
                           base::Quoted(place.name))
        .WithHint("run this as root");
  }
  const auto node = Node::Open(place);
  // A state of another version, or none, is no reason to keep a node for ever.
  if (node.ok()) {
    if (!invocation.Has("force")) {
      const std::unique_ptr<Slot> slot = (*node)->Snapshot();
      TRY_VOID(CheckNotHeld(**node, *slot, AllGpus((*node)->machine()), "take down the node"));
      TRY_VOID(CheckNobodyInside(place.name, place.root));
    }
    TRY_VOID(EndGuardians(**node));
  }
  TRY_VOID(EndPciServer(place.root));
  TRY_VOID(Demolish(NodesDirectory(), place.name));
  fmt::print("node {} is down\n", place.name);
  return {};
}

}  // namespace

int RunDown(const base::Invocation& invocation) { return Finish(Down(invocation)); }

}  // namespace partita::sim::tool
