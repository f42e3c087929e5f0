// The three ways that labels go out, as texts and objects: a file for Node Feature Discovery, its
// NodeFeature object, and the Node itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "service/labels/labels.h"

namespace partita::service::labels {

// Who applies labels to a Node; what it no longer sends, the API server removes.
inline constexpr std::string_view kFieldManager = "partita-labels";

// `key=value` lines, sorted.
[[nodiscard]] std::string ToFeatureFile(const Labels& labels);

// partita.dev/labels/v1, as `partita labels show` prints it and the agent answers it.
[[nodiscard]] base::Value ToDocument(const Rendering& rendering, bool sources);
// kInvalid: it is none.
[[nodiscard]] base::Result<Rendering> FromDocument(const base::Value& document);

// Whose end is the object's end.
struct Owner {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool operator==(const Owner&) const = default;
};
// Of an object that a pod of a DaemonSet makes: the DaemonSet, then the pod. None of other pods.
[[nodiscard]] std::vector<Owner> OwnersOf(const base::Value& pod);

// nfd.k8s-sigs.io/v1alpha1, named as gpu-feature-discovery names it.
[[nodiscard]] base::Value ToNodeFeature(const Labels& labels,
                                        const std::string& node,
                                        const std::string& name_space,
                                        const std::vector<Owner>& owners);

// What a server-side apply by kFieldManager sends: our labels and annotations, all of them and no
// others.
[[nodiscard]] base::Value ToNodeApply(const Labels& labels,
                                      const Labels& annotations,
                                      const std::string& node);

}  // namespace partita::service::labels
