// Any text as the name of a GPU, a machine and a virtual GPU's host: labels are such as Kubernetes
// takes.
#include <string>

#include "fuzz/target.h"
#include "service/labels/label_value.h"
#include "service/labels/labels.h"

FUZZ_TARGET(label_value) {
  namespace labels = partita::service::labels;
  namespace model = partita::model;
  const std::string text(partita::fuzz::AsText(data, size));
  const std::string fitting = labels::Fitting(labels::Sanitised(text));
  PARTITA_CHECK(labels::IsLabelValue(fitting));
  PARTITA_CHECK(labels::Fitting(fitting) == fitting);
  PARTITA_CHECK(labels::IsLabelValue(labels::Dashed(text)));

  model::Inventory node;
  node.driver = model::Driver{.version = text, .nvml_version = "", .cuda = {}, .library_path = ""};
  model::Gpu gpu;
  gpu.index = model::GpuIndex(0);
  gpu.name = text;
  gpu.mig.emplace();
  gpu.mig->enabled = true;
  model::GpuInstance instance;
  model::ComputeInstance compute;
  compute.name = text;
  compute.uuid = model::MigUuid("MIG-0");
  instance.compute_instances.push_back(compute);
  gpu.mig->instances.push_back(instance);
  node.gpus.push_back(gpu);
  for (const auto strategy :
       {partita::config::MigStrategy::kSingle, partita::config::MigStrategy::kMixed}) {
    partita::config::PluginConfig config;
    config.mig_strategy = strategy;
    const labels::Rendering rendering = labels::Render(
        node, config, {.machine = text, .gpus_on_bus = 1, .vgpu = {{model::VgpuHost{text, text}}}},
        {});
    for (const auto& [key, value] : rendering.labels)
      PARTITA_CHECK(labels::IsLabelKey(key) && labels::IsLabelValue(value));
  }
  return 0;
}
