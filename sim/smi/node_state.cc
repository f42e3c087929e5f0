// GPU reset and time slices: NVML has no call for them, so they go to the node's state directly.
#include <errno.h>

#include <array>
#include <memory>

#include "base/text.h"
#include "sim/smi/commands.h"
#include "sim/smi/options.h"
#include "sim/smi/output.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/state/store.h"

namespace partita::sim::smi {
namespace {

// What a reset that is refused ends with, whatever the reason (seen as RESET_RC=255 and in
// "error resetting all GPUs: exit status 255" of mig-parted).
constexpr int kResetFailed = 255;
constexpr std::array<std::string_view, 4> kTimeslices = {"Default", "Short", "Medium", "Long"};
constexpr OptionRow kPolicyRows[] = {
    {"-i", "--id", OptionRow::Takes::kValue},
    {"-l", "--list", OptionRow::Takes::kNothing},
    {"", "--set-timeslice", OptionRow::Takes::kValue},
};
constexpr std::uint32_t kVolta = NVML_DEVICE_ARCH_VOLTA;

// The board at the address that NVML gave. Hidden GPUs shift NVML's indices, never the addresses.
std::optional<std::uint32_t> BoardAt(const Machine& machine, const std::string& bus_id) {
  for (std::uint32_t i = 0; i < machine.gpu_count && i < kMaxGpus; ++i) {
    const PciFunction& pci = machine.boards[i].pci;
    if (bus_id == fmt::format("{:08X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device)) return i;
  }
  return std::nullopt;
}

int CannotOpen(const std::string& path, int error) {
  if (error == EACCES || error == EPERM || error == EROFS) {
    Say("Insufficient Permissions\n");
    return NVML_ERROR_NO_PERMISSION;
  }
  Say("The state of the simulated node at {} cannot be used (errno {}).\n", path, error);
  return NVML_ERROR_UNKNOWN;
}

// Opens the state and takes its lock.
int BeginChange(const std::string& path, Store* store, Transaction* transaction) {
  int error = Store::Open(path.c_str(), Access::kReadWrite, store);
  if (error == 0) error = Transaction::Begin(*store, transaction);
  return error == 0 ? 0 : CannotOpen(path, error);
}

struct Blocked {
  const Device* device;
  std::string reason;
};

// A line per process that holds the GPU.
std::string HoldersOf(const Store& store, const Slot& slot, std::uint32_t gpu) {
  std::string lines;
  for (std::uint32_t i = 0; i < kMaxHolders; ++i) {
    const Holder& holder = slot.holders[i];
    if (holder.live == 0 || holder.gpu != gpu) continue;
    const HolderView view = LookAtHolder(store.root(), holder, i);
    const std::string pid =
        view.pid != 0 ? fmt::format("pid {}", view.pid) : "pid not visible here";
    lines += fmt::format("  GPU {}: {} ({})\n", gpu, holder.name, pid);
  }
  return lines;
}

int SayNotReset(const std::vector<Blocked>& blocked, const std::string& holders) {
  Say("The following GPUs could not be reset:\n");
  for (const Blocked& each : blocked) Say("  GPU {}: {}\n", each.device->bus_id, each.reason);
  Say("\n");
  if (!holders.empty()) Say("End the processes that use them first:\n{}", holders);
  return kResetFailed;
}

}  // namespace

int ResetGpus(const Nvml& nvml, const Ids& ids) {
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  const std::string path = StatePath(nvml);
  const std::string in_use = nvml.ErrorText(NVML_ERROR_IN_USE);
  const std::string lost = nvml.ErrorText(NVML_ERROR_GPU_IS_LOST);
  nvml.nvmlShutdown();  // the tool itself must not stand in its own way

  Store store;
  Transaction transaction;
  status = BeginChange(path, &store, &transaction);
  if (status != 0) return status;
  Reap(store.root(), transaction.machine(), transaction.slot());
  // All are checked before one is touched: a reset is for all GPUs named or for none.
  std::vector<Blocked> blocked;
  std::string holders;
  for (const Device& device : *devices) {
    const std::optional<std::uint32_t> gpu = BoardAt(transaction.machine(), device.bus_id);
    if (!gpu || transaction.slot().gpus[*gpu].lost != 0) {
      blocked.push_back({&device, lost});
    } else if (IsHeld(transaction.slot(), *gpu, kNone, kNone)) {
      blocked.push_back({&device, in_use});
      holders += HoldersOf(store, transaction.slot(), *gpu);
    }
  }
  if (!blocked.empty()) return SayNotReset(blocked, holders);
  for (const Device& device : *devices) {
    ResetGpu(transaction.machine(), transaction.slot(),
             *BoardAt(transaction.machine(), device.bus_id));
  }
  transaction.Commit();
  for (const Device& device : *devices) Say("GPU {} was successfully reset.\n", device.bus_id);
  Say("All done.\n");
  return 0;
}

int ListComputePolicies(const Nvml& nvml, const Ids& ids) {
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  const std::string path = StatePath(nvml);
  Store store;
  const int error = Store::Open(path.c_str(), Access::kReadOnly, &store);
  if (error != 0) return CannotOpen(path, error);
  const auto slot = std::make_unique<Slot>();
  store.Snapshot(slot.get());
  Say("{}",
      "+-------------------------------------+\n"
      "| GPU compute policies:               |\n"
      "| GPU     Name           Value        |\n"
      "|=====================================|\n");
  for (const Device& device : *devices) {
    const std::optional<std::uint32_t> gpu = BoardAt(store.machine(), device.bus_id);
    const std::uint32_t timeslice = gpu ? slot->gpus[*gpu].timeslice : 0;
    Say("|{:>4}   Timeslice       {:<14}|\n+-------------------------------------+\n", device.index,
        timeslice < kTimeslices.size() ? kTimeslices[timeslice] : "N/A");
  }
  return 0;
}

int SetTimeslice(const Nvml& nvml, const Ids& ids, const std::string& timeslice) {
  const std::optional<std::uint64_t> wanted = base::ParseUnsigned(timeslice);
  if (!wanted || *wanted >= kTimeslices.size()) {
    Say("{} is not a valid time slice: 0=DEFAULT, 1=SHORT, 2=MEDIUM, 3=LONG.\n",
        base::Quoted(timeslice));
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  Store store;
  Transaction transaction;
  status = BeginChange(StatePath(nvml), &store, &transaction);
  if (status != 0) return status;
  for (const Device& device : *devices) {
    const std::optional<std::uint32_t> gpu = BoardAt(transaction.machine(), device.bus_id);
    if (!gpu || transaction.machine().boards[*gpu].architecture < kVolta) {
      Say("Unable to set the timeslice for GPU {}: {}\n", device.bus_id,
          nvml.ErrorText(NVML_ERROR_NOT_SUPPORTED));
      return NVML_ERROR_NOT_SUPPORTED;
    }
    transaction.slot().gpus[*gpu].timeslice = static_cast<std::uint32_t>(*wanted);
  }
  transaction.Commit();
  for (const Device& device : *devices)
    Say("Set timeslice to {} for GPU {}.\n", kTimeslices[*wanted], device.bus_id);
  Say("All done.\n");
  return 0;
}

int RunComputePolicy(const Nvml& nvml, std::span<const std::string> words) {
  const std::optional<Options> options = Options::Parse(kPolicyRows, words);
  if (!options) return NVML_ERROR_INVALID_ARGUMENT;
  if (const auto timeslice = options->Get("--set-timeslice"))
    return SetTimeslice(nvml, options->Get("-i"), *timeslice);
  if (options->Has("-l")) return ListComputePolicies(nvml, options->Get("-i"));
  return UsageError("compute-policy", "needs -l or --set-timeslice.");
}

}  // namespace partita::sim::smi
