// How wanted compute instances share GPU instances.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/mig/geometry.h"

namespace partita::model {

// One MIG device that is wanted: `1c.3g.20gb` is a compute slice of a 3g instance.
struct WantedDevice {
  std::size_t profile = 0;  // position in MigGeometry::profiles
  std::uint32_t compute_slices = 0;
  auto operator<=>(const WantedDevice&) const = default;
};

// How many of each; never 0, so that two requests for the same devices are equal.
using DeviceCounts = std::map<WantedDevice, std::uint32_t>;

// Adds to what is there; stays at the largest number rather than start over.
void AddDevices(DeviceCounts& devices, const WantedDevice& device, std::uint32_t count);

// The compute instances of one GPU instance: compute slices, largest first.
using ComputeSizes = std::vector<std::uint32_t>;

// A way to provide devices: for each profile its GPU instances. Those of one profile descend, so
// that equal packings are equal values.
using Packing = std::vector<std::vector<ComputeSizes>>;

// Every way that uses each profile no more often than its driver allows; the fullest GPU instances
// first. Empty when there is none.
std::vector<Packing> AllPackings(const MigGeometry& geometry, const DeviceCounts& devices);

// Of each profile the fewest GPU instances that hold the devices, however many that are.
ProfileCounts FewestInstances(const MigGeometry& geometry, const DeviceCounts& devices);

}  // namespace partita::model
