// Parts of the sample nodes: GPUs, their profiles and instances, and who holds them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/inventory.h"

namespace partita::model::testing {

inline constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;

// NUMA nodes of the eight GPUs of a DGX A100.
inline constexpr int kDgxNuma[] = {3, 3, 1, 1, 7, 7, 5, 5};

struct ProfileFacts {
  std::uint32_t constant, id;
  std::string name;
  std::uint32_t slices, count, multiprocessors;
  std::uint64_t mebibytes;
  std::vector<std::uint32_t> starts;
  std::uint32_t size;
};
[[nodiscard]] model::GpuInstanceProfile Profile(const ProfileFacts& facts);
[[nodiscard]] std::vector<model::GpuInstanceProfile> A100Profiles();

// The instances of one GPU, added one by one as a person would ask for them.
class MigBuilder {
 public:
  MigBuilder(std::vector<model::GpuInstanceProfile> profiles, std::uint32_t gpu);

  // `shares` are the compute slices of its compute instances; none: an instance without one.
  MigBuilder& Add(const std::string& profile,
                  std::uint32_t start,
                  std::uint32_t id,
                  const std::vector<std::uint32_t>& shares);
  // What the driver says of the profile; zero for those that are not named.
  MigBuilder& Remaining(const std::string& profile, std::uint32_t count);
  [[nodiscard]] model::Mig Build();

 private:
  model::Mig mig_;
  std::uint32_t gpu_;
  std::uint32_t slot_ = 0;
};

[[nodiscard]] model::Gpu H200();                     // values of the capture
[[nodiscard]] model::Gpu A100(std::uint32_t index);  // one of a DGX, idle

void Fill(model::Gpu& gpu, std::uint64_t total, std::uint64_t reserved, std::uint64_t used);
void Busy(model::Gpu& gpu, std::uint64_t used, std::uint32_t load, std::uint32_t watts);
void Slice(model::Gpu& gpu, model::Mig mig);

[[nodiscard]] model::Process Holder(std::int64_t pid, std::string name, std::uint64_t bytes);
[[nodiscard]] model::Process In(model::Process process, std::uint32_t gi, std::uint32_t ci);
// Puts processes into slices, with their memory.
void Hold(model::Gpu& gpu, std::vector<model::Process> processes);

}  // namespace partita::model::testing
