// What of a Node is partita's, for whoever takes it away once no agent is left. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "service/labels/taints.h"

namespace partita::service::labels {

struct Clearing {
  std::vector<std::string> labels, annotations;  // keys that kFieldManager applied and still has
  std::vector<std::string> conditions;           // types below partita.dev/
  std::optional<Taint> taint{};

  [[nodiscard]] bool empty() const {
    return labels.empty() && annotations.empty() && conditions.empty() && !taint;
  }
  bool operator==(const Clearing&) const = default;
};

// `taint` is what an agent was configured to put there. It is ours only where we have written the
// list of taints: one that came with the node is not.
[[nodiscard]] Clearing WhatIsOurs(const base::Value& node, const std::optional<Taint>& taint);

// "3 labels, condition partita.dev/GPUConfigApplied"; "nothing".
[[nodiscard]] std::string ToString(const Clearing& clearing);

// A strategic patch of the status without these, and with all others.
[[nodiscard]] base::Value WithoutConditions(const std::vector<std::string>& types);

// "nvidia.com/gpu=present:NoSchedule", as kubectl writes it; value and effect may be left out.
// kInvalid: it is none.
[[nodiscard]] base::Result<Taint> ReadTaintWord(const std::string& word);

}  // namespace partita::service::labels
