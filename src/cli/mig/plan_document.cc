#include "cli/mig/plan_document.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/mig/show.h"
#include "model/mig/after_plan.h"

namespace partita::cli {

namespace {

using base::Value;
using model::Gpu;
using model::GpuInstance;
using model::GpuPlan;
using model::MigGeometry;
using service::mig::GpuOutcome;
using service::mig::NodePlan;

Value InstancesValue(const Gpu& gpu) {
  Value instances = Value::List();
  for (const GpuInstance& instance : gpu.mig->instances) {
    Value computes = Value::List();
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      computes.Add(compute.name);
    }
    Value map = Value::Map();
    if (instance.id.value() < model::kNewInstance) map.Set("id", instance.id.value());
    map.Set("profile", instance.profile_name)
        .Set("start", instance.placement.start)
        .Set("size", instance.placement.size)
        .Set("devices", std::move(computes));
    instances.Add(std::move(map));
  }
  return Value::Map().Set("migEnabled", gpu.mig->enabled).Set("instances", std::move(instances));
}

Value NearestValue(const MigGeometry& geometry, const std::vector<model::ProfileCounts>& nearest) {
  Value list = Value::List();
  for (const model::ProfileCounts& counts : nearest) {
    Value map = Value::Map();
    for (const std::size_t profile : model::LargestFirst(geometry)) {
      if (counts[profile] > 0) map.Set(geometry.profiles[profile].name, counts[profile]);
    }
    list.Add(std::move(map));
  }
  return list;
}

Value OutcomeValue(const Gpu* gpu, const GpuOutcome& outcome) {
  Value map = Value::Map();
  if (outcome.gpu.index) map.Set("index", outcome.gpu.index->value());
  if (outcome.gpu.uuid) map.Set("uuid", outcome.gpu.uuid->value());
  map.Set("product", gpu != nullptr ? gpu->name : "");
  if (const auto* refusal = std::get_if<model::Refusal>(&outcome.plan)) {
    Value why = Value::Map().Set("message", refusal->text);
    if (!refusal->hint.empty()) why.Set("hint", refusal->hint);
    why.Set("nearest", NearestValue(outcome.geometry, refusal->nearest));
    return map.Set("refusal", std::move(why));
  }
  const auto& plan = std::get<GpuPlan>(outcome.plan);
  Value steps = Value::List(), blockers = Value::List();
  for (const model::PlanStep& step : model::Steps(plan)) {
    steps.Add(model::ToString(outcome.geometry, step));
  }
  for (const model::Process& process : plan.blockers) blockers.Add(HolderValue(process));
  map.Set("changes", !plan.ChangesNothing()).Set("resetRequired", plan.reset);
  if (plan.instances_later) map.Set("instancesLater", true);
  if (gpu != nullptr && gpu->mig) {
    map.Set("before", InstancesValue(*gpu));
    map.Set("after", InstancesValue(model::AfterPlan(*gpu, outcome.geometry, plan)));
  }
  map.Set("steps", std::move(steps))
      .Set("blocked", plan.Blocked())
      .Set("blockers", std::move(blockers));
  if (!plan.given_whole.empty()) {
    Value given = Value::List();
    for (const std::string& to : plan.given_whole) given.Add(to);
    map.Set("givenWhole", std::move(given));
  }
  if (!plan.given.empty()) {
    Value given = Value::List();
    for (const model::GivenInstance& each : plan.given)
      given.Add(Value::Map()
                    .Set("profile", outcome.geometry.profiles[each.place.profile].name)
                    .Set("start", std::uint64_t{each.place.start})
                    .Set("to", each.to));
    map.Set("given", std::move(given));
  }
  SetUnnamed(map, plan.hidden_blockers, plan.blockers_unknown);
  return map;
}

}  // namespace

Value MigPlanDocument(const model::Inventory& node, const NodePlan& plan) {
  Value gpus = Value::List();
  for (const GpuOutcome& outcome : plan.gpus) {
    gpus.Add(OutcomeValue(model::FindGpu(node, outcome.gpu), outcome));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigPlan")
      .Set("changes", !plan.ChangesNothing())
      .Set("possible", !plan.Refused())
      .Set("blocked", plan.Blocked())
      .Set("resetRequired", plan.NeedsReset())
      .Set("gpus", std::move(gpus));
}

}  // namespace partita::cli
