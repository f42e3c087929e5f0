#include "sim/tool/workload_request.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sim/state/mig.h"
#include "sim/state/use.h"
#include "sim/tool/nodes.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

base::Result<std::uint32_t> ReadPercent(const base::Invocation& invocation,
                                        std::string_view option) {
  const std::optional<std::string> text = invocation.Get(option);
  if (!text) return std::uint32_t{0};
  std::string_view digits = *text;
  if (digits.ends_with("%")) digits.remove_suffix(1);
  const auto number = base::ParseUnsigned(digits);
  if (!number || *number > 100) {
    return base::MakeError(ErrorCode::kInvalid, "--{}: not a percentage: {}", option,
                           base::Quoted(*text));
  }
  return static_cast<std::uint32_t>(*number);
}

base::Result<std::uint64_t> ReadMemory(const base::Invocation& invocation) {
  const std::string text = invocation.Get("memory").value_or("0");
  const auto bytes = base::ParseSize(text);
  if (bytes) return *bytes;
  return base::MakeError(ErrorCode::kInvalid, "--memory: not a size: {}", base::Quoted(text))
      .WithHint("write 4GiB, 512MiB or a number of bytes");
}

// A slice by its UUID, on whichever GPU it is.
bool FindMigDevice(const Machine& machine,
                   const Slot& slot,
                   std::string_view uuid,
                   Holder& holder) {
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    for (std::uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      const GpuInstance& instance = slot.gpus[gpu].instances[gi];
      for (std::uint32_t ci = 0; instance.live != 0 && ci < kMaxComputeInstances; ++ci) {
        char name[kUuidSize];
        NameMigDevice(machine.boards[gpu], gi, ci, name);
        if (instance.compute[ci].live == 0 || uuid != name) continue;
        holder.gpu = gpu;
        holder.gpu_instance = gi;
        holder.compute_instance = ci;
        return true;
      }
    }
  }
  return false;
}

// "1" or "1:0" on the GPU of the holder. Without the second part the instance's only CI.
base::Result<void> FindSlice(std::string_view text, const Gpu& gpu, Holder& holder) {
  const std::vector<std::string_view> parts = base::Split(text, ':');
  const auto gi = base::ParseUnsigned(parts.front());
  const auto ci = base::ParseUnsigned(parts.back());
  if (parts.size() > 2 || !gi || !ci || *gi >= kMaxGpuInstances) {
    return base::MakeError(ErrorCode::kInvalid, "--mig: not a slice: {}", base::Quoted(text))
        .WithHint("write GI, GI:CI or the UUID of a MIG device");
  }
  const GpuInstance& instance = gpu.instances[*gi];
  if (instance.live == 0) {
    return base::MakeError(ErrorCode::kNotFound, "GPU {} has no GPU instance {}", holder.gpu, *gi)
        .WithHint("partita-sim show lists the instances");
  }
  std::uint32_t compute = kNone, count = 0;
  for (std::uint32_t i = 0; i < kMaxComputeInstances; ++i) {
    if (instance.compute[i].live == 0) continue;
    ++count;
    if (parts.size() == 1 || *ci == i) compute = i;
  }
  if (compute == kNone || (parts.size() == 1 && count != 1)) {
    return base::MakeError(ErrorCode::kNotFound, "GPU {}, GPU instance {}: {}", holder.gpu, *gi,
                           count == 0          ? std::string("it has no compute instance")
                           : parts.size() == 1 ? std::string("it has several compute instances")
                                               : fmt::format("no compute instance {}", *ci))
        .WithHint("partita-sim show lists the instances");
  }
  holder.gpu_instance = static_cast<std::uint32_t>(*gi);
  holder.compute_instance = compute;
  return {};
}

base::Result<void> FindPlace(const base::Invocation& invocation,
                             const Machine& machine,
                             const Slot& slot,
                             Holder& holder) {
  holder.gpu_instance = holder.compute_instance = kNone;
  const std::vector<std::string> gpus = invocation.GetAll("gpu");
  const std::optional<std::string> slice = invocation.Get("mig");
  const bool by_uuid = slice && slice->starts_with("MIG-");
  if (by_uuid) {
    if (!FindMigDevice(machine, slot, *slice, holder)) {
      return base::MakeError(ErrorCode::kNotFound, "no MIG device {} on node {}",
                             base::Quoted(*slice), base::Quoted(machine.node));
    }
    if (gpus.empty()) return {};
  }
  TRY(chosen, ChooseGpus(machine, invocation, true));
  if (chosen.size() != 1) {
    return base::MakeError(ErrorCode::kInvalid, "a workload runs on one GPU; --gpu names {}",
                           chosen.size());
  }
  if (by_uuid && holder.gpu != chosen.front()) {
    return base::MakeError(ErrorCode::kInvalid, "{} is on GPU {}, not on GPU {}", *slice,
                           holder.gpu, chosen.front());
  }
  holder.gpu = chosen.front();
  if (by_uuid || !slice) return {};
  return FindSlice(*slice, slot.gpus[holder.gpu], holder);
}

base::Result<void> CheckUsable(const Slot& slot, const Holder& holder) {
  const Gpu& gpu = slot.gpus[holder.gpu];
  const auto refuse = [&](std::string_view why) {
    return base::MakeError(ErrorCode::kConflict, "GPU {}: {}", holder.gpu, why);
  };
  if (slot.driver_loaded == 0) return refuse("the driver is not loaded");
  if (gpu.pci_driver != PciDriver::kNvidia) return refuse("it is not bound to the nvidia driver");
  if (gpu.lost != 0) return refuse("it is off the bus");
  if (gpu.mig_current != 0 && holder.gpu_instance == kNone) {
    return refuse("MIG is on: processes run in a slice").WithHint("name one with --mig");
  }
  if (gpu.compute_mode == kComputeProhibited) return refuse("its compute mode prohibits processes");
  if (holder.kind != HolderKind::kMps && IsTakenExclusively(slot, holder.gpu)) {
    return refuse("its compute mode lets one process in, and one is there");
  }
  return {};
}

base::Result<void> CheckMemory(const Machine& machine, const Slot& slot, const Holder& holder) {
  const Room room = RoomOn(machine, slot, holder.gpu, holder.gpu_instance);
  if (holder.memory_bytes <= room.free) return {};
  return base::MakeError(ErrorCode::kConflict, "GPU {}: out of memory: {} asked for, {} of {} free",
                         holder.gpu, FormatBytes(holder.memory_bytes), FormatBytes(room.free),
                         FormatBytes(room.total));
}

}  // namespace

base::Result<Holder> ReadWorkload(const base::Invocation& invocation,
                                  const Machine& machine,
                                  const Slot& slot) {
  Holder holder{};
  TRY(memory, ReadMemory(invocation));
  TRY(utilization, ReadPercent(invocation, "util"));
  TRY(memory_utilization, ReadPercent(invocation, "mem-util"));
  TRY(encoder, ReadPercent(invocation, "encoder"));
  TRY(decoder, ReadPercent(invocation, "decoder"));
  TRY(kind, ParseWord(HolderKindWords(), invocation.Get("kind").value_or("compute")), "--kind");
  holder.memory_bytes = memory;
  holder.utilization = utilization;
  holder.memory_utilization = memory_utilization;
  holder.encoder = encoder;
  holder.decoder = decoder;
  holder.kind = static_cast<HolderKind>(kind);
  TRY_VOID(FindPlace(invocation, machine, slot, holder));
  TRY_VOID(CheckUsable(slot, holder));
  TRY_VOID(CheckMemory(machine, slot, holder));
  return holder;
}

}  // namespace partita::sim::tool
