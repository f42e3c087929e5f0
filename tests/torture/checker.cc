#include "checker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>

namespace partita::torture {
namespace {

using sim::Board;
using sim::CiProfile;
using sim::ComputeInstance;
using sim::GiProfile;
using sim::Gpu;
using sim::GpuInstance;
using sim::kNone;
using sim::Machine;
using sim::Slot;

const GiProfile* FindProfile(const Board& board, std::uint32_t constant) {
  for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
    if (board.gi_profiles[i].constant == constant) return &board.gi_profiles[i];
  }
  return nullptr;
}

const CiProfile* FindComputeProfile(const Board& board,
                                    std::uint32_t gi_constant,
                                    std::uint32_t id) {
  for (std::uint32_t i = 0; i < board.ci_profile_count; ++i) {
    const CiProfile& profile = board.ci_profiles[i];
    if (profile.gi_constant == gi_constant && profile.id == id) return &profile;
  }
  return nullptr;
}

template <std::size_t N>
bool Lists(const std::uint32_t (&starts)[N], std::uint32_t count, std::uint32_t start) {
  const std::uint32_t* end = starts + std::min<std::size_t>(count, N);
  return std::find(starts, end, start) != end;
}

// Takes slices [start, start+size) of a mask; false when one is taken already or beyond the limit.
bool Take(std::uint64_t* mask, std::uint32_t start, std::uint32_t size, std::uint32_t limit) {
  if (size == 0 || start + size > limit || limit > 64) return false;
  const std::uint64_t wanted = (size == 64 ? ~0ULL : (1ULL << size) - 1) << start;
  const bool free = (*mask & wanted) == 0;
  *mask |= wanted;
  return free;
}

// One row per engine of which a board has only so many.
struct Engine {
  const char* name;
  std::uint32_t GiProfile::*count;
};
constexpr Engine kEngines[] = {
    {"compute slices", &GiProfile::slice_count}, {"multiprocessors", &GiProfile::multiprocessors},
    {"copy engines", &GiProfile::copy_engines},  {"decoders", &GiProfile::decoders},
    {"encoders", &GiProfile::encoders},          {"JPEG engines", &GiProfile::jpegs},
    {"OFA engines", &GiProfile::ofas},
};

void CheckBudget(const Board& board,
                 const std::vector<const GiProfile*>& used,
                 std::uint32_t gpu,
                 Findings* findings) {
  for (const Engine& engine : kEngines) {
    std::uint32_t limit = 0, sum = 0;
    for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
      limit = std::max(limit, board.gi_profiles[i].*engine.count);
    }
    for (const GiProfile* profile : used) sum += profile->*engine.count;
    if (sum > limit) {
      findings->Add("gpu {}: {} {} in use, the board has {}", gpu, sum, engine.name, limit);
    }
  }
  for (const GiProfile* profile : used) {
    const auto count = std::count(used.begin(), used.end(), profile);
    if (count > profile->instance_count) {
      findings->Add("gpu {}: {} instances of profile {}, at most {}", gpu, count, profile->id,
                    profile->instance_count);
    }
  }
}

void CheckComputeInstances(const Board& board,
                           const GpuInstance& instance,
                           const GiProfile& profile,
                           const std::string& where,
                           Findings* findings) {
  std::uint64_t taken = 0;
  for (std::uint32_t id = 0; id < sim::kMaxComputeInstances; ++id) {
    const ComputeInstance& compute = instance.compute[id];
    if (compute.live == 0) continue;
    if (compute.live != 1) findings->Add("{} ci {}: live is {}", where, id, compute.live);
    const CiProfile* offered = FindComputeProfile(board, instance.profile, compute.profile);
    if (offered == nullptr) {
      findings->Add("{} ci {}: profile {} is not offered there", where, id, compute.profile);
      continue;
    }
    if (compute.size != offered->slice_count) {
      findings->Add("{} ci {}: size {}, its profile has {}", where, id, compute.size,
                    offered->slice_count);
    }
    if (!Lists(offered->placement_starts, offered->placement_count, compute.start)) {
      findings->Add("{} ci {}: start {} is not a placement of profile {}", where, id, compute.start,
                    compute.profile);
    }
    if (!Take(&taken, compute.start, compute.size, profile.slice_count)) {
      findings->Add("{} ci {}: slices {}+{} overlap or leave the GPU instance of {}", where, id,
                    compute.start, compute.size, profile.slice_count);
    }
  }
}

void CheckGpu(const Machine& machine,
              const Slot& slot,
              std::uint32_t index,
              std::set<std::uint64_t>* incarnations,
              Findings* findings) {
  const Board& board = machine.boards[index];
  const Gpu& gpu = slot.gpus[index];
  if (gpu.mig_current > 1 || gpu.mig_pending > 1) {
    findings->Add("gpu {}: MIG mode {}/{}", index, gpu.mig_current, gpu.mig_pending);
  }
  if (board.mig_activation == sim::MigActivation::kNone && gpu.mig_current + gpu.mig_pending > 0) {
    findings->Add("gpu {}: MIG on a board without MIG", index);
  }
  std::uint64_t taken = 0;
  std::vector<const GiProfile*> used;
  for (std::uint32_t id = 0; id < sim::kMaxGpuInstances; ++id) {
    const GpuInstance& instance = gpu.instances[id];
    if (instance.live == 0) continue;
    const std::string where = fmt::format("gpu {} gi {}", index, id);
    if (instance.live != 1) findings->Add("{}: live is {}", where, instance.live);
    if (gpu.mig_current != 1) findings->Add("{}: exists with MIG off", where);
    if (instance.incarnation == 0 || instance.incarnation >= slot.next_incarnation) {
      findings->Add("{}: incarnation {}, next is {}", where, instance.incarnation,
                    slot.next_incarnation);
    }
    if (!incarnations->insert(instance.incarnation).second) {
      findings->Add("{}: incarnation {} is used twice", where, instance.incarnation);
    }
    const GiProfile* profile = FindProfile(board, instance.profile);
    if (profile == nullptr) {
      findings->Add("{}: profile constant {} is unknown", where, instance.profile);
      continue;
    }
    used.push_back(profile);
    const std::uint32_t size = profile->placement_size;
    if (!Lists(profile->placement_starts, profile->placement_count, instance.start)) {
      findings->Add("{}: start {} is not a placement of profile {}", where, instance.start,
                    profile->id);
    } else if (id != ExpectedGpuInstanceId(board, instance.start, size)) {
      findings->Add("{}: placement {}:{} has id {}", where, instance.start, size,
                    ExpectedGpuInstanceId(board, instance.start, size));
    }
    if (!Take(&taken, instance.start, size, board.memory_slices)) {
      findings->Add("{}: memory slices {}:{} overlap or leave the board of {}", where,
                    instance.start, size, board.memory_slices);
    }
    CheckComputeInstances(board, instance, *profile, where, findings);
  }
  CheckBudget(board, used, index, findings);
}

// A holder is in the table from its first transaction until it is reaped, and nothing that it holds
// can be destroyed before that: so what it names exists.
void CheckHolders(const Machine& machine, const Slot& slot, Findings* findings) {
  for (std::uint32_t index = 0; index < sim::kMaxHolders; ++index) {
    const sim::Holder& holder = slot.holders[index];
    if (holder.live == 0) continue;
    if (holder.live != 1) findings->Add("holder {}: live is {}", index, holder.live);
    if (holder.gpu >= machine.gpu_count) {
      findings->Add("holder {}: gpu {} does not exist", index, holder.gpu);
      continue;
    }
    if (holder.gpu_instance == kNone) {
      if (holder.compute_instance != kNone) findings->Add("holder {}: ci without gi", index);
      continue;
    }
    if (holder.gpu_instance >= sim::kMaxGpuInstances) {
      findings->Add("holder {}: gi {} is out of range", index, holder.gpu_instance);
      continue;
    }
    const GpuInstance& instance = slot.gpus[holder.gpu].instances[holder.gpu_instance];
    if (instance.live == 0 || instance.incarnation != holder.incarnation) {
      findings->Add("holder {}: holds gpu {} gi {} incarnation {}, which is gone", index,
                    holder.gpu, holder.gpu_instance, holder.incarnation);
    } else if (holder.compute_instance >= sim::kMaxComputeInstances ||
               instance.compute[holder.compute_instance].live == 0) {
      findings->Add("holder {}: holds gpu {} gi {} ci {}, which is gone", index, holder.gpu,
                    holder.gpu_instance, holder.compute_instance);
    }
  }
}

// The first sequence number that the ring still holds.
std::uint64_t OldestEvent(const Slot& slot) {
  return slot.next_event > sim::kMaxEvents ? slot.next_event - sim::kMaxEvents : 1;
}

void CheckEvents(const Machine& machine, const Slot& slot, Findings* findings) {
  if (slot.next_event == 0) findings->Add("next event is 0");
  for (std::uint64_t sequence = OldestEvent(slot); sequence < slot.next_event; ++sequence) {
    const sim::Event& event = slot.events[sequence % sim::kMaxEvents];
    if (event.sequence != sequence) {
      findings->Add("event {}: its place in the ring holds {}", sequence, event.sequence);
    } else if (event.gpu >= machine.gpu_count && event.gpu != kNone) {
      findings->Add("event {}: gpu {} does not exist", sequence, event.gpu);
    } else if (event.type == 0 || (event.type & (event.type - 1)) != 0) {
      findings->Add("event {}: type {:#x} is not one bit", sequence, event.type);
    }
  }
}

void MustNotFall(const char* name, std::uint64_t* seen, std::uint64_t now, Findings* findings) {
  if (now < *seen) findings->Add("{} fell from {} to {}", name, *seen, now);
  *seen = std::max(*seen, now);
}

}  // namespace

std::string Findings::Text() const {
  std::string text;
  for (const std::string& line : lines_) text += "  " + line + "\n";
  return text;
}

void CheckHeader(const sim::FileHeader& header, std::uint64_t file_size, Findings* findings) {
  if (header.magic != sim::kMagic) findings->Add("magic is {:#x}", header.magic);
  if (header.layout_version != sim::kLayoutVersion) {
    findings->Add("layout version is {}", header.layout_version);
  }
  if (header.file_size != sizeof(sim::StateFile) || file_size != sizeof(sim::StateFile)) {
    findings->Add("file size {}, header says {}, layout has {}", file_size, header.file_size,
                  sizeof(sim::StateFile));
  }
  if (header.generation == 0) findings->Add("generation is 0");
  if (header.rendered > header.generation) {
    findings->Add("rendered {} is beyond generation {}", header.rendered, header.generation);
  }
}

void CheckSlot(const Machine& machine, const Slot& slot, Findings* findings) {
  if (machine.gpu_count > sim::kMaxGpus) {
    findings->Add("{} GPUs, at most {}", machine.gpu_count, sim::kMaxGpus);
    return;
  }
  if (slot.boot == 0) findings->Add("boot is 0");
  std::set<std::uint64_t> incarnations;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    CheckGpu(machine, slot, i, &incarnations, findings);
  }
  CheckHolders(machine, slot, findings);
  CheckEvents(machine, slot, findings);
}

std::uint64_t UsedBytes(const Machine& machine) {
  return offsetof(Slot, gpus) +
         std::min(machine.gpu_count, sim::kMaxGpus) * std::uint64_t{sizeof(Gpu)};
}

bool SameState(const Machine& machine, const Slot& a, const Slot& b) {
  constexpr std::size_t kClock = offsetof(Slot, clock);
  constexpr std::size_t kAfterClock = kClock + sizeof(sim::Clock);
  const char* left = reinterpret_cast<const char*>(&a);
  const char* right = reinterpret_cast<const char*>(&b);
  return std::memcmp(left, right, kClock) == 0 &&
         std::memcmp(left + kAfterClock, right + kAfterClock, UsedBytes(machine) - kAfterClock) ==
             0;
}

std::uint32_t ExpectedGpuInstanceId(const Board& board, std::uint32_t start, std::uint32_t size) {
  const std::uint32_t parts = size == 0 ? 0 : board.memory_slices / size;
  if (parts == 0) return kNone;
  std::uint32_t place = start / size;
  if (board.gi_numbering == sim::GiNumbering::kRightHalfFirst) {
    place = (place + parts / 2) % parts;
  }
  return parts - 1 + place;
}

std::string DescribeState(const Machine& machine, const Slot& slot) {
  std::string text;
  for (std::uint32_t index = 0; index < machine.gpu_count; ++index) {
    const Board& board = machine.boards[index];
    const Gpu& gpu = slot.gpus[index];
    if (board.mig_activation == sim::MigActivation::kNone) continue;
    text += fmt::format("gpu {} mig {} pending {}\n", index, gpu.mig_current, gpu.mig_pending);
    for (std::uint32_t id = 0; id < sim::kMaxGpuInstances; ++id) {
      const GpuInstance& instance = gpu.instances[id];
      const GiProfile* profile = FindProfile(board, instance.profile);
      if (instance.live == 0 || profile == nullptr) continue;
      text += fmt::format("gpu {} gi {} profile {} placement {}:{}\n", index, id, profile->id,
                          instance.start, profile->placement_size);
      for (std::uint32_t ci = 0; ci < sim::kMaxComputeInstances; ++ci) {
        const ComputeInstance& compute = instance.compute[ci];
        if (compute.live == 0) continue;
        text += fmt::format("gpu {} gi {} ci {} profile {} placement {}:{}\n", index, id, ci,
                            compute.profile, compute.start, compute.size);
      }
    }
  }
  return text;
}

// An incarnation that was not there at the last look is new: it carries a number not given out
// then.
void History::ObserveInstances(const Machine& machine, const Slot& slot, Findings* findings) {
  std::map<std::uint64_t, Shape> live;
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    for (std::uint32_t id = 0; id < sim::kMaxGpuInstances; ++id) {
      const GpuInstance& instance = slot.gpus[gpu].instances[id];
      if (instance.live == 0) continue;
      const Shape shape{gpu, id, instance.profile, instance.start};
      live.emplace(instance.incarnation, shape);
      const auto before = live_.find(instance.incarnation);
      if (before == live_.end()) {
        if (started_ && instance.incarnation < next_incarnation_) {
          findings->Add("gpu {} gi {}: incarnation {} came back after it was gone", gpu, id,
                        instance.incarnation);
        }
      } else if (!(before->second == shape)) {
        findings->Add("incarnation {} was gpu {} gi {} and is gpu {} gi {}", instance.incarnation,
                      before->second.gpu, before->second.id, gpu, id);
      }
    }
  }
  live_ = std::move(live);
}

void History::ObserveEvents(const Slot& slot, Findings* findings) {
  for (std::uint64_t sequence = OldestEvent(slot); sequence < slot.next_event; ++sequence) {
    const sim::Event& event = slot.events[sequence % sim::kMaxEvents];
    const auto [seen, added] = events_.emplace(sequence, event);
    if (!added && std::memcmp(&seen->second, &event, sizeof event) != 0) {
      findings->Add("event {} changed after it was published", sequence);
    }
  }
  events_.erase(events_.begin(), events_.lower_bound(OldestEvent(slot)));
}

void History::Observe(const Machine& machine,
                      std::uint64_t generation,
                      const Slot& slot,
                      Findings* findings) {
  ObserveInstances(machine, slot, findings);
  ObserveEvents(slot, findings);
  MustNotFall("generation", &last_generation_, generation, findings);
  MustNotFall("next incarnation", &next_incarnation_, slot.next_incarnation, findings);
  MustNotFall("next event", &next_event_, slot.next_event, findings);
  MustNotFall("boot", &boot_, slot.boot, findings);
  MustNotFall("driver loads", &driver_loads_, slot.driver_loads, findings);
  started_ = true;
}

}  // namespace partita::torture
