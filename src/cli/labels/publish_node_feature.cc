#include "cli/labels/publish_node_feature.h"

#include <utility>

#include <fmt/format.h>

#include "cli/labels/asking.h"
#include "kube/client.h"
#include "service/labels/node_feature.h"
#include "service/labels/outputs.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::Value;
using service::labels::Owner;

std::vector<Owner> OwnersOf(Asking& asking,
                            const NodeFeaturePlace& place,
                            std::vector<std::string>& warnings) {
  if (place.pod.empty()) return {};
  const base::Result<Value> pod =
      asking.Get(fmt::format("/api/v1/namespaces/{}/pods/{}", place.name_space, place.pod));
  if (pod.ok()) return service::labels::OwnersOf(*pod);
  warnings.push_back(
      fmt::format("the NodeFeature object has no owner: {}", pod.error().ToString()));
  return {};
}

}  // namespace

base::Result<void> PublishNodeFeature(const NodeFeaturePlace& place,
                                      const service::labels::Labels& labels,
                                      std::vector<std::string>& warnings) {
  if (place.node.empty()) {
    return base::Error(ErrorCode::kInvalid, "a NodeFeature object is of a node, which is not named")
        .WithHint("give --node-name, or NODE_NAME from spec.nodeName");
  }
  TRY(access, kube::FindAccess(place.kubeconfig, kube::ProcessEnvironment()));
  Asking asking(std::move(access), "partita-gpu-feature-discovery");
  const Value wanted = service::labels::ToNodeFeature(labels, place.node, place.name_space,
                                                      OwnersOf(asking, place, warnings));
  const std::string folder = service::labels::NodeFeatureFolder(place.name_space);
  const std::string path = folder + "/" + service::labels::NodeFeatureName(place.node);
  base::Result<Value> there = asking.Get(path);
  if (!there.ok() && there.error().code() != ErrorCode::kNotFound) return there.error();
  if (!there.ok()) {
    const base::Result<Value> made =
        asking.Ask([&](kube::Client& client, kube::Client::Answer answer) {
          client.Create(folder, wanted, std::move(answer));
        });
    if (made.ok()) return {};
    return made.error();
  }
  if (!service::labels::NodeFeatureDiffers(*there, wanted)) return {};
  const base::Result<Value> updated =
      asking.Ask([&](kube::Client& client, kube::Client::Answer answer) {
        client.Update(path, service::labels::OverNodeFeature(*there, wanted), std::move(answer));
      });
  if (updated.ok()) return {};
  return updated.error();
}

}  // namespace partita::cli
