// Pods as manifests write them, as far as devices and the choice of a node go: Pods themselves and
// the templates of what makes Pods. Reading one needs neither cluster nor GPU. Fields that have
// nothing to do with that are not looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"

namespace partita::config {

// Something that the API server would refuse, at its place. The rest of the manifest is read.
struct ManifestFlaw {
  Node place;
  std::string message;
  std::string hint;
};

// A text with its place.
struct ManifestText {
  std::string text;
  Node place;
};

struct ResourceRequest {
  std::string name;  // an extended resource: "nvidia.com/gpu"
  std::uint64_t count = 0;
  Node place;  // of the count
};

// kInit: runs to its end before others start. kSidecar: starts before them and stays.
enum class ContainerRole : std::uint8_t { kInit, kSidecar, kMain };
[[nodiscard]] std::string_view ToString(ContainerRole role);

struct ManifestContainer {
  std::string name;
  ContainerRole role = ContainerRole::kMain;
  std::vector<ResourceRequest> resources;       // in the order of the file; none is 0
  std::optional<ManifestText> visible_devices;  // NVIDIA_VISIBLE_DEVICES among its variables
};

enum class LabelOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
// What a node's label must be.
struct LabelRule {
  std::string key;
  LabelOperator op = LabelOperator::kIn;
  std::vector<std::string> values;
  Node place;
};

// All of these must be so. A term without rules is met by no node.
struct AffinityTerm {
  std::vector<LabelRule> rules;
  Node place;
};

// A taint of a node that the pod bears with, as the manifest says it.
struct Toleration {
  std::string key;      // empty: every one
  bool exists = false;  // whatever the taint's value; else it must be `value`
  std::string value;
  std::string effect;  // empty: every one
  Node place;
};

struct PodManifest {
  std::string kind;  // "Pod", "Deployment", …: what the file has
  std::string pod_namespace, name;
  std::uint64_t replicas = 1;
  std::vector<ManifestContainer> containers;  // in the order in which kubelet starts them
  std::vector<LabelRule> selector;            // nodeSelector: all of them
  std::vector<AffinityTerm> affinity;         // required: one of them; empty: any node
  std::vector<Toleration> tolerations;
  std::optional<ManifestText> runtime_class, node_name;
  std::vector<ManifestText> claims;  // names of resourceClaims
  std::vector<ManifestFlaw> flaws;
  Node place;
};

// An object of the file that makes no Pod.
struct OtherObject {
  std::string kind, name;
  int line = 0;
};

class ManifestFile {
 public:
  // YAML or JSON, several documents, Lists too. kInvalid, with every place, where it is not YAML or
  // no Kubernetes object, and where no Pod can come of it.
  [[nodiscard]] static base::Result<ManifestFile> Parse(std::string text, std::string file_name);

  [[nodiscard]] const std::vector<PodManifest>& pods() const { return pods_; }
  [[nodiscard]] const std::vector<OtherObject>& others() const { return others_; }
  [[nodiscard]] const std::string& file_name() const { return stream_.file_name; }

  // The line of a place with carets below it.
  [[nodiscard]] std::string Snippet(const Node& place) const;
  // "pod.yaml:7:9: message", the line, carets and the hint.
  [[nodiscard]] std::string Show(const Node& place,
                                 const std::string& message,
                                 const std::string& hint) const;

 private:
  explicit ManifestFile(DocumentStream stream) : stream_(std::move(stream)) {}
  DocumentStream stream_;
  std::vector<PodManifest> pods_;
  std::vector<OtherObject> others_;
};

}  // namespace partita::config
