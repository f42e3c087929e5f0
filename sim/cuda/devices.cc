#include "sim/cuda/devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/state/access.h"
#include "sim/state/mig.h"

namespace partita::sim::cuda {
namespace {

constexpr size_t kMostWord = 128;

bool MayUseGpu(const Machine& machine, uint32_t gpu) {
  char path[32];
  const uint32_t minor = machine.boards[gpu].minor;
  snprintf(path, sizeof path, "/dev/nvidia%u", minor);
  return Grant(path, machine.major_gpu, minor, O_RDWR) == 0;
}

bool MayUseAny(const Machine&, uint32_t, uint32_t, uint32_t) { return true; }

// What CUDA goes by is not documented; the number of cores and their clock come close.
uint64_t Speed(const Board& board) {
  const uint64_t units = board.cores.known != 0 ? board.cores.value : board.multiprocessors.value;
  return units * board.clock_max_graphics.value;
}

void SortBySpeed(const Machine& machine, Candidates& candidates) {
  for (uint32_t i = 1; i < candidates.count; ++i) {
    for (uint32_t j = i; j > 0; --j) {
      uint32_t& slower = candidates.gpus[j - 1];
      uint32_t& faster = candidates.gpus[j];
      if (Speed(machine.boards[slower]) >= Speed(machine.boards[faster])) break;
      const uint32_t gpu = slower;
      slower = faster;
      faster = gpu;
      const uint32_t mig = candidates.mig[j - 1];
      candidates.mig[j - 1] = candidates.mig[j];
      candidates.mig[j] = mig;
    }
  }
}

// Calls `take(DeviceRef)` for each MIG device of the GPU that may be used, until it answers true.
template <class F>
bool AnyMigDevice(
    const Machine& machine, const Slot& slot, const Candidates& candidates, uint32_t gpu, F take) {
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const GpuInstance& instance = slot.gpus[gpu].instances[gi];
    for (uint32_t ci = 0; instance.live != 0 && ci < kMaxComputeInstances; ++ci) {
      if (instance.compute[ci].live == 0 || !candidates.may_use(machine, gpu, gi, ci)) continue;
      if (take(DeviceRef{gpu, gi, ci})) return true;
    }
  }
  return false;
}

// The GPU itself, or the first of its MIG devices.
bool DeviceOn(const Machine& machine,
              const Slot& slot,
              const Candidates& candidates,
              uint32_t position,
              DeviceRef* out) {
  const uint32_t gpu = candidates.gpus[position];
  if (candidates.mig[position] == 0) {
    *out = {gpu, kNone, kNone};
    return true;
  }
  return AnyMigDevice(machine, slot, candidates, gpu, [&](const DeviceRef& device) {
    *out = device;
    return true;
  });
}

bool StartsWith(const char* text, const char* prefix) {
  return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

// "MIG-<uuid>" and "MIG-GPU-<uuid>/<gi>/<ci>".
bool IsNamed(const Machine& machine, const DeviceRef& device, const char* word) {
  char name[kUuidSize];
  NameUuid(machine, device, name);
  if (strcasecmp(name, word) == 0) return true;
  char older[kUuidSize + 32];
  snprintf(older, sizeof older, "MIG-%.47s/%u/%u", machine.boards[device.gpu].uuid,
           device.gpu_instance, device.compute_instance);
  return strcasecmp(older, word) == 0;
}

bool ParseOrdinal(const char* word, uint32_t* out) {
  char* end = nullptr;
  const long number = strtol(word, &end, 10);
  if (end == word || *end != '\0' || number < 0 || number >= static_cast<long>(kMaxGpus)) {
    return false;
  }
  *out = static_cast<uint32_t>(number);
  return true;
}

// A UUID may be cut short as long as it names one GPU.
uint32_t FindByUuid(const Machine& machine, const Candidates& candidates, const char* word) {
  uint32_t found = kNone;
  for (uint32_t i = 0; i < candidates.count; ++i) {
    if (!StartsWith(machine.boards[candidates.gpus[i]].uuid, word)) continue;
    if (found != kNone) return kNone;
    found = i;
  }
  return found;
}

bool FindNamed(const Machine& machine,
               const Slot& slot,
               const Candidates& candidates,
               const char* word,
               DeviceRef* out) {
  if (StartsWith(word, "MIG-")) {
    for (uint32_t i = 0; i < candidates.count; ++i) {
      const bool found =
          AnyMigDevice(machine, slot, candidates, candidates.gpus[i], [&](const DeviceRef& device) {
            if (!IsNamed(machine, device, word)) return false;
            *out = device;
            return true;
          });
      if (found && candidates.mig[i] != 0) return true;
    }
    return false;
  }
  uint32_t position = kNone;
  if (StartsWith(word, "GPU-")) {
    position = FindByUuid(machine, candidates, word);
  } else if (!ParseOrdinal(word, &position)) {
    return false;
  }
  return position < candidates.count && DeviceOn(machine, slot, candidates, position, out);
}

// Calls `take(word)` for each word of the list until it answers false.
template <class F>
void ForEachWord(const char* list, F take) {
  while (true) {
    const size_t length = strcspn(list, ",");
    const char* begin = list;
    const char* end = list + length;
    while (begin < end && *begin == ' ') ++begin;
    while (end > begin && end[-1] == ' ') --end;
    char word[kMostWord];
    const size_t size = static_cast<size_t>(end - begin);
    if (size >= sizeof word) return;
    memcpy(word, begin, size);
    word[size] = '\0';
    if (!take(word) || list[length] == '\0') return;
    list += length + 1;
  }
}

bool Contains(const DeviceList& list, const DeviceRef& device) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.devices[i] == device) return true;
  }
  return false;
}

// `find(word, &device)` for each word.
template <class F>
CUresult ChooseNamed(const char* visible, F find, DeviceList* out) {
  CUresult code = CUDA_SUCCESS;
  ForEachWord(visible, [&](const char* word) {
    DeviceRef device{};
    if (out->count == kMaxGpus || !find(word, &device)) return false;
    if (Contains(*out, device)) code = CUDA_ERROR_INVALID_DEVICE;
    out->devices[out->count++] = device;
    return code == CUDA_SUCCESS;
  });
  return code;
}

void KeepOneMigDevice(DeviceList* list) {
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->devices[i].gpu_instance == kNone) continue;
    list->devices[0] = list->devices[i];
    list->count = 1;
    return;
  }
}

}  // namespace

Candidates FindCandidates(const Machine& machine, const Slot& slot, bool by_bus) {
  const bool visibility = IsSwitchedOn("PARTITA_SIM_VISIBILITY", true);
  Candidates found{};
  found.may_use = visibility ? MayOpenMigDevice : MayUseAny;
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    const Gpu& state = slot.gpus[gpu];
    if (state.pci_driver != PciDriver::kNvidia || state.lost != 0) continue;
    if (visibility && !MayUseGpu(machine, gpu)) continue;
    found.mig[found.count] = state.mig_current;
    found.gpus[found.count++] = gpu;
  }
  if (!by_bus) SortBySpeed(machine, found);
  return found;
}

CUresult ChooseDevices(const Machine& machine,
                       const Slot& slot,
                       const Candidates& candidates,
                       const char* visible,
                       DeviceList* out) {
  *out = {};
  if (visible == nullptr) {
    for (uint32_t i = 0; i < candidates.count; ++i) {
      DeviceRef device{};
      if (DeviceOn(machine, slot, candidates, i, &device)) out->devices[out->count++] = device;
    }
  } else {
    const CUresult code = ChooseNamed(
        visible,
        [&](const char* word, DeviceRef* device) {
          return FindNamed(machine, slot, candidates, word, device);
        },
        out);
    if (code != CUDA_SUCCESS) return code;
  }
  KeepOneMigDevice(out);
  return out->count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult ChooseOffered(const Machine& machine,
                       const DeviceList& offered,
                       const char* visible,
                       DeviceList* out) {
  *out = offered;
  if (visible == nullptr) return offered.count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
  *out = {};
  const auto find = [&](const char* word, DeviceRef* device) {
    uint32_t ordinal = 0;
    const bool by_number = ParseOrdinal(word, &ordinal);
    for (uint32_t i = 0; i < offered.count; ++i) {
      char uuid[kUuidSize];
      NameUuid(machine, offered.devices[i], uuid);
      const bool named = StartsWith(word, "GPU-") ? StartsWith(uuid, word)
                                                  : IsNamed(machine, offered.devices[i], word);
      if (by_number ? ordinal != i : !named) continue;
      *device = offered.devices[i];
      return true;
    }
    return false;
  };
  const CUresult code = ChooseNamed(visible, find, out);
  if (code != CUDA_SUCCESS) return code;
  return out->count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult ListOwnDevices(const Store& store, DeviceList* out) {
  const char* order = getenv("CUDA_DEVICE_ORDER");
  const bool by_bus = order != nullptr && strcmp(order, "PCI_BUS_ID") == 0;
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  return store.Read([&](const Slot& slot) {
    const Candidates candidates = FindCandidates(store.machine(), slot, by_bus);
    return ChooseDevices(store.machine(), slot, candidates, visible, out);
  });
}

uint32_t Multiprocessors(const Machine& machine, const Slot& slot, const DeviceRef& device) {
  const Board& board = machine.boards[device.gpu];
  if (device.gpu_instance == kNone) return board.multiprocessors.value;
  const GpuInstance& instance = slot.gpus[device.gpu].instances[device.gpu_instance];
  const CiProfile* profile =
      FindCiProfile(board, instance.profile, instance.compute[device.compute_instance].profile);
  return profile == nullptr ? 0 : profile->multiprocessors;
}

void NameDevice(const Machine& machine, const Slot& slot, const DeviceRef& device, char* out) {
  const Board& board = machine.boards[device.gpu];
  snprintf(out, 128, "%s", board.name);
  if (device.gpu_instance == kNone) return;
  const GpuInstance& instance = slot.gpus[device.gpu].instances[device.gpu_instance];
  const GiProfile* gi = FindGiProfile(board, instance.profile);
  const CiProfile* ci =
      FindCiProfile(board, instance.profile, instance.compute[device.compute_instance].profile);
  if (gi == nullptr || ci == nullptr) return;
  char profile[kProfileNameSize];
  NameCiProfile(board, *gi, *ci, profile);
  snprintf(out, 128, "%.70s MIG %s", board.name, profile);
}

void NameUuid(const Machine& machine, const DeviceRef& device, char* out) {
  if (device.gpu_instance == kNone) {
    snprintf(out, kUuidSize, "%s", machine.boards[device.gpu].uuid);
  } else {
    NameMigDevice(machine.boards[device.gpu], device.gpu_instance, device.compute_instance, out);
  }
}

}  // namespace partita::sim::cuda
