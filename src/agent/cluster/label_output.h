// Where labels go: the Node, a NodeFeature object, NFD's file. Each is told what is wanted there
// and makes it so, again and again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/cluster/cluster.h"
#include "base/log.h"
#include "kube/backoff.h"
#include "service/labels/labels.h"

namespace partita::agent {

// Loop's thread only. What it is given outlives it.
class LabelOutput {
 public:
  struct Events {
    // Nothing of ours is there any more, as was wanted.
    std::function<void()> removed;
    // Something is, and is not ours to remove: nobody tries again.
    std::function<void()> given_up;
    // Why it is not as it should be; empty: it is, or nobody can tell.
    std::function<void(const std::string& problem)> problem;
  };

  LabelOutput() = default;
  LabelOutput(const LabelOutput&) = delete;
  LabelOutput& operator=(const LabelOutput&) = delete;
  virtual ~LabelOutput() = default;

  // Absent: nothing of ours.
  virtual void Set(std::optional<service::labels::Rendering> wanted) = 0;
  // Once in a while: written or compared, also where nothing seems to differ.
  virtual void Refresh() = 0;
};

struct LabelOutputParts {
  Cluster& cluster;
  base::Log& log;
  kube::Random random;
  LabelOutput::Events events;
};

// By server-side apply, which takes away what is not said any more. Whatever others do to our
// labels is undone, with growing pauses where they do it again: two that write the same key would
// go on for ever.
[[nodiscard]] std::unique_ptr<LabelOutput> NewNodeLabels(LabelOutputParts parts);

// The object that gpu-feature-discovery would make, whole; kept as the Node's labels are. `pod` is
// ours, whose DaemonSet owns it; empty: nobody does.
[[nodiscard]] std::unique_ptr<LabelOutput> NewNodeFeature(LabelOutputParts parts,
                                                          const std::string& name_space,
                                                          const std::string& pod);

// For NFD's worker, which reads it every minute. `root` is above the host's files, among which it
// is where its folder is mounted here no more.
[[nodiscard]] std::unique_ptr<LabelOutput> NewLabelFile(LabelOutputParts parts,
                                                        const std::string& path,
                                                        const std::string& root);

}  // namespace partita::agent
