#include "model/hidden_holders.h"

#include <algorithm>
#include <cstdint>

namespace partita::model {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// What is in use although nobody is there. Seen on an H200 with driver 580.159.04, by memory
// version 2 (docs/hardware/h200/mig-memory.txt): nothing without MIG; 15, 29, 44 and 58 MiB in an
// instance of 1, 2, 3 and 4 slices, with or without compute instances. A process holds 7 to 9 MiB
// more than the list says; the smallest that does anything at all holds 97 MiB of a slice, 529 MiB
// of a whole GPU. The rest is room for other boards and for a console's picture.
constexpr std::uint64_t kOfGpu = 64 * kMebibyte;
constexpr std::uint64_t kOfInstance = 32 * kMebibyte;
constexpr std::uint64_t kOfSlice = 16 * kMebibyte;
constexpr std::uint64_t kOfProcess = 16 * kMebibyte;

std::uint64_t OfSlices(const Mig& mig, const GpuInstance& instance) {
  std::uint64_t slices = instance.placement.size;
  for (const GpuInstanceProfile& profile : mig.profiles)
    if (profile.id == instance.profile) slices = profile.slice_count;
  return slices * kOfSlice;
}

// Memory that is in use somewhere, and what accounts for it.
struct Account {
  std::uint64_t used = 0;
  std::uint64_t explained = 0;
  std::uint64_t tolerated = 0;
  bool open = false;  // a listed process does not say how much it holds

  void Explain(std::uint64_t bytes) { explained += bytes; }
  void Explain(const Process& process) {
    tolerated += kOfProcess;
    if (process.memory)
      Explain(process.memory->value());
    else
      open = true;
  }
  [[nodiscard]] std::uint64_t Unexplained() const { return used - std::min(used, explained); }
  [[nodiscard]] bool Hides() const { return !open && Unexplained() > tolerated; }
};

// One that computes and draws is in two lists.
bool IsRepeated(const std::vector<Process>& processes, std::size_t i) {
  const auto same = [&](const Process& other) {
    return other.pid == processes[i].pid && other.gpu_instance == processes[i].gpu_instance &&
           other.compute_instance == processes[i].compute_instance;
  };
  return std::any_of(processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(i), same);
}

bool IsCounted(const GpuInstance& instance) {
  return instance.memory && !instance.memory->used_counts_reserve;
}

}  // namespace

std::vector<HiddenHolder> HiddenHolders(const Gpu& gpu) {
  if (!gpu.memory || gpu.memory->used_counts_reserve) return {};
  Account whole{.used = gpu.memory->used.value(), .tolerated = kOfGpu};
  std::vector<HiddenHolder> hidden;
  std::vector<bool> placed(gpu.processes.size(), false);
  const std::vector<GpuInstance> none;
  for (const GpuInstance& instance : gpu.mig ? gpu.mig->instances : none) {
    if (!IsCounted(instance)) {
      whole.tolerated += OfSlices(*gpu.mig, instance);
      continue;
    }
    Account account{.used = instance.memory->used.value(),
                    .tolerated = kOfInstance + OfSlices(*gpu.mig, instance)};
    whole.Explain(account.used);
    for (std::size_t i = 0; i < gpu.processes.size(); ++i) {
      if (gpu.processes[i].gpu_instance != instance.id) continue;
      placed[i] = true;
      if (!IsRepeated(gpu.processes, i)) account.Explain(gpu.processes[i]);
    }
    if (account.Hides()) hidden.push_back({instance.id, Bytes(account.Unexplained())});
  }
  for (std::size_t i = 0; i < gpu.processes.size(); ++i)
    if (!placed[i] && !IsRepeated(gpu.processes, i)) whole.Explain(gpu.processes[i]);
  if (whole.Hides()) hidden.push_back({std::nullopt, Bytes(whole.Unexplained())});
  return hidden;
}

}  // namespace partita::model
