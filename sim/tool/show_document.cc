#include "sim/tool/show_document.h"

#include <fmt/core.h>

#include "sim/load/pci_address.h"
#include "sim/state/holders.h"
#include "sim/state/mig.h"
#include "sim/state/time.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::Value;

Value Number(const Fact& fact) { return fact.known != 0 ? Value(fact.value) : Value(nullptr); }

Value ComputeInstances(const Board& board, std::uint32_t gi, const GpuInstance& instance) {
  Value list = Value::List();
  const GiProfile* parent = FindGiProfile(board, instance.profile);
  for (std::uint32_t id = 0; id < kMaxComputeInstances; ++id) {
    const ComputeInstance& compute = instance.compute[id];
    if (compute.live == 0 || parent == nullptr) continue;
    char uuid[kUuidSize];
    NameMigDevice(board, gi, id, uuid);
    Value entry = Value::Map();
    entry.Set("id", id);
    if (const CiProfile* profile = FindCiProfile(board, instance.profile, compute.profile)) {
      char name[kProfileNameSize];
      NameCiProfile(board, *parent, *profile, name);
      entry.Set("profile", name);
    }
    entry.Set("start", compute.start).Set("size", compute.size).Set("uuid", uuid);
    list.Add(std::move(entry));
  }
  return list;
}

Value Instances(const Board& board, const Gpu& gpu) {
  Value list = Value::List();
  for (std::uint32_t id = 0; id < kMaxGpuInstances; ++id) {
    const GpuInstance& instance = gpu.instances[id];
    const GiProfile* profile = FindGiProfile(board, instance.profile);
    if (instance.live == 0 || profile == nullptr) continue;
    char name[kProfileNameSize];
    NameGiProfile(board, *profile, name);
    list.Add(Value::Map()
                 .Set("id", id)
                 .Set("profile", name)
                 .Set("profile_id", profile->id)
                 .Set("start", instance.start)
                 .Set("size", profile->placement_size)
                 .Set("compute_instances", ComputeInstances(board, id, instance)));
  }
  return list;
}

Value MigDocument(const Board& board, const Gpu& gpu) {
  if (board.mig_activation == MigActivation::kNone) return nullptr;
  return Value::Map()
      .Set("current", gpu.mig_current != 0)
      .Set("pending", gpu.mig_pending != 0)
      .Set("instances", Instances(board, gpu));
}

Value Counters(const std::uint64_t (&pair)[2]) {
  return Value::Map().Set("corrected", pair[0]).Set("uncorrected", pair[1]);
}

Value GpuDocument(std::uint32_t index, const Board& board, const Gpu& gpu) {
  Value ecc = nullptr;
  if (board.ecc.known != 0) {
    ecc = Value::Map()
              .Set("current", gpu.ecc_current != 0)
              .Set("pending", gpu.ecc_pending != 0)
              .Set("volatile", Counters(gpu.ecc_volatile))
              .Set("aggregate", Counters(gpu.ecc_aggregate));
  }
  return Value::Map()
      .Set("index", index)
      .Set("uuid", board.uuid)
      .Set("name", board.name)
      .Set("product", board.product)
      .Set("serial", board.serial)
      .Set("pci", load::FormatPciAddress(board.pci))
      .Set("minor", board.minor)
      .Set("numa_node", board.numa_node)
      .Set("pci_driver", WordFor(PciDriverWords(), static_cast<std::uint32_t>(gpu.pci_driver)))
      .Set("lost", gpu.lost != 0)
      .Set("reset_required", gpu.reset_required != 0)
      .Set("recovery_action", WordFor(RecoveryActionWords(), gpu.recovery_action))
      .Set("resets", gpu.resets)
      .Set("compute_mode", WordFor(ComputeModeWords(), gpu.compute_mode))
      .Set("persistence", gpu.persistence_mode != 0)
      .Set("timeslice", WordFor(TimesliceWords(), gpu.timeslice))
      .Set("power_limit_mw", gpu.power_limit_mw == 0 ? Value(nullptr) : Value(gpu.power_limit_mw))
      .Set("mig", MigDocument(board, gpu))
      .Set("ecc", ecc)
      .Set("remapped_rows", Value::Map()
                                .Set("corrected", gpu.rows_corrected)
                                .Set("uncorrected", gpu.rows_uncorrected)
                                .Set("pending", gpu.rows_pending != 0)
                                .Set("failed", gpu.rows_failed != 0))
      .Set("overrides", Value::Map()
                            .Set("temperature", Number(gpu.temperature))
                            .Set("power_mw", Number(gpu.power_mw))
                            .Set("utilization", Number(gpu.utilization))
                            .Set("memory_utilization", Number(gpu.memory_utilization)));
}

Value IdOrNull(std::uint32_t id) { return id == kNone ? Value(nullptr) : Value(id); }

Value WorkloadDocument(const Node& node, const Holder& holder, std::uint32_t index) {
  const HolderView view = LookAtHolder(node.root().c_str(), holder, index);
  return Value::Map()
      .Set("id", index)
      .Set("gpu", holder.gpu)
      .Set("gpu_instance", IdOrNull(holder.gpu_instance))
      .Set("compute_instance", IdOrNull(holder.compute_instance))
      .Set("kind", WordFor(HolderKindWords(), static_cast<std::uint32_t>(holder.kind)))
      .Set("pid", view.pid == 0 ? Value(nullptr) : Value(view.pid))
      .Set("name", holder.name)
      .Set("memory_bytes", holder.memory_bytes)
      .Set("utilization", holder.utilization)
      .Set("memory_utilization", holder.memory_utilization)
      .Set("guarded", holder.guarded != 0)
      .Set("since", FormatTime(holder.since_ns));
}

Value CallFaultDocument(const CallFault& fault) {
  Value entry = Value::Map();
  entry.Set("id", fault.id).Set("kind", "call").Set("gpu", IdOrNull(fault.gpu));
  entry.Set("function", fault.function);
  switch (fault.kind) {
    case CallFaultKind::kFail:
      entry.Set("effect", "fail").Set("code", WordFor(NvmlErrorWords(), fault.code));
      break;
    case CallFaultKind::kSlow: entry.Set("effect", "slow").Set("delay_ms", fault.delay_ms); break;
    case CallFaultKind::kHang: entry.Set("effect", "hang"); break;
    case CallFaultKind::kActivation:
      entry.Set("effect", "activation").Set("code", WordFor(NvmlErrorWords(), fault.code));
      break;
    case CallFaultKind::kOtherPlace: entry.Set("effect", "other-place"); break;
    case CallFaultKind::kOtherProfile: entry.Set("effect", "other-profile"); break;
  }
  return entry.Set("remaining_calls",
                   fault.remaining == 0 ? Value(nullptr) : Value(fault.remaining));
}

}  // namespace

Value ClockDocument(const Slot& slot) {
  const std::uint64_t now = SimulatedNow(slot.clock);
  return Value::Map()
      .Set("now", FormatTime(now))
      .Set("now_ns", now)
      .Set("frozen", slot.clock.frozen != 0);
}

Value WorkloadsDocument(const Node& node, const Slot& slot) {
  Value list = Value::List();
  for (std::uint32_t i = 0; i < kMaxHolders; ++i) {
    if (slot.holders[i].live != 0) list.Add(WorkloadDocument(node, slot.holders[i], i));
  }
  return Value::Map().Set("workloads", list);
}

Value FaultsDocument(const Machine& machine, const Slot& slot) {
  Value list = Value::List();
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    const Gpu& gpu = slot.gpus[i];
    if (gpu.lost != 0) list.Add(Value::Map().Set("kind", "lost").Set("gpu", i));
    if (gpu.reset_required != 0) list.Add(Value::Map().Set("kind", "reset-required").Set("gpu", i));
  }
  if (slot.version_mismatch != 0) list.Add(Value::Map().Set("kind", "version-mismatch"));
  for (const CallFault& fault : slot.call_faults) {
    if (fault.live != 0) list.Add(CallFaultDocument(fault));
  }
  return Value::Map().Set("faults", list);
}

Value NodeDocument(const Node& node, const Slot& slot) {
  const Machine& machine = node.machine();
  Value gpus = Value::List();
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    gpus.Add(GpuDocument(i, machine.boards[i], slot.gpus[i]));
  }
  const std::uint32_t cuda = machine.cuda_version;
  return Value::Map()
      .Set("node", node.name())
      .Set("root", node.root())
      .Set("driver", Value::Map()
                         .Set("version", machine.driver_version)
                         .Set("cuda", fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10))
                         .Set("loaded", slot.driver_loaded != 0)
                         .Set("loads", slot.driver_loads)
                         .Set("version_mismatch", slot.version_mismatch != 0))
      .Set("boot", Value::Map().Set("count", slot.boot).Set("id", slot.boot_id))
      .Set("clock", ClockDocument(slot))
      .Set("events", slot.next_event - 1)
      .Set("gpus", gpus)
      .Set("workloads", *WorkloadsDocument(node, slot).Find("workloads"))
      .Set("faults", *FaultsDocument(machine, slot).Find("faults"));
}

}  // namespace partita::sim::tool
