#include "tests/integration/outside.h"

#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "base/result.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/state/mig.h"

namespace partita::integration {
namespace {

using sim::Machine;
using sim::Slot;

// Read at each look, once in a session, or when somebody asks.
constexpr const char* kFunctions[] = {
    "*",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetGpuInstances",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetMemoryInfo_v2",
};
// Of nvmlReturn_t: a timeout, an interrupt lost, the operating system, no memory, unknown.
constexpr std::uint32_t kCodes[] = {10, 11, 17, 20, 999};
constexpr std::uint64_t kXids[] = {13, 31, 43, 48, 63, 74, 94, 95};

}  // namespace

Outside::Outside(SimulatedMachine& machine, std::uint64_t seed)
    : machine_(machine), random_(seed) {}

Outside::~Outside() {
  for (const int each : kept_open_) close(each);
}

std::uint32_t Outside::Pick(std::uint32_t end) {
  return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
}

std::string Outside::Happen() {
  using Thing = std::string (Outside::*)();
  // As often as it stands here.
  static constexpr Thing kThings[] = {
      &Outside::Xid,          &Outside::Xid,          &Outside::Lose,
      &Outside::FailCalls,    &Outside::FailCalls,    &Outside::FailCalls,
      &Outside::SlowCalls,    &Outside::HangCalls,    &Outside::FlipMigMode,
      &Outside::FlipMigMode,  &Outside::MakeInstance, &Outside::MakeInstance,
      &Outside::MakeInstance, &Outside::MakeInstance, &Outside::DestroyInstances,
      &Outside::StartProcess, &Outside::StartProcess, &Outside::StartProcess,
      &Outside::EndProcess,   &Outside::EndProcess,   &Outside::ReloadDriver,
      &Outside::UnloadDriver, &Outside::GiveToVfio,   &Outside::SetComputeMode,
  };
  return (this->*kThings[Pick(std::size(kThings))])();
}

void Outside::Heal() {
  machine_.ClearCallFaults();
  const bool reload = unloaded_ || !lost_.empty();
  machine_.Change([&](const Machine& machine, Slot& slot) {
    for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu)
      slot.gpus[gpu].pci_driver = sim::PciDriver::kNvidia;
    for (const std::uint32_t gpu : lost_) slot.gpus[gpu].lost = 0;
    if (!reload) return;
    if (slot.driver_loaded != 0) sim::UnloadDriver(machine, slot);
    sim::LoadDriver(machine, slot);
  });
  unloaded_ = false;
  lost_.clear();
}

void Outside::EndHangs() {
  machine_.Change([](const Machine&, Slot& slot) {
    for (sim::CallFault& fault : slot.call_faults) {
      if (fault.kind == sim::CallFaultKind::kHang) fault.live = 0;
    }
  });
}

std::string Outside::Xid() {
  const std::uint32_t gpu = PickGpu();
  const std::uint64_t xid = kXids[Pick(std::size(kXids))];
  machine_.Change([&](const Machine&, Slot& slot) { sim::AddXid(slot, gpu, xid); });
  return fmt::format("XID {} of GPU {}", xid, gpu);
}

std::string Outside::Lose() {
  const std::uint32_t gpu = PickGpu();
  if (lost_.size() >= 2 || unloaded_) return "nothing";
  machine_.Change([&](const Machine&, Slot& slot) { sim::LoseGpu(slot, gpu); });
  lost_.insert(gpu);
  return fmt::format("GPU {} is lost", gpu);
}

void Outside::AddFault(sim::CallFaultKind kind, std::uint32_t code, std::uint32_t times) {
  const std::uint32_t gpu = PickGpu();
  const std::string function = kFunctions[Pick(std::size(kFunctions))];
  machine_.Change([&](const Machine&, Slot& slot) {
    for (sim::CallFault& entry : slot.call_faults) {
      if (entry.live != 0) continue;
      entry = {};
      entry.live = 1;
      entry.kind = kind;
      entry.gpu = gpu;
      entry.code = code;
      entry.delay_ms = 120;
      entry.remaining = times;
      entry.id = slot.next_fault_id++;
      std::memcpy(entry.function, function.c_str(), function.size() + 1);
      return;
    }
  });
  last_fault_ = fmt::format("{} of GPU {}, {} times", function, gpu, times);
}

std::string Outside::FailCalls() {
  const std::uint32_t code = kCodes[Pick(std::size(kCodes))];
  AddFault(sim::CallFaultKind::kFail, code, Pick(2) == 0 ? 0 : 1 + Pick(20));
  return fmt::format("code {} of {}", code, last_fault_);
}

std::string Outside::SlowCalls() {
  AddFault(sim::CallFaultKind::kSlow, 0, 1 + Pick(3));
  return "slow: " + last_fault_;
}

std::string Outside::HangCalls() {
  AddFault(sim::CallFaultKind::kHang, 0, 0);
  return "hangs: " + last_fault_;
}

std::string Outside::FlipMigMode() {
  const std::uint32_t gpu = PickGpu();
  std::string said = "nothing";
  machine_.Change([&](const Machine&, Slot& slot) {
    sim::Gpu& state = slot.gpus[gpu];
    if (unloaded_ || sim::IsHeld(slot, gpu, sim::kNone, sim::kNone)) return;
    sim::DestroyAllInstances(state);
    state.mig_current = state.mig_pending = 1 - state.mig_current;
    sim::AddEvent(slot, gpu, sim::kEventMigConfigChange, 0);
    said = fmt::format("MIG of GPU {} is {}", gpu, state.mig_current);
  });
  return said;
}

std::string Outside::MakeInstance() {
  const std::uint32_t gpu = PickGpu();
  const std::uint32_t constant = Pick(5);
  std::string said = "nothing";
  machine_.Change([&](const Machine& machine, Slot& slot) {
    const sim::Board& board = machine.boards[gpu];
    sim::Gpu& state = slot.gpus[gpu];
    const sim::GiProfile* profile = sim::FindGiProfile(board, constant);
    std::uint32_t id = 0;
    if (unloaded_ || state.mig_current == 0 || profile == nullptr) return;
    if (sim::CreateGpuInstance(board, state, *profile, sim::kNone, slot.next_incarnation++, &id) !=
        sim::MigStatus::kDone)
      return;
    sim::AddEvent(slot, gpu, sim::kEventMigConfigChange, 0);
    said = fmt::format("GPU instance {} of GPU {}", id, gpu);
    const sim::CiProfile* compute = sim::FindCiProfile(board, constant, 0);
    if (Pick(4) == 0 || compute == nullptr) return;
    (void)sim::CreateComputeInstance(board, state.instances[id], *compute, sim::kNone, &id);
    sim::AddEvent(slot, gpu, sim::kEventMigConfigChange, 0);
  });
  return said;
}

std::string Outside::DestroyInstances() {
  const std::uint32_t gpu = PickGpu();
  std::string said = "nothing";
  machine_.Change([&](const Machine&, Slot& slot) {
    if (sim::CountGpuInstances(slot.gpus[gpu]) == 0 || unloaded_) return;
    if (sim::IsHeld(slot, gpu, sim::kNone, sim::kNone)) return;
    sim::DestroyAllInstances(slot.gpus[gpu]);
    sim::AddEvent(slot, gpu, sim::kEventMigConfigChange, 0);
    said = fmt::format("GPU {} has no instances any more", gpu);
  });
  return said;
}

std::string Outside::StartProcess() {
  sim::Holder holder{};
  holder.kind = sim::HolderKind::kCompute;
  holder.gpu = PickGpu();
  holder.gpu_instance = holder.compute_instance = sim::kNone;
  holder.utilization = Pick(100);
  holder.memory_bytes = std::uint64_t{1 + Pick(64)} << 20U;
  holder.pid_count = 1;
  holder.pids[0].pid_ns = sim::Self().pid_ns;
  holder.pids[0].pid = 3'000'000 + ++processes_;
  fmt::format_to_n(holder.name, sizeof holder.name - 1, "train-{}", processes_);
  const bool there = machine_.store().Read([&](const Slot& slot) {
    return slot.driver_loaded != 0 && slot.gpus[holder.gpu].mig_current == 0 &&
           slot.gpus[holder.gpu].lost == 0;
  });
  if (!there) return "nothing";
  int keep_open = -1;
  const int error = sim::HoldGuarded(machine_.store(), (machine_.root() + "/sim/holders").c_str(),
                                     holder, &keep_open);
  if (keep_open >= 0) kept_open_.push_back(keep_open);
  return error == 0 ? fmt::format("{} begins on GPU {}", holder.name, holder.gpu) : "nothing";
}

std::string Outside::EndProcess() {
  std::string said = "nothing";
  machine_.Change([&](const Machine& machine, Slot& slot) {
    const std::uint32_t first = Pick(sim::kMaxHolders);
    for (std::uint32_t i = 0; i < sim::kMaxHolders; ++i) {
      const std::uint32_t index = (first + i) % sim::kMaxHolders;
      if (slot.holders[index].live == 0) continue;
      said = fmt::format("{} ends", slot.holders[index].name);
      sim::EndHolder(machine, slot, index);
      return;
    }
  });
  return said;
}

std::string Outside::ReloadDriver() {
  if (unloaded_) return "nothing";
  EndHangs();
  machine_.Change(sim::ReloadDriver);
  return "the driver is loaded anew";
}

std::string Outside::UnloadDriver() {
  EndHangs();
  const bool load = unloaded_;
  machine_.Change([&](const Machine& machine, Slot& slot) {
    if (load)
      sim::LoadDriver(machine, slot);
    else
      sim::UnloadDriver(machine, slot);
  });
  unloaded_ = !load;
  return load ? "the driver is loaded" : "the driver is unloaded";
}

std::string Outside::GiveToVfio() {
  const std::uint32_t gpu = PickGpu();
  EndHangs();
  std::string said = "nothing";
  machine_.Change([&](const Machine&, Slot& slot) {
    sim::Gpu& state = slot.gpus[gpu];
    if (unloaded_ || state.lost != 0 || sim::IsHeld(slot, gpu, sim::kNone, sim::kNone)) return;
    const bool ours = state.pci_driver == sim::PciDriver::kNvidia;
    sim::DestroyAllInstances(state);
    state.pci_driver = ours ? sim::PciDriver::kVfio : sim::PciDriver::kNvidia;
    said = fmt::format("GPU {} is {}", gpu, ours ? "given to vfio" : "back from vfio");
  });
  return said;
}

std::string Outside::SetComputeMode() {
  const std::uint32_t gpu = PickGpu();
  const std::uint32_t mode = Pick(2) == 0 ? 0 : 3;
  machine_.Change([&](const Machine&, Slot& slot) { slot.gpus[gpu].compute_mode = mode; });
  return fmt::format("compute mode {} of GPU {}", mode, gpu);
}

}  // namespace partita::integration
