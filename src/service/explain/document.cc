#include "service/explain/document.h"

#include <algorithm>
#include <utility>

namespace partita::service::explain {
namespace {

using base::Value;
using device_plugin::Answer;

Value Texts(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) list.Add(text);
  return list;
}

Value Pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Value map = Value::Map();
  for (const auto& [name, value] : pairs) map.Set(name, value);
  return map;
}

Value ShareValue(const GivenDevice& device, const ShareOf& share) {
  Value value = Value::Map()
                    .Set("of", device.whole_id)
                    .Set("number", share.number)
                    .Set("count", share.count)
                    .Set("memoryLimited", share.mps.has_value());
  if (share.mps) {
    if (!share.mps->size.empty()) value.Set("size", share.mps->size);
    value.Set("memoryLimitMiB", share.mps->limits.memory.value())
        .Set("threadPercent", share.mps->limits.threads.value());
  }
  return value.Set("heldBy", Texts(share.others));
}

Value DeviceValue(const GivenDevice& device) {
  Value value = Value::Map().Set("id", device.id).Set("index", device.index);
  if (!device.product.empty()) value.Set("product", device.product);
  if (!device.profile.empty()) value.Set("profile", device.profile);
  if (device.memory) value.Set("memoryMiB", device.memory->value());
  if (device.multiprocessors) value.Set("multiprocessors", *device.multiprocessors);
  if (device.share) value.Set("share", ShareValue(device, *device.share));
  return value.Set("reused", device.reused);
}

Value AnswerValue(const Answer& answer) {
  Value mounts = Value::List();
  for (const Answer::Mount& mount : answer.mounts)
    mounts.Add(Value::Map()
                   .Set("containerPath", mount.container_path)
                   .Set("hostPath", mount.host_path)
                   .Set("readOnly", mount.read_only));
  Value nodes = Value::List();
  for (const Answer::Node& node : answer.nodes)
    nodes.Add(Value::Map()
                  .Set("containerPath", node.container_path)
                  .Set("hostPath", node.host_path)
                  .Set("permissions", node.permissions));
  return Value::Map()
      .Set("cdiDevices", Texts(answer.cdi_devices))
      .Set("environment", Pairs(answer.envs))
      .Set("mounts", std::move(mounts))
      .Set("deviceNodes", std::move(nodes))
      .Set("annotations", Pairs(answer.annotations));
}

Value GrantValue(const Grant& grant) {
  const auto count = [&](Mark mark) {
    return std::count_if(grant.picture.begin(), grant.picture.end(),
                         [&](const Cell& cell) { return cell.mark == mark; });
  };
  Value devices = Value::List();
  for (const GivenDevice& device : grant.devices) devices.Add(DeviceValue(device));
  Value value = Value::Map()
                    .Set("resource", grant.resource)
                    .Set("count", grant.count)
                    .Set("node", Value::Map()
                                     .Set("devices", grant.picture.size())
                                     .Set("held", count(Mark::kHeld))
                                     .Set("above", count(Mark::kAbove))
                                     .Set("unhealthy", count(Mark::kUnhealthy)))
                    .Set("devices", std::move(devices));
  if (!grant.devices.empty()) value.Set("gets", AnswerValue(grant.answer));
  return value;
}

Value ReasonValue(const Reason& reason) {
  Value value = Value::Map().Set("code", reason.code).Set("text", reason.text);
  if (!reason.change.empty()) value.Set("change", reason.change);
  if (!reason.container.empty()) value.Set("container", reason.container);
  return value.Set("line", reason.place.line).Set("column", reason.place.column);
}

Value PodValue(const AnsweredPod& each) {
  Value containers = Value::List();
  for (const ContainerAnswer& container : each.answer.containers) {
    Value resources = Value::List();
    for (const Grant& grant : container.grants) resources.Add(GrantValue(grant));
    containers.Add(Value::Map()
                       .Set("name", container.name)
                       .Set("role", config::ToString(container.role))
                       .Set("resources", std::move(resources)));
  }
  Value reasons = Value::List();
  for (const Reason& reason : each.answer.reasons) reasons.Add(ReasonValue(reason));
  Value value = Value::Map().Set("file", each.file).Set("kind", each.pod->kind);
  if (!each.pod->pod_namespace.empty()) value.Set("namespace", each.pod->pod_namespace);
  return value.Set("name", each.pod->name)
      .Set("runs", each.answer.runs())
      .Set("replicas", each.pod->replicas)
      .Set("fitting", each.answer.fitting)
      .Set("containers", std::move(containers))
      .Set("reasons", std::move(reasons))
      .Set("notes", Texts(each.answer.notes));
}

}  // namespace

Value ExplainDocument(const std::string& node,
                      const std::vector<AnsweredPod>& pods,
                      const std::vector<std::string>& warnings) {
  Value list = Value::List();
  for (const AnsweredPod& pod : pods) list.Add(PodValue(pod));
  return Value::Map()
      .Set("apiVersion", "partita.dev/explain/v1")
      .Set("node", node)
      .Set("runs", std::all_of(pods.begin(), pods.end(),
                               [](const AnsweredPod& pod) { return pod.answer.runs(); }))
      .Set("pods", std::move(list))
      .Set("warnings", Texts(warnings));
}

}  // namespace partita::service::explain
