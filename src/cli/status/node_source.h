// Where `partita status` gets its inventory: from the agent of this machine, or from a look of its
// own where none can be asked.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "model/node_report.h"
#include "service/inventory/reader.h"

namespace partita::cli {

struct NodeLook {
  model::Inventory inventory;
  model::StaleGpus stale =
      {};  // empty after a look of our own: whoever does not answer has a fault
  std::vector<model::MpsDomain> mps = {};  // as the agent has them
};

// The agent's answer to "status". kUnsupported: of another version; kInvalid, with the place.
[[nodiscard]] base::Result<NodeLook> ReadStatusAnswer(const base::Value& answer);

// One thread.
class NodeSource {
 public:
  struct Agent {
    std::string socket;
    std::chrono::milliseconds patience = std::chrono::seconds(2);
  };
  using OwnLook = std::function<model::Inventory()>;

  // Without an agent nobody is asked.
  NodeSource(std::optional<Agent> agent, OwnLook own_look)
      : agent_(std::move(agent)), own_look_(std::move(own_look)) {}

  // An agent that runs and does not help is warned about once and not asked again: whoever watches
  // would wait for it each time.
  [[nodiscard]] NodeLook Look();

 private:
  std::optional<Agent> agent_;
  OwnLook own_look_;
};

// The agent answers for this machine as it sees it: not where options name another root or library.
[[nodiscard]] bool MayAskAgent(const service::inventory::ReaderOptions& options);

[[nodiscard]] NodeSource SourceFor(const service::inventory::ReaderOptions& options);

}  // namespace partita::cli
