#include "sim/state/mig.h"

#include <stdio.h>
#include <string.h>

#include "sim/state/sha1.h"

namespace partita::sim {
namespace {

bool Overlap(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size) {
  return a < b + b_size && b < a + a_size;
}

bool Occupied(const Board& board, const Gpu& gpu, uint32_t start, uint32_t size) {
  for (const GpuInstance& other : gpu.instances) {
    if (other.live == 0) continue;
    const GiProfile* profile = FindGiProfile(board, other.profile);
    if (profile != nullptr && Overlap(start, size, other.start, profile->placement_size))
      return true;
  }
  return false;
}

bool Offers(const GiProfile& profile, uint32_t start) {
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxPlacements; ++i) {
    if (profile.placement_starts[i] == start) return true;
  }
  return false;
}

// The GPU as a whole: what all instances together may use.
const GiProfile* WholeGpu(const Board& board) {
  const GiProfile* whole = nullptr;
  for (uint32_t i = 0; i < board.gi_profile_count && i < kMaxGiProfiles; ++i) {
    const GiProfile& profile = board.gi_profiles[i];
    if (whole == nullptr || profile.slice_count > whole->slice_count) whole = &profile;
  }
  return whole;
}

constexpr uint32_t GiProfile::*kEngines[] = {
    &GiProfile::multiprocessors, &GiProfile::copy_engines, &GiProfile::decoders,
    &GiProfile::encoders,        &GiProfile::jpegs,        &GiProfile::ofas,
};

// One "+me" instance per GPU, and "+me.all" only beside "-me", follow from this sum.
bool EnginesLeft(const Board& board, const Gpu& gpu, const GiProfile& wanted) {
  const GiProfile* whole = WholeGpu(board);
  for (const auto engine : kEngines) {
    const uint32_t budget = whole->*engine;
    if (budget == 0) continue;  // the board has none, or the product's data do not say
    uint32_t sum = wanted.*engine;
    for (const GpuInstance& other : gpu.instances) {
      const GiProfile* profile = other.live != 0 ? FindGiProfile(board, other.profile) : nullptr;
      if (profile != nullptr) sum += profile->*engine;
    }
    if (sum > budget) return false;
  }
  return true;
}

bool SlicesLeft(const Board& board, const Gpu& gpu, const GiProfile& wanted) {
  uint32_t slices = wanted.slice_count, same = 1;
  for (const GpuInstance& other : gpu.instances) {
    if (other.live == 0) continue;
    const GiProfile* profile = FindGiProfile(board, other.profile);
    if (profile != nullptr) slices += profile->slice_count;
    if (other.profile == wanted.constant) ++same;
  }
  return slices <= board.compute_slices && same <= wanted.instance_count;
}

// How many placements that are free now would no longer be.
uint32_t Loss(const Board& board, const Gpu& gpu, uint32_t start, uint32_t size) {
  uint32_t lost = 0;
  for (uint32_t i = 0; i < board.gi_profile_count && i < kMaxGiProfiles; ++i) {
    const GiProfile& profile = board.gi_profiles[i];
    for (uint32_t k = 0; k < profile.placement_count && k < kMaxPlacements; ++k) {
      const uint32_t other = profile.placement_starts[k];
      if (Overlap(start, size, other, profile.placement_size) &&
          !Occupied(board, gpu, other, profile.placement_size)) {
        ++lost;
      }
    }
  }
  return lost;
}

// One compute slice with the memory of two. Seen on a GH200: 4, 0, 2, away from the last slices.
uint32_t DoubleMemoryRank(const Board& board, uint32_t start, uint32_t size) {
  if (start + size == board.memory_slices) return 2;
  return start >= board.memory_slices / 2 ? 0 : 1;
}

const GpuInstance kNoInstance{};

}  // namespace

const GiProfile* FindGiProfile(const Board& board, uint32_t constant) {
  for (uint32_t i = 0; i < board.gi_profile_count && i < kMaxGiProfiles; ++i) {
    if (board.gi_profiles[i].constant == constant) return &board.gi_profiles[i];
  }
  return nullptr;
}

const GiProfile* FindGiProfileById(const Board& board, uint32_t id) {
  for (uint32_t i = 0; i < board.gi_profile_count && i < kMaxGiProfiles; ++i) {
    if (board.gi_profiles[i].id == id) return &board.gi_profiles[i];
  }
  return nullptr;
}

const CiProfile* FindCiProfile(const Board& board, uint32_t gi_constant, uint32_t id) {
  constexpr uint32_t kMost = sizeof board.ci_profiles / sizeof board.ci_profiles[0];
  for (uint32_t i = 0; i < board.ci_profile_count && i < kMost; ++i) {
    const CiProfile& profile = board.ci_profiles[i];
    if (profile.gi_constant == gi_constant && profile.id == id) return &profile;
  }
  return nullptr;
}

// Ids of the published families: 580 on an H200 answers 3 for 21 (of the A30) and 2 for 99.
bool IsKnownGiProfileId(const Machine& machine, uint32_t id) {
  static constexpr uint8_t kPublished[] = {0,  5,  6,  9,  14, 15, 19, 20,
                                           21, 32, 35, 47, 64, 65, 66, 67};
  for (const uint8_t known : kPublished) {
    if (known == id) return true;
  }
  for (uint32_t gpu = 0; gpu < machine.gpu_count && gpu < kMaxGpus; ++gpu) {
    if (FindGiProfileById(machine.boards[gpu], id) != nullptr) return true;
  }
  return false;
}

// The memory in the name: the share of the GPU's memory, rounded up to eighths, of its whole GiB,
// halves rounded up.
void NameGiProfile(const Board& board, const GiProfile& profile, char* out) {
  const uint64_t total = board.memory_total == 0 ? 1 : board.memory_total;
  const uint64_t gib = (total + (1ULL << 30) - 1) >> 30;
  const uint64_t eighths = ((profile.memory_mb << 20) * 8 + total - 1) / total;
  const uint64_t gigabytes = (eighths * gib + 4) / 8;
  snprintf(out, kProfileNameSize, "%ug.%llugb%.15s", profile.slice_count,
           static_cast<unsigned long long>(gigabytes), profile.attributes);
}

void NameCiProfile(const Board& board, const GiProfile& gi, const CiProfile& ci, char* out) {
  int length = 0;
  if (ci.slice_count != gi.slice_count) {
    length = snprintf(out, kProfileNameSize, "%uc.", ci.slice_count);
  }
  char name[kProfileNameSize];
  NameGiProfile(board, gi, name);
  snprintf(out + length, kProfileNameSize - static_cast<size_t>(length), "%.40s", name);
}

void NameMigDevice(const Board& board,
                   uint32_t gpu_instance,
                   uint32_t compute_instance,
                   char* out) {
  char name[96];
  snprintf(name, sizeof name, "%.47s/%u/%u", board.uuid, gpu_instance, compute_instance);
  memcpy(out, "MIG-", sizeof "MIG-");
  NameBasedUuid(name, 5, out + 4);
}

MigStatus CheckPlacement(const Board& board,
                         const Gpu& gpu,
                         const GiProfile& profile,
                         uint32_t start) {
  if (!Offers(profile, start)) return MigStatus::kBadPlacement;
  if (Occupied(board, gpu, start, profile.placement_size) || !SlicesLeft(board, gpu, profile) ||
      !EnginesLeft(board, gpu, profile)) {
    return MigStatus::kNoRoom;
  }
  return MigStatus::kDone;
}

// Observed on A100 and H100: the place that costs the others least, the lowest of equals.
uint32_t DefaultPlacement(const Board& board, const Gpu& gpu, const GiProfile& profile) {
  const bool double_memory = profile.slice_count == 1 && profile.placement_size == 2;
  uint32_t best = kNone, best_cost = kNone;
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxPlacements; ++i) {
    const uint32_t start = profile.placement_starts[i];
    if (CheckPlacement(board, gpu, profile, start) != MigStatus::kDone) continue;
    const uint32_t cost = double_memory ? DoubleMemoryRank(board, start, profile.placement_size)
                                        : Loss(board, gpu, start, profile.placement_size);
    if (best == kNone || cost < best_cost || (cost == best_cost && start < best)) {
      best = start;
      best_cost = cost;
    }
  }
  return best;
}

// Equal intervals on a line: taking the lowest free one each time gives the most.
uint32_t RemainingGpuInstances(const Board& board, const Gpu& gpu, const GiProfile& profile) {
  Gpu trial = gpu;
  uint32_t count = 0;
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxPlacements; ++i) {
    uint32_t id = 0;
    if (CreateGpuInstance(board, trial, profile, profile.placement_starts[i], 0, &id) ==
        MigStatus::kDone) {
      ++count;
    }
  }
  return count;
}

// Nodes of a binary tree, breadth first: 0 the whole, 1..2 the halves, 3..6 the quarters, 7..14 the
// eighths; each level from the left, or from the right half on.
uint32_t GpuInstanceIdAt(const Board& board, uint32_t start, uint32_t size) {
  if (size == 0 || board.memory_slices < size) return 0;
  const uint32_t parts = board.memory_slices / size;
  if (board.gi_numbering == GiNumbering::kRightHalfFirst && parts > 1) {
    start = (start + board.memory_slices / 2) % board.memory_slices;
  }
  return parts - 1 + start / size;
}

MigStatus CreateGpuInstance(const Board& board,
                            Gpu& gpu,
                            const GiProfile& profile,
                            uint32_t start,
                            uint64_t incarnation,
                            uint32_t* id) {
  if (start == kNone) {
    start = DefaultPlacement(board, gpu, profile);
    if (start == kNone) return MigStatus::kNoRoom;
  }
  const MigStatus status = CheckPlacement(board, gpu, profile, start);
  if (status != MigStatus::kDone) return status;
  *id = GpuInstanceIdAt(board, start, profile.placement_size);
  if (*id >= kMaxGpuInstances || gpu.instances[*id].live != 0) return MigStatus::kNoRoom;
  GpuInstance& made = gpu.instances[*id];
  made = kNoInstance;
  made.live = 1;
  made.profile = profile.constant;
  made.start = start;
  made.incarnation = incarnation;
  return MigStatus::kDone;
}

MigStatus DestroyGpuInstance(Gpu& gpu, uint32_t id) {
  if (id >= kMaxGpuInstances || gpu.instances[id].live == 0) return MigStatus::kAbsent;
  if (CountComputeInstances(gpu.instances[id]) != 0) return MigStatus::kInUse;
  gpu.instances[id] = kNoInstance;
  return MigStatus::kDone;
}

void DestroyAllInstances(Gpu& gpu) {
  for (GpuInstance& instance : gpu.instances) instance = kNoInstance;
}

uint32_t CountGpuInstances(const Gpu& gpu) {
  uint32_t count = 0;
  for (const GpuInstance& instance : gpu.instances) count += instance.live != 0 ? 1 : 0;
  return count;
}

MigStatus CheckComputePlacement(const Board& board,
                                const GpuInstance& instance,
                                const CiProfile& profile,
                                uint32_t start) {
  const GiProfile* gi = FindGiProfile(board, instance.profile);
  if (gi == nullptr) return MigStatus::kNotSupported;
  bool offered = false;
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxComputeInstances; ++i) {
    offered = offered || profile.placement_starts[i] == start;
  }
  if (!offered) return MigStatus::kBadPlacement;
  uint32_t same = 1;
  for (const ComputeInstance& other : instance.compute) {
    if (other.live == 0) continue;
    if (Overlap(start, profile.slice_count, other.start, other.size)) return MigStatus::kNoRoom;
    if (other.profile == profile.id) ++same;
  }
  return same <= profile.instance_count ? MigStatus::kDone : MigStatus::kNoRoom;
}

uint32_t RemainingComputeInstances(const Board& board,
                                   const GpuInstance& instance,
                                   const CiProfile& profile) {
  GpuInstance trial = instance;
  uint32_t count = 0;
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxComputeInstances; ++i) {
    uint32_t id = 0;
    if (CreateComputeInstance(board, trial, profile, profile.placement_starts[i], &id) ==
        MigStatus::kDone) {
      ++count;
    }
  }
  return count;
}

MigStatus CreateComputeInstance(const Board& board,
                                GpuInstance& instance,
                                const CiProfile& profile,
                                uint32_t start,
                                uint32_t* id) {
  MigStatus status = MigStatus::kNoRoom;
  if (start != kNone) {
    status = CheckComputePlacement(board, instance, profile, start);
  } else {
    for (uint32_t i = 0; i < profile.placement_count && i < kMaxComputeInstances; ++i) {
      start = profile.placement_starts[i];
      status = CheckComputePlacement(board, instance, profile, start);
      if (status == MigStatus::kDone) break;
    }
  }
  if (status != MigStatus::kDone) return status;
  for (*id = 0; *id < kMaxComputeInstances; ++*id) {
    if (instance.compute[*id].live == 0) break;
  }
  if (*id == kMaxComputeInstances) return MigStatus::kNoRoom;
  instance.compute[*id] = {1, profile.id, start, profile.slice_count};
  return MigStatus::kDone;
}

MigStatus DestroyComputeInstance(GpuInstance& instance, uint32_t id) {
  if (id >= kMaxComputeInstances || instance.compute[id].live == 0) return MigStatus::kAbsent;
  instance.compute[id] = ComputeInstance{};
  return MigStatus::kDone;
}

uint32_t CountComputeInstances(const GpuInstance& instance) {
  uint32_t count = 0;
  for (const ComputeInstance& compute : instance.compute) count += compute.live != 0 ? 1 : 0;
  return count;
}

MigStatus SetMigMode(const Machine& machine,
                     const Board& board,
                     Gpu& gpu,
                     bool enable,
                     bool held,
                     ModeChange* change) {
  const uint32_t mode = enable ? 1 : 0;
  if (board.mig_activation == MigActivation::kNone) return MigStatus::kNotSupported;
  if (!enable && CountGpuInstances(gpu) != 0) return MigStatus::kInUse;
  gpu.mig_pending = mode;
  *change = ModeChange::kActive;
  if (gpu.mig_current == mode) return MigStatus::kDone;
  if (held) {
    *change = ModeChange::kInUse;
  } else if (board.mig_activation == MigActivation::kReset && machine.idle_mode_change == 0) {
    *change = ModeChange::kResetRequired;
  } else {
    gpu.mig_current = mode;
  }
  return MigStatus::kDone;
}

}  // namespace partita::sim
