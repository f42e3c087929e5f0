#include "model/mig/packing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

namespace partita::model {
namespace {

// GPU instances of one profile, each divided; those that differ only in order are one.
using Division = std::vector<ComputeSizes>;
using Divisions = std::set<Division, std::greater<>>;

std::uint32_t Sum(const ComputeSizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0U);
}

// The sizes wanted of one profile, largest first; nothing when so many can never fit.
std::optional<ComputeSizes> SizesOf(const GpuInstanceProfile& profile,
                                    std::size_t position,
                                    const DeviceCounts& devices) {
  const std::uint64_t slices = std::uint64_t{profile.slice_count} * profile.instance_count;
  std::uint64_t taken = 0;
  ComputeSizes sizes;
  for (const auto& [device, count] : devices) {
    if (device.profile != position) continue;
    taken += std::uint64_t{device.compute_slices} * count;
    if (device.compute_slices == 0 || taken > slices) return std::nullopt;
    sizes.insert(sizes.end(), count, device.compute_slices);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return sizes;
}

// Puts the sizes from `next` on into `parts` in every way. There are at most as many sizes as the
// GPU has compute slices, so that trying all is cheap.
class Divider {
 public:
  Divider(const GpuInstanceProfile& profile, const ComputeSizes& sizes)
      : profile_(profile), sizes_(sizes) {}

  Divisions Run() {
    Divide(0);
    return std::move(found_);
  }

 private:
  void Divide(std::size_t next) {
    if (next == sizes_.size()) {
      Division sorted = parts_;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      found_.insert(std::move(sorted));
      return;
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (Sum(parts_[i]) + sizes_[next] > profile_.slice_count) continue;
      parts_[i].push_back(sizes_[next]);
      Divide(next + 1);
      parts_[i].pop_back();
    }
    if (parts_.size() == profile_.instance_count) return;
    parts_.push_back({sizes_[next]});
    Divide(next + 1);
    parts_.pop_back();
  }

  const GpuInstanceProfile& profile_;
  const ComputeSizes& sizes_;
  Division parts_;
  Divisions found_;
};

}  // namespace

void AddDevices(DeviceCounts& devices, const WantedDevice& device, std::uint32_t count) {
  if (count == 0) return;
  std::uint32_t& sum = devices[device];
  sum += std::min(count, std::numeric_limits<std::uint32_t>::max() - sum);
}

std::vector<Packing> AllPackings(const MigGeometry& geometry, const DeviceCounts& devices) {
  std::vector<Packing> packings = {Packing(geometry.profiles.size())};
  for (std::size_t position = 0; position < geometry.profiles.size(); ++position) {
    const GpuInstanceProfile& profile = geometry.profiles[position];
    const std::optional<ComputeSizes> sizes = SizesOf(profile, position, devices);
    if (!sizes) return {};
    if (sizes->empty()) continue;
    std::vector<Packing> longer;
    const Divisions divisions = Divider(profile, *sizes).Run();
    for (const Packing& packing : packings) {
      for (const Division& division : divisions) {
        longer.push_back(packing);
        longer.back()[position] = division;
      }
    }
    packings = std::move(longer);
  }
  return packings;
}

ProfileCounts FewestInstances(const MigGeometry& geometry, const DeviceCounts& devices) {
  ProfileCounts fewest;
  for (std::size_t i = 0; i < geometry.profiles.size(); ++i) {
    const std::uint64_t slices = std::max<std::uint32_t>(geometry.profiles[i].slice_count, 1);
    // What takes more than half of an instance shares it only with smaller ones.
    std::uint64_t instances = 0, beside = 0, small = 0;
    for (const auto& [device, count] : devices) {
      if (device.profile != i) continue;
      const std::uint64_t size = std::min<std::uint64_t>(device.compute_slices, slices);
      if (2 * size > slices) {
        instances += count;
        beside += (slices - size) * count;
      } else {
        small += size * count;
      }
    }
    if (small > beside) instances += (small - beside + slices - 1) / slices;
    fewest.push_back(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(instances, std::numeric_limits<std::uint32_t>::max())));
  }
  return fewest;
}

}  // namespace partita::model
