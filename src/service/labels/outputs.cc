#include "service/labels/outputs.h"

#include <utility>

#include "service/labels/node_feature.h"

namespace partita::service::labels {
namespace {

using base::Value;

Value MapOf(const Labels& labels) {
  Value map = Value::Map();
  for (const auto& [key, value] : labels) map.Set(key, value);
  return map;
}

std::string TextIn(const Value& map, std::string_view key) {
  const Value* found = map.Find(key);
  return found != nullptr && found->kind() == Value::Kind::kString ? found->AsString() : "";
}

Value OwnersValue(const std::vector<Owner>& owners) {
  Value list = Value::List();
  for (const Owner& owner : owners) {
    Value each = Value::Map()
                     .Set("apiVersion", owner.api_version)
                     .Set("kind", owner.kind)
                     .Set("name", owner.name)
                     .Set("uid", owner.uid);
    if (owner.controller) each.Set("controller", true);
    list.Add(std::move(each));
  }
  return list;
}

base::Result<Labels> LabelsIn(const Value& document, std::string_view key) {
  const auto wrong = [&] {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no map of texts", key);
  };
  const Value* map = document.Find(key);
  if (map == nullptr || map->kind() != Value::Kind::kMap) return wrong();
  Labels labels;
  for (const Value::Member& member : map->members()) {
    if (member.value.kind() != Value::Kind::kString) return wrong();
    labels.emplace(member.key, member.value.AsString());
  }
  return labels;
}

}  // namespace

Value ToDocument(const Rendering& rendering, bool sources) {
  Value document = Value::Map()
                       .Set("apiVersion", "partita.dev/labels/v1")
                       .Set("labels", MapOf(rendering.labels))
                       .Set("annotations", MapOf(rendering.annotations));
  if (sources) document.Set("sources", MapOf(rendering.sources));
  Value warnings = Value::List();
  for (const std::string& warning : rendering.warnings) warnings.Add(warning);
  return document.Set("warnings", std::move(warnings));
}

base::Result<Rendering> FromDocument(const Value& document) {
  Rendering rendering;
  TRY(labels, LabelsIn(document, "labels"));
  TRY(annotations, LabelsIn(document, "annotations"));
  TRY(sources, LabelsIn(document, "sources"));
  rendering.labels = std::move(labels);
  rendering.annotations = std::move(annotations);
  rendering.sources = std::move(sources);
  for (const auto& [key, unused] : rendering.labels)
    if (!rendering.sources.contains(key))
      return base::MakeError(base::ErrorCode::kInvalid, "{} has no source", key);
  const Value* warnings = document.Find("warnings");
  if (warnings == nullptr || warnings->kind() != Value::Kind::kList)
    return base::Error(base::ErrorCode::kInvalid, "warnings is no list");
  for (const Value& warning : warnings->items())
    if (warning.kind() == Value::Kind::kString) rendering.warnings.push_back(warning.AsString());
  return rendering;
}

std::string ToFeatureFile(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text.append(key).append("=").append(value).append("\n");
  return text;
}

std::vector<Owner> OwnersOf(const Value& pod) {
  const Value* metadata = pod.Find("metadata");
  const Value* references = metadata == nullptr ? nullptr : metadata->Find("ownerReferences");
  if (references == nullptr || references->kind() != Value::Kind::kList) return {};
  for (const Value& each : references->items()) {
    if (TextIn(each, "kind") != "DaemonSet") continue;
    return {
        {TextIn(each, "apiVersion"), "DaemonSet", TextIn(each, "name"), TextIn(each, "uid"), true},
        {"v1", "Pod", TextIn(*metadata, "name"), TextIn(*metadata, "uid"), false}};
  }
  return {};
}

Value ToNodeFeature(const Labels& labels,
                    const std::string& node,
                    const std::string& name_space,
                    const std::vector<Owner>& owners) {
  Value metadata = Value::Map()
                       .Set("name", NodeFeatureName(node))
                       .Set("namespace", name_space)
                       .Set("labels", Value::Map().Set("nfd.node.kubernetes.io/node-name", node));
  if (!owners.empty()) metadata.Set("ownerReferences", OwnersValue(owners));
  return Value::Map()
      .Set("apiVersion", "nfd.k8s-sigs.io/v1alpha1")
      .Set("kind", "NodeFeature")
      .Set("metadata", std::move(metadata))
      .Set("spec", Value::Map()
                       .Set("features", Value::Map()
                                            .Set("flags", Value::Map())
                                            .Set("attributes", Value::Map())
                                            .Set("instances", Value::Map()))
                       .Set("labels", MapOf(labels)));
}

Value ToNodeApply(const Labels& labels, const Labels& annotations, const std::string& node) {
  Value metadata = Value::Map().Set("name", node);
  // An empty map would be a field of ours too.
  if (!labels.empty()) metadata.Set("labels", MapOf(labels));
  if (!annotations.empty()) metadata.Set("annotations", MapOf(annotations));
  return Value::Map()
      .Set("apiVersion", "v1")
      .Set("kind", "Node")
      .Set("metadata", std::move(metadata));
}

}  // namespace partita::service::labels
