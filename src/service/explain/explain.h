// What a pod would get on a node now, or why it would get nothing and what would have to change:
// its manifest held against what the device plugin has, by the functions that answer kubelet. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/manifest/pod_manifest.h"
#include "config/plugin_config.h"
#include "model/inventory.h"
#include "service/device_plugin/allocate.h"
#include "service/device_plugin/report.h"
#include "service/labels/labels.h"
#include "service/labels/taints.h"

namespace partita::service::explain {

struct NodeView {
  model::Inventory inventory;
  device_plugin::Report plugin;
  config::PluginConfig config;  // that of `plugin`
  labels::Labels labels;
  std::optional<labels::Taint> taint{};  // that its configuration gives it
  bool model = false;                    // made of what is known of products: no driver, no holders
};

// Of a device, for the picture of a resource.
enum class Mark : std::uint8_t {
  kGiven,
  kFree,
  kHeld,
  kUnhealthy,
  kAbove,  // a container or pod before this one in the order has it
};
struct Cell {
  std::string index;  // "0", "0:1"
  model::PciAddress gpu;
  Mark mark = Mark::kFree;
  bool operator==(const Cell&) const = default;
};

struct ShareOf {
  std::uint32_t number = 0;         // from 0
  std::uint32_t count = 0;          // shares of this device, of this size
  std::vector<std::string> others;  // who holds some of them now
  // By MPS: what it may take at most, and its size where there are sizes.
  std::optional<device_plugin::MpsShare> mps{};
  bool operator==(const ShareOf&) const = default;
};

struct GivenDevice {
  std::string id, whole_id, index;
  std::string product;
  std::string profile;                     // of a MIG device
  std::optional<model::Mebibytes> memory;  // that it may use, at most
  std::optional<std::uint32_t> multiprocessors;
  std::optional<ShareOf> share;
  bool reused = false;  // an init container had it before
  bool operator==(const GivenDevice&) const = default;
};

// What a container gets of one resource; without devices where it gets none.
struct Grant {
  std::string resource;
  std::uint64_t count = 0;
  std::vector<Cell> picture;  // every device of the resource
  std::vector<GivenDevice> devices;
  device_plugin::Answer answer;
};

struct ContainerAnswer {
  std::string name;
  config::ContainerRole role = config::ContainerRole::kMain;
  std::vector<Grant> grants;  // of what this node offers
};

// Why it would not run. The code is for programs: "Refused" (by the API server), "Claims", "Label",
// "Taint", "Resource" (nobody offers it), "NotEnough", "NotFree", "Allocate" (the device plugin
// refuses).
struct Reason {
  std::string code;
  std::string text;    // what is so
  std::string change;  // what would have to be otherwise
  std::string container;
  config::Node place;
};

struct PodAnswer {
  std::vector<ContainerAnswer> containers;
  std::vector<Reason> reasons;
  std::vector<std::string> notes;
  std::uint64_t fitting = 0;  // of the replicas
  [[nodiscard]] bool runs() const { return reasons.empty(); }
};

// Answers pods one after the other, each as if those before it that would run did.
class Explainer {
 public:
  // The view outlives this.
  explicit Explainer(const NodeView& node);

  [[nodiscard]] PodAnswer Explain(const config::PodManifest& pod);

 private:
  using Ids = std::set<std::string>;
  // What is no longer free, by resource.
  using Taken = std::map<std::string, Ids>;
  struct Turn;
  // Of a resource, for one container.
  struct Offers {
    std::vector<std::string> available;
    std::vector<std::string> required;  // of them: what init containers had
  };

  bool Place(const config::PodManifest& pod, Taken& taken, PodAnswer& answer) const;
  void Serve(const config::ManifestContainer& container, Turn& turn) const;
  [[nodiscard]] Offers OffersFor(const config::ResourceRequest& request,
                                 const device_plugin::ReportedResource& resource,
                                 Turn& turn) const;
  // None where it gets none: why is among the reasons then.
  [[nodiscard]] Ids Choose(const config::ManifestContainer& container,
                           const config::ResourceRequest& request,
                           const device_plugin::ReportedResource& resource,
                           Turn& turn,
                           Grant& grant) const;
  void Give(const config::ManifestContainer& container,
            const config::ResourceRequest& request,
            const device_plugin::ReportedResource& resource,
            Turn& turn) const;
  [[nodiscard]] const device_plugin::ReportedResource* Find(const std::string& name) const;

  const NodeView& node_;
  device_plugin::AllocateFacts facts_;
  Taken above_;
};

}  // namespace partita::service::explain
