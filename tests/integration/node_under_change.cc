#include "tests/integration/node_under_change.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "config/mig_config.h"
#include "service/mig/node_plan.h"
#include "sim/state/holders.h"

namespace partita::integration {

NodeUnderChange::NodeUnderChange(std::string_view profile) : machine_(profile) {
  const std::filesystem::path tools = machine_.root() + "/usr/bin";
  std::filesystem::create_directories(tools);
  std::filesystem::create_symlink(PARTITA_SMI, tools / "nvidia-smi");
}

hw::ReaderOptions NodeUnderChange::Options() const {
  hw::ReaderOptions options = machine_.Options();
  options.driver_root = machine_.root();
  options.readings = false;
  return options;
}

base::Result<service::mig::ApplyReport> NodeUnderChange::Apply(
    const std::string& entries,
    const service::mig::ApplyOptions& options,
    std::atomic<bool>* stop) {
  TRY(file,
      config::MigConfigFile::Parse("version: v1\nmig-configs:\n  c:\n" + entries, "mig.yaml"));
  TRY(config, file.Select(""));
  steps_.clear();
  service::mig::Progress progress;
  progress.step = [this](const std::string& gpu, const std::string& step, bool done) {
    if (done) return;
    steps_.push_back(gpu + ": " + step);
    if (on_step) on_step(steps_.back());
  };
  const std::shared_ptr<hw::nvml::Driver> driver = hw::MakeDriver(Options());
  hw::InventoryReader reader(driver, Options());
  hw::MigControl control(driver, limits);
  return service::mig::Apply(
      reader, control,
      [&](const model::Inventory& inventory) {
        return service::mig::ResolveConfig(file, *config, inventory);
      },
      options, progress, stop);
}

std::string NodeUnderChange::Layout(std::uint32_t gpu) const {
  return service::mig::Describe(Read().gpus.at(gpu));
}

model::Inventory NodeUnderChange::Read() const { return hw::InventoryReader(Options()).Read(); }

void NodeUnderChange::Use(std::uint32_t gpu, std::optional<std::uint32_t> gpu_instance) {
  sim::Holder holder{};
  holder.kind = sim::HolderKind::kCompute;
  holder.gpu = gpu;
  holder.gpu_instance = gpu_instance.value_or(sim::kNone);
  holder.compute_instance = gpu_instance ? 0 : sim::kNone;
  int fd = -1;
  ASSERT_EQ(
      sim::HoldAsSelf(machine_.store(), (machine_.root() + "/sim/holders").c_str(), holder, &fd),
      0);
}

std::uint32_t NodeUnderChange::InstanceAt(std::uint32_t gpu, std::uint32_t start) const {
  const model::Inventory inventory = Read();
  for (const model::GpuInstance& instance : inventory.gpus.at(gpu).mig->instances)
    if (instance.placement.start == start) return instance.id.value();
  ADD_FAILURE() << "nothing at slice " << start;
  return 0;
}

}  // namespace partita::integration
