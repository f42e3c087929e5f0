// Every way to fill an A100, enumerated from the placements that NVML lists, made through NVML.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"

namespace partita::sim::nvml {
namespace {

struct Place {
  unsigned int id;  // of the profile
  nvmlGpuInstancePlacement_t at;
};

bool Overlap(const Place& a, const Place& b) {
  return a.at.start < b.at.start + b.at.size && b.at.start < a.at.start + a.at.size;
}

std::string Name(const std::vector<Place>& layout) {
  std::string text;
  for (const Place& place : layout) {
    text += " " + std::to_string(place.id) + "@" + std::to_string(place.at.start);
  }
  return text;
}

std::vector<Place> Places(nvmlDevice_t gpu, const std::vector<unsigned int>& constants) {
  std::vector<Place> places;
  for (const unsigned int constant : constants) {
    nvmlGpuInstanceProfileInfo_t info{};
    EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(gpu, constant, &info), NVML_SUCCESS);
    unsigned int count = 0;
    EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu, info.id, nullptr, &count),
              NVML_SUCCESS);
    std::vector<nvmlGpuInstancePlacement_t> at(count);
    EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu, info.id, at.data(), &count),
              NVML_SUCCESS);
    for (const auto& placement : at) places.push_back({info.id, placement});
  }
  return places;
}

// All sets of places that do not overlap, the empty one included.
void Enumerate(const std::vector<Place>& places,
               size_t next,
               std::vector<Place>* layout,
               std::vector<std::vector<Place>>* out) {
  if (next == places.size()) {
    out->push_back(*layout);
    return;
  }
  Enumerate(places, next + 1, layout, out);
  const bool fits = std::none_of(layout->begin(), layout->end(),
                                 [&](const Place& other) { return Overlap(places[next], other); });
  if (!fits) return;
  layout->push_back(places[next]);
  Enumerate(places, next + 1, layout, out);
  layout->pop_back();
}

bool IsMaximal(const std::vector<Place>& places, const std::vector<Place>& layout) {
  return std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return std::any_of(layout.begin(), layout.end(),
                       [&](const Place& other) { return Overlap(place, other); });
  });
}

class Layouts : public testing::Test {
 protected:
  Layouts() : node_("dgx-a100-40"), gpu_(node_.gpu(3)) {
    node_.Change([](Slot& slot) { slot.gpus[3].mig_current = slot.gpus[3].mig_pending = 1; });
  }

  nvmlReturn_t Create(const Place& place, nvmlGpuInstance_t* out) {
    return nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, place.id, &place.at, out);
  }

  // Makes the layout, tries everything else on top of it, takes it down.
  void Check(const std::vector<Place>& places, const std::vector<Place>& layout) {
    std::vector<nvmlGpuInstance_t> made;
    std::set<unsigned int> ids;
    for (const Place& place : layout) {
      nvmlGpuInstance_t instance = nullptr;
      ASSERT_EQ(Create(place, &instance), NVML_SUCCESS) << Name(layout);
      made.push_back(instance);
      nvmlGpuInstanceInfo_t info{};
      ASSERT_EQ(nvmlGpuInstanceGetInfo(instance, &info), NVML_SUCCESS);
      EXPECT_EQ(info.profileId, place.id) << Name(layout);
      EXPECT_EQ(info.placement.start, place.at.start) << Name(layout);
      EXPECT_EQ(info.device, gpu_);
      EXPECT_TRUE(ids.insert(info.id).second) << "GPU instance id twice:" << Name(layout);
    }
    for (const Place& place : places) {
      const bool overlaps = std::any_of(layout.begin(), layout.end(),
                                        [&](const Place& other) { return Overlap(place, other); });
      nvmlGpuInstance_t instance = nullptr;
      if (overlaps) {
        EXPECT_EQ(Create(place, &instance), NVML_ERROR_INSUFFICIENT_RESOURCES)
            << Name({place}) << " on" << Name(layout);
      }
    }
    for (const nvmlGpuInstance_t instance : made) {
      ASSERT_EQ(nvmlGpuInstanceDestroy(instance), NVML_SUCCESS) << Name(layout);
      EXPECT_EQ(nvmlGpuInstanceDestroy(instance), NVML_ERROR_INVALID_ARGUMENT) << Name(layout);
    }
  }

  TestNode node_;
  nvmlDevice_t gpu_;
};

TEST_F(Layouts, AllMaximalOnesCanBeMadeAndNothingOverlaps) {
  const struct {
    const char* name;
    std::vector<unsigned int> constants;
    size_t all, maximal;
  } cases[] = {
      {"1g 2g 3g 4g 7g", {0, 1, 2, 3, 4}, 298, 19},
      {"with the double-memory 1g", {0, 1, 2, 3, 4, 9}, 723, 78},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::vector<Place> places = Places(gpu_, c.constants);
    std::vector<std::vector<Place>> layouts;
    std::vector<Place> empty;
    Enumerate(places, 0, &empty, &layouts);
    EXPECT_EQ(layouts.size(), c.all);
    std::vector<std::vector<Place>> maximal;
    for (const auto& layout : layouts) {
      if (IsMaximal(places, layout)) maximal.push_back(layout);
    }
    EXPECT_EQ(maximal.size(), c.maximal);
    for (auto& layout : maximal) {
      Check(places, layout);
      std::reverse(layout.begin(), layout.end());  // explicit placement: the order does not matter
      Check(places, layout);
    }
  }
}

// A layout that fills the GPU leaves a remaining capacity of 0 for every profile, and an empty GPU
// that of the profile's count.
TEST_F(Layouts, CapacityAgreesWithWhatCanBeMade) {
  const std::vector<Place> places = Places(gpu_, {0, 1, 2, 3, 4, 9});
  std::vector<std::vector<Place>> layouts;
  std::vector<Place> empty;
  Enumerate(places, 0, &empty, &layouts);
  for (const auto& layout : layouts) {
    if (!IsMaximal(places, layout)) continue;
    std::vector<nvmlGpuInstance_t> made(layout.size());
    for (size_t i = 0; i < layout.size(); ++i) ASSERT_EQ(Create(layout[i], &made[i]), NVML_SUCCESS);
    for (const Place& place : places) {
      unsigned int left = 99;
      ASSERT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu_, place.id, &left), NVML_SUCCESS);
      EXPECT_EQ(left, 0U) << Name({place}) << " on" << Name(layout);
    }
    for (const nvmlGpuInstance_t instance : made) nvmlGpuInstanceDestroy(instance);
  }
}

}  // namespace
}  // namespace partita::sim::nvml
