#include "tests/integration/simulated_machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "base/result.h"
#include "sim/load/catalog.h"
#include "sim/load/node_file.h"
#include "sim/state/mig.h"
#include "sim/state/render.h"
#include "sim/tool/pci_tree.h"

namespace partita::integration {
namespace {

void Require(bool condition, std::string_view what) {
  if (condition) return;
  fmt::print(stderr, "simulated machine: {}\n", what);
  std::abort();
}

void Require(const base::Result<void>& result) {
  Require(result.ok(), result.ok() ? "" : result.error().ToString());
}

sim::load::DataFile FindFile(const sim::load::Catalog& catalog, const std::string& node) {
  if (node.find('/') == std::string::npos) {
    const sim::load::DataFile* file = catalog.FindNode(node);
    Require(file != nullptr, "no such profile");
    return *file;
  }
  const base::Result<std::string> text = base::ReadFile(node);
  Require(text.ok(), text.ok() ? "" : text.error().ToString());
  return {std::filesystem::path(node).stem(), node, *text};
}

sim::load::LoadedNode Load(std::string_view profile) {
  const sim::load::Catalog catalog = sim::load::Catalog::BuiltIn();
  const sim::load::DataFile file = FindFile(catalog, std::string(profile));
  base::Result<sim::load::LoadedNode> node = sim::load::LoadNode(file, catalog, "");
  Require(node.ok(), node.ok() ? "" : node.error().ToString());
  return *std::move(node);
}

// In memory where possible: a machine is more than a thousand small files.
std::string MakeDirectory() {
  const bool memory = access("/dev/shm", W_OK) == 0;
  const std::filesystem::path parent =
      memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  std::string pattern = parent / "partita-machine-XXXXXX";
  Require(mkdtemp(pattern.data()) != nullptr, "no directory");
  return pattern;
}

}  // namespace

SimulatedMachine::SimulatedMachine(std::string_view profile) : root_(MakeDirectory()) {
  Require(base::MakeDirectories(root_ + "/sim", 0755));
  Require(base::MakeDirectories(root_ + "/dev", 0755));
  Require(base::WriteFile(root_ + "/sim/holders", "", 0666));
  const sim::load::LoadedNode node = Load(profile);
  Require(sim::tool::MakePciTree(root_, node));
  Require(sim::tool::RenderDriverLinks(root_, *node.machine, *node.slot));
  // Without the right to make device nodes their rendering fails, and the rest of it is there.
  (void)sim::RenderDriverFiles(root_.c_str(), *node.machine, *node.slot);
  const std::string state = root_ + "/sim/state";
  Require(sim::Create(state.c_str(), *node.machine, *node.slot) == 0, "no state");
  Require(sim::Store::Open(state.c_str(), sim::Access::kReadWrite, &store_) == 0,
          "the state does not open");
  setenv("PARTITA_SIM_STATE", state.c_str(), 1);
  // This process has its own /dev, not the node's.
  setenv("PARTITA_SIM_VISIBILITY", "off", 1);
}

SimulatedMachine::~SimulatedMachine() {
  store_.Close();
  (void)base::RemoveTree(root_);
}

hw::ReaderOptions SimulatedMachine::Options() const {
  hw::ReaderOptions options;
  options.root = root_;
  options.library = PARTITA_SIM_LIBRARY;
  return options;
}

void SimulatedMachine::Change(const std::function<void(const sim::Machine&, sim::Slot&)>& change) {
  {
    sim::Transaction transaction;
    Require(sim::Transaction::Begin(store_, &transaction) == 0, "the state cannot be changed");
    change(transaction.machine(), transaction.slot());
    (void)transaction.Commit();
  }
  const auto slot = std::make_unique<sim::Slot>();
  store_.Snapshot(slot.get());
  Require(sim::tool::RenderDriverLinks(root_, machine(), *slot));
}

std::uint32_t SimulatedMachine::MakeMigDevice(std::uint32_t gpu,
                                              std::uint32_t gi_constant,
                                              std::uint32_t ci_id) {
  std::uint32_t id = 0;
  Change([&](const sim::Machine& machine, sim::Slot& slot) {
    const sim::Board& its_board = machine.boards[gpu];
    sim::Gpu& its_state = slot.gpus[gpu];
    its_state.mig_current = its_state.mig_pending = 1;
    const sim::GiProfile* profile = sim::FindGiProfile(its_board, gi_constant);
    Require(profile != nullptr, "no such GPU instance profile");
    Require(sim::CreateGpuInstance(its_board, its_state, *profile, sim::kNone,
                                   slot.next_incarnation++, &id) == sim::MigStatus::kDone,
            "no room for the GPU instance");
  });
  MakeComputeInstance(gpu, id, ci_id);
  return id;
}

void SimulatedMachine::MakeComputeInstance(std::uint32_t gpu,
                                           std::uint32_t gpu_instance,
                                           std::uint32_t ci_id) {
  Change([&](const sim::Machine& machine, sim::Slot& slot) {
    const sim::Board& its_board = machine.boards[gpu];
    sim::GpuInstance& instance = slot.gpus[gpu].instances[gpu_instance];
    const sim::CiProfile* profile = sim::FindCiProfile(its_board, instance.profile, ci_id);
    Require(profile != nullptr, "no such compute instance profile");
    std::uint32_t id = 0;
    Require(sim::CreateComputeInstance(its_board, instance, *profile, sim::kNone, &id) ==
                sim::MigStatus::kDone,
            "no room for the compute instance");
  });
}

void SimulatedMachine::FailCall(const std::string& function,
                                std::uint32_t gpu,
                                std::uint32_t code,
                                std::uint32_t times) {
  sim::CallFault fault{};
  fault.kind = sim::CallFaultKind::kFail;
  fault.gpu = gpu;
  fault.code = code;
  fault.remaining = times;
  AddCallFault(fault, function);
}

void SimulatedMachine::HangCall(const std::string& function,
                                std::uint32_t gpu,
                                std::uint32_t times) {
  sim::CallFault fault{};
  fault.kind = sim::CallFaultKind::kHang;
  fault.gpu = gpu;
  fault.remaining = times;
  AddCallFault(fault, function);
}

void SimulatedMachine::KeepModePending(std::uint32_t gpu, std::uint32_t code, std::uint32_t times) {
  sim::CallFault fault{};
  fault.kind = sim::CallFaultKind::kActivation;
  fault.gpu = gpu;
  fault.code = code;
  fault.remaining = times;
  AddCallFault(fault, "nvmlDeviceSetMigMode");
}

void SimulatedMachine::MakeOther(sim::CallFaultKind kind,
                                 std::uint32_t gpu,
                                 const std::string& function) {
  sim::CallFault fault{};
  fault.kind = kind;
  fault.gpu = gpu;
  fault.remaining = 1;
  AddCallFault(fault, function);
}

void SimulatedMachine::AddCallFault(const sim::CallFault& fault, const std::string& function) {
  Change([&](const sim::Machine&, sim::Slot& slot) {
    for (sim::CallFault& entry : slot.call_faults) {
      if (entry.live != 0) continue;
      entry = fault;
      entry.live = 1;
      entry.id = slot.next_fault_id++;
      Require(function.size() < sizeof entry.function, "the function's name is too long");
      std::memcpy(entry.function, function.c_str(), function.size() + 1);
      return;
    }
    Require(false, "no room for another call fault");
  });
}

bool SimulatedMachine::AllHang() const {
  const auto slot = std::make_unique<sim::Slot>();
  store_.Snapshot(slot.get());
  return std::none_of(std::begin(slot->call_faults), std::end(slot->call_faults),
                      [](const sim::CallFault& fault) {
                        return fault.live == 1 && fault.kind == sim::CallFaultKind::kHang;
                      });
}

void SimulatedMachine::ClearCallFaults() {
  Change([](const sim::Machine&, sim::Slot& slot) {
    for (sim::CallFault& entry : slot.call_faults) entry.live = 0;
  });
}

model::PciAddress AddressOf(const SimulatedMachine& machine, std::uint32_t gpu) {
  const sim::PciFunction& pci = machine.board(gpu).pci;
  return {.domain = pci.domain,
          .bus = static_cast<std::uint8_t>(pci.bus),
          .device = static_cast<std::uint8_t>(pci.device),
          .function = 0};
}

}  // namespace partita::integration
