// The published document (partita.dev/explain/v1, apis/explain-v1.schema.json).
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "config/manifest/pod_manifest.h"
#include "service/explain/explain.h"

namespace partita::service::explain {

struct AnsweredPod {
  std::string file;
  const config::PodManifest* pod;
  PodAnswer answer;
};

// `node` says whose answer it is: "agent", "look" or "model".
[[nodiscard]] base::Value ExplainDocument(const std::string& node,
                                          const std::vector<AnsweredPod>& pods,
                                          const std::vector<std::string>& warnings);

}  // namespace partita::service::explain
