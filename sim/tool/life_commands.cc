#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/load/exchange.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/tool/busy.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/own_folders.h"
#include "sim/tool/pci_server.h"
#include "sim/tool/pci_tree.h"
#include "sim/tool/processes.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

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
    TRY_VOID(HandOverRegisters(*node, slot));
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
    TRY_VOID(HandOverRegisters(*node, state));
    Reboot(machine, state);
    return {};
  });
  if (!changed.ok()) return changed;
  const std::unique_ptr<Slot> now = node->Snapshot();
  fmt::print("node {}: boot {}, id {}\n", node->name(), now->boot, now->boot_id);
  return RenderDriverLinks(node->root(), node->machine(), *now);
}

base::Result<std::uint32_t> ChooseOneGpu(const Machine& machine,
                                         const base::Invocation& invocation) {
  TRY(gpus, ChooseGpus(machine, invocation, true));
  if (gpus.size() == 1) return gpus.front();
  return base::MakeError(ErrorCode::kInvalid, "{} GPUs: one board is exchanged at a time",
                         gpus.size());
}

// What the node is once the board is in: nothing of the old one, also not what was injected into
// calls on it.
std::unique_ptr<Slot> StateAfter(const Machine& machine, const Slot& before, std::uint32_t gpu) {
  auto slot = std::make_unique<Slot>(before);
  slot->gpus[gpu] = PluggedIn(machine.boards[gpu]);
  for (CallFault& fault : slot->call_faults) {
    if (fault.live != 0 && fault.gpu == gpu) fault = {};
  }
  return slot;
}

// Another file in the place of the state. Whoever still has the old one mapped sees a driver that
// was unloaded for ever; its calls that hang return.
base::Result<void> Replace(const Node& node,
                           const Machine& machine,
                           std::uint32_t gpu,
                           Slot& slot) {
  TRY_VOID(HandOverRegisters(node, slot));
  const std::unique_ptr<Slot> after = StateAfter(machine, slot, gpu);
  const std::string path = node.root() + "/sim/state";
  if (const int error = Create(path.c_str(), machine, *after); error != 0) {
    return base::ErrnoError("make " + path, error);
  }
  std::ranges::fill(slot.call_faults, CallFault{});
  return {};
}

// The files of the bus and the process that answers for it, on the node as it now is.
base::Result<void> ShowOnBus(const NodePlace& place) {
  TRY(node, Node::Open(place));
  const std::unique_ptr<Slot> slot = node->Snapshot();
  TRY_VOID(RenderExchangedGpus(node->root(), node->machine()));
  TRY_VOID(RenderDriverLinks(node->root(), node->machine(), *slot));
  if (const auto started = StartPciServer(*node); !started.ok()) Report(started.error());
  return {};
}

base::Result<void> ExchangeOne(const base::Invocation& invocation) {
  TRY(catalog, ChooseCatalog(invocation));
  TRY(place, ChooseNode(invocation));
  TRY(node, Node::Open(place));
  TRY(gpu, ChooseOneGpu(node->machine(), invocation));
  const load::NewBoard wanted = {invocation.arguments().front(),
                                 invocation.Get("uuid").value_or(""),
                                 invocation.Get("serial").value_or("")};
  TRY(machine, load::Exchange(node->machine(), gpu, wanted, catalog), "GPU {}", gpu);
  TRY_VOID(node->Change([&, gpu = gpu](const Machine&, Slot& slot) -> base::Result<void> {
    if (slot.driver_loaded != 0) {
      return base::MakeError(ErrorCode::kConflict,
                             "no board is exchanged under a driver that has it")
          .WithHint("partita-sim driver unload comes first, and driver load afterwards");
    }
    return Replace(*node, *machine, gpu, slot);
  }));
  TRY_VOID(ShowOnBus(place));
  fmt::print("GPU {} of node {}: {} instead of {}, {}\n", gpu, node->name(),
             machine->boards[gpu].name, node->machine().boards[gpu].name,
             machine->boards[gpu].uuid);
  return {};
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
int RunExchange(const base::Invocation& invocation) { return Finish(ExchangeOne(invocation)); }
int RunReset(const base::Invocation& invocation) { return Finish(Reset(invocation)); }
int RunReboot(const base::Invocation& invocation) { return Finish(Restart(invocation)); }

}  // namespace partita::sim::tool
