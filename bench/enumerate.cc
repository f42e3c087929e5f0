// How long our reader takes to initialise NVML and read the whole node, so many times; one line
// each: nanoseconds, GPUs, slices. peer-enumerate does the same with NVIDIA's Go libraries.
//
//   bench-enumerate RUNS [readings]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "hw/inventory_reader.h"

namespace {

std::size_t CountSlices(const partita::model::Inventory& inventory) {
  std::size_t slices = 0;
  for (const partita::model::Gpu& gpu : inventory.gpus) {
    if (!gpu.mig) continue;
    for (const partita::model::GpuInstance& instance : gpu.mig->instances) {
      slices += instance.compute_instances.size();
    }
  }
  return slices;
}

// The library is opened and closed each time: that is what a start costs.
bool MeasureOnce(const partita::hw::ReaderOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  partita::hw::InventoryReader reader(options);
  const partita::model::Inventory inventory = reader.Read();
  reader.Release();
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
  if (!inventory.driver) {
    std::fprintf(stderr, "bench-enumerate: %s\n", inventory.driver_error->ToString().c_str());
    return false;
  }
  std::printf("%lld %zu %zu\n", static_cast<long long>(elapsed.count()), inventory.gpus.size(),
              CountSlices(inventory));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench-enumerate RUNS [readings]\n");
    return 2;
  }
  partita::hw::ReaderOptions options;
  options.readings = argc > 2 && std::string_view(argv[2]) == "readings";
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0; --run) {
    if (!MeasureOnce(options)) return 1;
  }
  return 0;
}
