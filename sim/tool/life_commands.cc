#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/tool/busy.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/own_folders.h"
#include "sim/tool/pci_registers.h"
#include "sim/tool/pci_server.h"
#include "sim/tool/pci_tree.h"
#include "sim/tool/processes.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

constexpr int kEndTimeoutMs = 5000;

// What answered for the GPUs without a driver ends, and its requests are what the driver finds.
base::Result<void> HandOver(const Node& node, Slot& slot) {
  if (slot.driver_loaded != 0) return {};
  TRY_VOID(EndPciServer(node.root()));
  AdoptRequests(node.root(), node.machine(), slot);
  return RemoveAllRegisters(node.root(), node.machine());
}

// What concerns the whole node: refused while GPUs are held, unless --force; then the files of
// drivers and modules follow.
base::Result<void> ChangeDriver(const base::Invocation& invocation,
                                std::string_view what,
                                bool wants_loaded,
                                void (*change)(const Machine&, Slot&)) {
  TRY(node, Node::Open(invocation));
  const bool force = invocation.Has("force");
  auto changed = node->Change([&](const Machine& machine, Slot& slot) -> base::Result<void> {
    if ((slot.driver_loaded != 0) != wants_loaded) {
      return base::MakeError(ErrorCode::kConflict, "{}: the driver is {}", what,
                             slot.driver_loaded != 0 ? "loaded already" : "not loaded");
    }
    if (!force) TRY_VOID(CheckNotHeld(*node, slot, AllGpus(machine), what));
    TRY_VOID(HandOver(*node, slot));
    change(machine, slot);
    return {};
  });
  if (!changed.ok()) return changed;
  const std::unique_ptr<Slot> now = node->Snapshot();
  TRY_VOID(RenderDriverLinks(node->root(), node->machine(), *now));
  // Nobody asked for registers: a node without them is unloaded all the same.
  if (now->driver_loaded == 0) {
    if (const auto started = StartPciServer(*node); !started.ok()) Report(started.error());
  }
  return {};
}

base::Result<void> Reset(const base::Invocation& invocation) {
  TRY(node, Node::Open(invocation));
  TRY(gpus, ChooseGpus(node->machine(), invocation, true));
  const bool force = invocation.Has("force");
  return node->Change([&](const Machine& machine, Slot& slot) -> base::Result<void> {
    if (slot.driver_loaded == 0) {
      return base::MakeError(ErrorCode::kConflict, "reset: the driver is not loaded");
    }
    if (!force) TRY_VOID(CheckNotHeld(*node, slot, gpus, "reset"));
    for (const std::uint32_t gpu : gpus) {
      if (slot.gpus[gpu].pci_driver != PciDriver::kNvidia) {
        return base::MakeError(ErrorCode::kConflict, "GPU {} is not bound to the nvidia driver",
                               gpu);
      }
      if (!ResetGpu(machine, slot, gpu)) {
        return base::MakeError(ErrorCode::kConflict,
                               "GPU {} is off the bus: a reset cannot reach it", gpu)
            .WithHint("partita-sim reboot, or fault clear");
      }
    }
    return {};
  });
}

base::Result<void> Restart(const base::Invocation& invocation) {
  TRY(node, Node::Open(invocation));
  const std::unique_ptr<Slot> slot = node->Snapshot();
  if (!invocation.Has("force")) {
    TRY_VOID(CheckNotHeld(*node, *slot, AllGpus(node->machine()), "reboot"));
  }
  // No process outlives a boot. Processes that are only watched live on, without their GPU.
  for (std::uint32_t i = 0; i < kMaxHolders; ++i) {
    if (slot->holders[i].live == 0) continue;
    TRY_VOID(EndLockOwner(node->holders_path(), i, SIGKILL, kEndTimeoutMs), "workload {}", i);
  }
  TRY_VOID(EmptyAtBoot(node->root()));
  auto changed = node->Change([&](const Machine& machine, Slot& state) -> base::Result<void> {
    TRY_VOID(HandOver(*node, state));
    Reboot(machine, state);
    return {};
  });
  if (!changed.ok()) return changed;
  const std::unique_ptr<Slot> now = node->Snapshot();
  fmt::print("node {}: boot {}, id {}\n", node->name(), now->boot, now->boot_id);
  return RenderDriverLinks(node->root(), node->machine(), *now);
}

}  // namespace

int RunDriverLoad(const base::Invocation& invocation) {
  return Finish(ChangeDriver(invocation, "load the driver", false, LoadDriver));
}
int RunDriverUnload(const base::Invocation& invocation) {
  return Finish(ChangeDriver(invocation, "unload the driver", true, UnloadDriver));
}
int RunDriverReload(const base::Invocation& invocation) {
  return Finish(ChangeDriver(invocation, "reload the driver", true, ReloadDriver));
}
int RunReset(const base::Invocation& invocation) { return Finish(Reset(invocation)); }
int RunReboot(const base::Invocation& invocation) { return Finish(Restart(invocation)); }

}  // namespace partita::sim::tool
