#include "service/mig/layout_check.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/mig_config.h"
#include "model/mig/wanted.h"
#include "service/mig/applied.h"
#include "service/mig/apply.h"
#include "service/mig/node_goal.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using base::Result;

std::string WantedOf(const GpuTarget& target, const model::Gpu& gpu) {
  if (!target.goal.mig_enabled) return "MIG off";
  std::vector<std::string> parts;
  const model::MigGeometry geometry =
      gpu.mig ? model::MigGeometry::From(*gpu.mig) : model::MigGeometry();
  if (target.exact) {
    for (const model::InstanceGoal& instance : *target.exact)
      parts.push_back(ToString(geometry, instance.place));
  } else {
    for (const auto& [device, count] : target.goal.devices)
      parts.push_back(fmt::format("{} x {}", count, model::DeviceName(geometry, device)));
  }
  return parts.empty() ? "MIG on and empty" : "MIG on: " + base::Join(parts, ", ");
}

void CompareLayout(const model::Inventory& node, const NodeGoal& goal, LayoutCheck& check) {
  check.lost = true;
  for (const GpuTarget& target : goal) {
    if (IsApplied(node, target)) continue;
    const model::Gpu* gpu = model::FindGpu(node, target.gpu);
    if (gpu == nullptr) {
      check.differences.push_back(GoneError(target.gpu).ToString());
      check.lost = false;
      continue;
    }
    check.differences.push_back(
        fmt::format("{}: has {}, wanted {}", NameOf(*gpu), Describe(*gpu), WantedOf(target, *gpu)));
    const bool empty = CheckRead(*gpu).ok() && gpu->mig && gpu->mig->instances.empty();
    check.lost = check.lost && empty && target.goal.mig_enabled;
  }
  check.lost = check.lost && !check.differences.empty();
}

Result<LayoutCheck> CheckApplied(const model::Inventory& node, const WantedLayout& wanted) {
  LayoutCheck check;
  TRY(remembered, RecallApplied(wanted.state_directory));
  if (!remembered.layout) return check;
  check.wanted = "what was applied last";
  TRY(goal, remembered.layout->ResolvePresent(node));
  CompareLayout(node, goal, check);
  for (const std::string& uuid : remembered.layout->Gone(node))
    check.differences.push_back(fmt::format("{} is gone", uuid));
  return check;
}

Result<LayoutCheck> CheckConfig(const model::Inventory& node, const WantedLayout& wanted) {
  LayoutCheck check;
  check.wanted = fmt::format("{} of {}", base::Quoted(wanted.config), wanted.config_file);
  TRY(file, config::MigConfigFile::Load(wanted.config_file));
  TRY(config, file.Select(wanted.config));
  TRY(goal, ResolveConfig(file, *config, node));
  CompareLayout(node, goal, check);
  return check;
}

}  // namespace

LayoutCheck CheckLayout(const model::Inventory& node, const WantedLayout& wanted) {
  const bool applied = wanted.config.empty();
  Result<LayoutCheck> check = applied ? CheckApplied(node, wanted) : CheckConfig(node, wanted);
  if (check.ok()) return *std::move(check);
  LayoutCheck failed;
  failed.wanted = applied ? "what was applied last" : base::Quoted(wanted.config);
  failed.differences.push_back(check.error().ToString());
  return failed;
}

}  // namespace partita::service::mig
