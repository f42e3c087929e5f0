// How long our reader takes to initialise NVML and read the node, so many times; one line each:
// nanoseconds, GPUs, slices. peer-enumerate does the same with NVIDIA's Go libraries.
//
//   bench-enumerate RUNS [nvml|whole|readings]
//
// "nvml": what NVML says and nothing else. "whole" (the default): the inventory, with PCI bus,
// device nodes and capability minors. "readings": load, temperature, power and clocks too, as
// `status` does.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "hw/inventory_reader.h"
#include "hw/merge.h"
#include "hw/nvml/reader.h"
#include "hw/sysfs/pci.h"

namespace {

using Clock = std::chrono::steady_clock;
using partita::model::Gpu;

std::size_t CountSlices(const std::vector<Gpu>& gpus) {
  std::size_t slices = 0;
  for (const Gpu& gpu : gpus) {
    if (!gpu.mig) continue;
    for (const partita::model::GpuInstance& instance : gpu.mig->instances) {
      slices += instance.compute_instances.size();
    }
  }
  return slices;
}

// `Found` is an inventory or NVML's part of it.
template <typename Found>
bool Print(Clock::time_point start, const Found& found) {
  const std::chrono::nanoseconds elapsed = Clock::now() - start;
  if (!found.driver) {
    std::fprintf(stderr, "bench-enumerate: %s\n", found.driver_error->ToString().c_str());
    return false;
  }
  std::printf("%lld %zu %zu\n", static_cast<long long>(elapsed.count()), found.gpus.size(),
              CountSlices(found.gpus));
  return true;
}

// In both the library is opened and closed each time: that is what a start costs.
bool MeasureWhole(const partita::hw::ReaderOptions& options) {
  const auto start = Clock::now();
  partita::hw::InventoryReader reader(options);
  const partita::model::Inventory inventory = reader.Read();
  (void)reader.Release();
  return Print(start, inventory);
}

bool MeasureNvml(const std::vector<partita::model::PciAddress>& gpus) {
  const auto start = Clock::now();
  const std::shared_ptr<partita::hw::nvml::Driver> driver = partita::hw::MakeDriver({});
  partita::hw::nvml::Reader reader(driver);
  const partita::hw::nvml::Facts facts = reader.Read({.gpus = gpus, .readings = false});
  (void)driver->Release();
  return Print(start, facts);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench-enumerate RUNS [nvml|whole|readings]\n");
    return 2;
  }
  const std::string_view what = argc > 2 ? argv[2] : "whole";
  partita::hw::ReaderOptions options;
  options.readings = what == "readings";
  const auto bus = partita::hw::sysfs::ScanPciGpus("/");
  if (!bus.ok()) {
    std::fprintf(stderr, "bench-enumerate: %s\n", bus.error().ToString().c_str());
    return 1;
  }
  const auto gpus = partita::hw::BoundToNvidia(*bus);
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0; --run) {
    if (!(what == "nvml" ? MeasureNvml(gpus) : MeasureWhole(options))) return 1;
  }
  return 0;
}
