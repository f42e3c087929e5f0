#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "sim/load/built_in.h"
#include "sim/state/life.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/pci_tree.h"
#include "sim/tool/show_document.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

base::Result<std::optional<std::uint32_t>> ReadNumber(const base::Invocation& invocation,
                                                      std::string_view option,
                                                      std::uint64_t min,
                                                      std::uint64_t max) {
  const std::optional<std::string> text = invocation.Get(option);
  if (!text) return std::optional<std::uint32_t>();
  const auto number = base::ParseUnsigned(*text);
  if (!number || *number < min || *number > max) {
    return base::MakeError(ErrorCode::kInvalid, "--{}: not a number from {} to {}: {}", option, min,
                           max, base::Quoted(*text));
  }
  return std::optional<std::uint32_t>(static_cast<std::uint32_t>(*number));
}

struct Xid {
  std::uint64_t number = 0;
  std::uint32_t gpu_instance = kNone, compute_instance = kNone;
  std::uint32_t count = 1;
};

base::Result<Xid> ReadXid(const base::Invocation& invocation) {
  Xid xid;
  const std::string& text = invocation.arguments().front();
  const auto number = base::ParseUnsigned(text);
  if (!number || *number == 0 || *number > 0xFFFFFFFF) {
    return base::MakeError(ErrorCode::kInvalid, "not an XID: {}", base::Quoted(text))
        .WithHint("a number such as 79 (off the bus), 48 (double-bit ECC) or 94 (contained error)");
  }
  xid.number = *number;
  TRY(gi, ReadNumber(invocation, "gi", 0, kMaxGpuInstances - 1));
  TRY(ci, ReadNumber(invocation, "ci", 0, kMaxComputeInstances - 1));
  // A reader that is slower than the ring loses the oldest: more at once could not be told anyway.
  TRY(count, ReadNumber(invocation, "count", 1, kMaxEvents));
  if (ci && !gi) {
    return base::MakeError(ErrorCode::kInvalid, "--ci needs --gi: whose compute instance {}?", *ci);
  }
  xid.gpu_instance = gi.value_or(kNone);
  xid.compute_instance = ci.value_or(kNone);
  xid.count = count.value_or(1);
  return xid;
}

base::Result<void> CheckInstances(const Xid& xid, std::uint32_t gpu, const Gpu& state) {
  if (xid.gpu_instance == kNone) return {};
  const GpuInstance& instance = state.instances[xid.gpu_instance];
  if (instance.live == 0) {
    return base::MakeError(ErrorCode::kNotFound, "GPU {} has no GPU instance {}", gpu,
                           xid.gpu_instance)
        .WithHint("partita-sim show lists the instances");
  }
  if (xid.compute_instance != kNone && instance.compute[xid.compute_instance].live == 0) {
    return base::MakeError(ErrorCode::kNotFound,
                           "GPU {}, GPU instance {} has no compute instance {}", gpu,
                           xid.gpu_instance, xid.compute_instance)
        .WithHint("partita-sim show lists the instances");
  }
  return {};
}

// A transaction before whose end the bus shows who is on it: the driver tells of what it found
// there.
base::Result<void> ChangeOnBus(Node& node, const Node::Edit& edit) {
  return node.Change([&](const Machine& machine, Slot& slot) -> base::Result<void> {
    TRY_VOID(edit(machine, slot));
    return RenderPresence(node.root(), machine, slot);
  });
}

// Applies `edit` to every chosen GPU in one transaction.
base::Result<void> ForGpus(
    const base::Invocation& invocation,
    const std::function<base::Result<void>(const Machine&, Slot&, std::uint32_t)>& edit) {
  TRY(node, Node::Open(invocation));
  TRY(gpus, ChooseGpus(node->machine(), invocation, true));
  return ChangeOnBus(*node, [&](const Machine& machine, Slot& slot) -> base::Result<void> {
    for (const std::uint32_t gpu : gpus) TRY_VOID(edit(machine, slot, gpu));
    return {};
  });
}

std::vector<std::string> ExportedCalls() {
  std::vector<std::string> names;
  for (const load::BuiltInFile& file : load::BuiltInFiles()) {
    if (!file.path.ends_with("/exports.txt")) continue;
    for (const std::string_view line : base::SplitLines(file.text)) {
      if (line != "nvmlInternalGetExportTable") names.emplace_back(line);
    }
  }
  return names;
}

base::Result<std::uint32_t> ParseErrorCode(std::string_view text) {
  std::string_view word = text;
  if (const auto rest = base::WithoutPrefix(word, "NVML_ERROR_")) word = *rest;
  if (const auto number = base::ParseUnsigned(word)) {
    if ((*number >= 1 && *number <= 30) || *number == 999)
      return static_cast<std::uint32_t>(*number);
    return base::MakeError(ErrorCode::kInvalid, "no NVML error has the number {}", *number)
        .WithHint("1 to 30, or 999");
  }
  TRY(code, ParseWord(NvmlErrorWords(), word));
  if (code == 0) return base::MakeError(ErrorCode::kInvalid, "SUCCESS is no failure");
  return code;
}

base::Result<void> CheckCallName(const std::string& name) {
  const std::vector<std::string> calls = ExportedCalls();
  if (name == "*" || std::ranges::find(calls, name) != calls.end()) return {};
  const std::string near = base::DidYouMean(name, calls);
  return base::MakeError(ErrorCode::kInvalid, "no NVML call is named {}", base::Quoted(name))
      .WithHint(near.empty() ? "give the exported name, such as nvmlDeviceGetName, or \"*\""
                             : "did you mean " + base::Quoted(near) + "?");
}

// Some effects only some calls have.
base::Result<void> CheckEffectOf(std::string_view option,
                                 const std::vector<std::string_view>& calls,
                                 std::string_view name) {
  if (std::ranges::find(calls, name) != calls.end()) return {};
  return base::MakeError(ErrorCode::kInvalid, "--{} is for {} alone", option,
                         fmt::join(calls, ", "));
}

base::Result<CallFaultKind> ReadOther(const std::string& what, const std::string& name) {
  std::vector<std::string_view> calls = {"nvmlDeviceCreateGpuInstanceWithPlacement",
                                         "nvmlGpuInstanceCreateComputeInstanceWithPlacement"};
  if (what == "place") {
    TRY_VOID(CheckEffectOf("other place", calls, name));
    return CallFaultKind::kOtherPlace;
  }
  calls.emplace_back("nvmlGpuInstanceCreateComputeInstance");
  TRY_VOID(CheckEffectOf("other profile", calls, name));
  return CallFaultKind::kOtherProfile;
}

// What one of the options makes of the call.
base::Result<void> ReadEffect(const base::Invocation& invocation,
                              const std::string& name,
                              CallFault& fault) {
  if (const std::optional<std::string> code = invocation.Get("fail")) {
    TRY(value, ParseErrorCode(*code), "--fail");
    fault.kind = CallFaultKind::kFail;
    fault.code = value;
  } else if (const std::optional<std::string> activation = invocation.Get("activation")) {
    TRY_VOID(CheckEffectOf("activation", {"nvmlDeviceSetMigMode"}, name));
    TRY(value, ParseErrorCode(*activation), "--activation");
    fault.kind = CallFaultKind::kActivation;
    fault.code = value;
  } else if (const std::optional<std::string> other = invocation.Get("other")) {
    TRY(kind, ReadOther(*other, name));
    fault.kind = kind;
  } else if (invocation.Get("slow")) {
    TRY(delay, ReadNumber(invocation, "slow", 1, 3'600'000));
    fault.kind = CallFaultKind::kSlow;
    fault.delay_ms = delay.value_or(0);
  } else {
    fault.kind = CallFaultKind::kHang;
  }
  return {};
}

base::Result<CallFault> ReadCallFault(const base::Invocation& invocation) {
  CallFault fault{};
  const std::string& name = invocation.arguments().front();
  TRY_VOID(CheckCallName(name));
  name.copy(fault.function, sizeof fault.function - 1);
  int kinds = invocation.Has("hang") ? 1 : 0;
  for (const std::string_view option : {"fail", "slow", "activation", "other"}) {
    if (invocation.Get(option)) ++kinds;
  }
  if (kinds != 1) {
    return base::MakeError(ErrorCode::kInvalid,
                           "{} of --fail, --slow, --hang, --activation and --other",
                           kinds == 0 ? "give one" : "only one");
  }
  TRY_VOID(ReadEffect(invocation, name, fault));
  TRY(times, ReadNumber(invocation, "times", 1, 1'000'000'000));
  fault.remaining = times.value_or(0);
  fault.gpu = kNone;
  fault.live = 1;
  return fault;
}

base::Result<void> AddCallFault(const CallFault& fault, Slot& slot, std::uint64_t* id) {
  for (CallFault& entry : slot.call_faults) {
    if (entry.live != 0) continue;
    entry = fault;
    *id = entry.id = slot.next_fault_id++;
    return {};
  }
  return base::MakeError(ErrorCode::kConflict, "{} call faults are set already", kMaxCallFaults)
      .WithHint("end some: partita-sim fault clear");
}

base::Result<void> FaultCall(const base::Invocation& invocation) {
  TRY(fault, ReadCallFault(invocation));
  TRY(node, Node::Open(invocation));
  std::vector<std::uint32_t> gpus = {kNone};
  if (!invocation.GetAll("gpu").empty()) {
    TRY(chosen, ChooseGpus(node->machine(), invocation, true));
    gpus = chosen;
  }
  std::vector<std::uint64_t> ids;
  auto changed = node->Change([&](const Machine&, Slot& slot) -> base::Result<void> {
    for (const std::uint32_t gpu : gpus) {
      fault.gpu = gpu;
      std::uint64_t id = 0;
      TRY_VOID(AddCallFault(fault, slot, &id));
      ids.push_back(id);
    }
    return {};
  });
  if (!changed.ok()) return changed;
  for (const std::uint64_t id : ids) fmt::print("fault {}\n", id);
  return {};
}

void ClearGpu(Slot& slot, std::uint32_t gpu) {
  slot.gpus[gpu].lost = 0;
  slot.gpus[gpu].reset_required = 0;
  for (CallFault& fault : slot.call_faults) {
    if (fault.live != 0 && fault.gpu == gpu) fault = CallFault{};
  }
}

base::Result<void> ClearById(Slot& slot, std::uint64_t id) {
  for (CallFault& fault : slot.call_faults) {
    if (fault.live == 0 || fault.id != id) continue;
    fault = CallFault{};
    return {};
  }
  return base::MakeError(ErrorCode::kNotFound, "no fault {}", id)
      .WithHint("partita-sim fault list names them");
}

void ClearAll(const Machine& machine, Slot& slot) {
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) ClearGpu(slot, gpu);
  for (CallFault& fault : slot.call_faults) fault = CallFault{};
  slot.version_mismatch = 0;
}

base::Result<void> FaultClear(const base::Invocation& invocation) {
  const bool by_gpu = !invocation.GetAll("gpu").empty();
  const bool all = invocation.Has("all");
  const std::vector<std::string>& arguments = invocation.arguments();
  if ((by_gpu ? 1 : 0) + (all ? 1 : 0) + (arguments.empty() ? 0 : 1) != 1) {
    return base::MakeError(ErrorCode::kInvalid, "clear what? Give one of ID, --gpu and --all")
        .WithHint("partita-sim fault list names them");
  }
  std::vector<std::uint64_t> ids;
  for (const std::string& text : arguments) {
    const auto id = base::ParseUnsigned(text);
    if (!id) return base::MakeError(ErrorCode::kInvalid, "not a fault: {}", base::Quoted(text));
    ids.push_back(*id);
  }
  TRY(node, Node::Open(invocation));
  TRY(gpus, ChooseGpus(node->machine(), invocation, false));
  return ChangeOnBus(*node, [&](const Machine& machine, Slot& slot) -> base::Result<void> {
    if (all) ClearAll(machine, slot);
    if (by_gpu) {
      for (const std::uint32_t gpu : gpus) ClearGpu(slot, gpu);
    }
    for (const std::uint64_t id : ids) TRY_VOID(ClearById(slot, id));
    return {};
  });
}

base::Result<void> FaultXid(const base::Invocation& invocation) {
  TRY(xid, ReadXid(invocation));
  return ForGpus(invocation,
                 [&](const Machine&, Slot& slot, std::uint32_t gpu) -> base::Result<void> {
                   TRY_VOID(CheckInstances(xid, gpu, slot.gpus[gpu]));
                   for (std::uint32_t i = 0; i < xid.count; ++i) {
                     FailWithXid(slot, gpu, xid.number, xid.gpu_instance, xid.compute_instance);
                   }
                   return {};
                 });
}

}  // namespace

int RunFaultXid(const base::Invocation& invocation) { return Finish(FaultXid(invocation)); }

int RunFaultLost(const base::Invocation& invocation) {
  return Finish(ForGpus(invocation, [](const Machine&, Slot& slot, std::uint32_t gpu) {
    LoseGpu(slot, gpu);
    return base::Result<void>();
  }));
}

int RunFaultResetRequired(const base::Invocation& invocation) {
  return Finish(ForGpus(invocation, [](const Machine&, Slot& slot, std::uint32_t gpu) {
    slot.gpus[gpu].reset_required = 1;
    return base::Result<void>();
  }));
}

int RunFaultCall(const base::Invocation& invocation) { return Finish(FaultCall(invocation)); }

int RunFaultVersionMismatch(const base::Invocation& invocation) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  return Finish((*node)->Change([](const Machine&, Slot& slot) {
    slot.version_mismatch = 1;
    return base::Result<void>();
  }));
}

int RunFaultClear(const base::Invocation& invocation) { return Finish(FaultClear(invocation)); }

int RunFaultList(const base::Invocation& invocation) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  return Print(invocation, FaultsDocument((*node)->machine(), *(*node)->Snapshot()), FaultsText);
}

}  // namespace partita::sim::tool
