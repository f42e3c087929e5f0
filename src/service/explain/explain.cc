#include "service/explain/explain.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/resource_name.h"
#include "service/device_plugin/prefer.h"
#include "service/explain/advice.h"
#include "service/explain/devices.h"
#include "service/explain/notes.h"
#include "service/explain/selection.h"

namespace partita::service::explain {

using config::ContainerRole;
using config::ManifestContainer;
using config::PodManifest;
using config::ResourceRequest;
using device_plugin::ReportedDevice;
using device_plugin::ReportedResource;
using device_plugin::Standing;

// Of the replicas of one object so many are placed: more fit on no node.
constexpr std::uint64_t kMostPlaced = 100'000;

// One pod on its way through its containers.
struct Explainer::Turn {
  Taken& taken;
  PodAnswer& answer;
  Taken reusable{};  // what init containers had: kubelet gives it to those after them first
};

Explainer::Explainer(const NodeView& node) : node_(node) {
  facts_.common_nodes = device_plugin::CommonNodes(node.inventory);
  facts_.imex_channels = node.plugin.imex_channels;
  facts_.extra_cdi_classes = node.plugin.cdi_classes;
  std::erase(facts_.extra_cdi_classes, "imex-channel");
  facts_.annotation_id = "…";  // another one for each answer
}

const ReportedResource* Explainer::Find(const std::string& name) const {
  for (const ReportedResource& resource : node_.plugin.resources)
    if (resource.name == name) return &resource;
  return nullptr;
}

PodAnswer Explainer::Explain(const PodManifest& pod) {
  PodAnswer answer;
  for (const config::ManifestFlaw& flaw : pod.flaws)
    answer.reasons.push_back(
        {"Refused", "the API server refuses it: " + flaw.message, flaw.hint, "", flaw.place});
  if (!pod.claims.empty())
    answer.reasons.push_back(
        {"Claims",
         "it gets devices by claims: they are served by DRA, which this version does not serve",
         "ask for devices under resources.limits, or use a DRA driver", "",
         pod.claims.front().place});
  CheckLabels(pod, node_, answer);
  CheckTaint(pod, node_, answer);
  Taken taken = above_;
  Place(pod, taken, answer);
  AddNotes(pod, node_, answer);
  if (!answer.runs() || pod.replicas == 0) return answer;
  above_ = std::move(taken);
  const bool takes_some =
      std::any_of(answer.containers.begin(), answer.containers.end(),
                  [](const ContainerAnswer& container) { return !container.grants.empty(); });
  answer.fitting = takes_some ? 1 : pod.replicas;
  while (answer.fitting < std::min(pod.replicas, kMostPlaced)) {
    PodAnswer next;
    Taken more = above_;
    if (!Place(pod, more, next)) break;
    above_ = std::move(more);
    ++answer.fitting;
  }
  return answer;
}

bool Explainer::Place(const PodManifest& pod, Taken& taken, PodAnswer& answer) const {
  const std::size_t before = answer.reasons.size();
  Turn turn{taken, answer};
  for (const ManifestContainer& container : pod.containers) Serve(container, turn);
  return answer.reasons.size() == before;
}

void Explainer::Serve(const ManifestContainer& container, Turn& turn) const {
  turn.answer.containers.push_back({container.name, container.role, {}});
  for (const ResourceRequest& request : container.resources) {
    // What others offer is theirs to answer.
    if (!request.name.starts_with(config::kResourcePrefix) && Find(request.name) == nullptr)
      continue;
    const ReportedResource* resource = Find(request.name);
    if (resource != nullptr && !resource->devices.empty()) {
      Give(container, request, *resource, turn);
    } else {
      Advice advice = WhyNotOffered(node_, request);
      turn.answer.reasons.push_back({"Resource", std::move(advice.text), std::move(advice.change),
                                     container.name, request.place});
    }
  }
}

Explainer::Offers Explainer::OffersFor(const ResourceRequest& request,
                                       const ReportedResource& resource,
                                       Turn& turn) const {
  const Ids& taken = turn.taken[request.name];
  const Ids& reusable = turn.reusable[request.name];
  Offers offers;
  for (const ReportedDevice& device : resource.devices) {
    const bool again = reusable.contains(device.id);
    if (again && offers.required.size() < request.count) offers.required.push_back(device.id);
    if (device.standing == Standing::kFree && (again || !taken.contains(device.id)))
      offers.available.push_back(device.id);
  }
  return offers;
}

Explainer::Ids Explainer::Choose(const ManifestContainer& container,
                                 const ResourceRequest& request,
                                 const ReportedResource& resource,
                                 Turn& turn,
                                 Grant& grant) const {
  const auto refuse = [&](const char* code, std::string text, std::string change) {
    turn.answer.reasons.push_back(
        {code, std::move(text), std::move(change), container.name, request.place});
    return Ids();
  };
  const Offers offers = OffersFor(request, resource, turn);
  if (request.count > offers.available.size()) {
    Advice advice = WhyNotEnough(node_, resource, request, offers.available.size(),
                                 turn.taken[request.name].size());
    return refuse(request.count > resource.devices.size() ? "NotEnough" : "NotFree",
                  std::move(advice.text), std::move(advice.change));
  }
  const device_plugin::OfferedResource offered = device_plugin::AsOffered(resource);
  const std::vector<std::string> chosen =
      device_plugin::Prefer(offered, node_.inventory, node_.config.share_policy,
                            {offers.available.begin(), offers.available.end()},
                            {offers.required.begin(), offers.required.end()}, request.count);
  base::Result<device_plugin::Answer> answer =
      device_plugin::Allocate(offered, chosen, node_.config, facts_);
  if (!answer.ok())
    return refuse("Allocate", "the device plugin refuses it: " + answer.error().message(),
                  answer.error().hint());
  grant.answer = *std::move(answer);
  return {chosen.begin(), chosen.end()};
}

void Explainer::Give(const ManifestContainer& container,
                     const ResourceRequest& request,
                     const ReportedResource& resource,
                     Turn& turn) const {
  Grant grant{request.name, request.count, {}, {}, {}};
  const Ids given = Choose(container, request, resource, turn, grant);
  Ids& taken = turn.taken[request.name];
  Ids& reusable = turn.reusable[request.name];
  for (const ReportedDevice& device : resource.devices) {
    grant.picture.push_back({device.index, device.gpu, MarkOf(device, given, taken)});
    if (!given.contains(device.id)) continue;
    grant.devices.push_back(Describe(node_, resource, device));
    grant.devices.back().reused = reusable.contains(device.id);
  }
  for (const std::string& id : given) {
    taken.insert(id);
    // A sidecar stays, and keeps what it has; so do the containers themselves.
    if (container.role == ContainerRole::kInit)
      reusable.insert(id);
    else
      reusable.erase(id);
  }
  turn.answer.containers.back().grants.push_back(std::move(grant));
}

}  // namespace partita::service::explain
