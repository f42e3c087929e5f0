// MIG in the agent: changes that are ordered, with the ledger's say, and how the node shall be.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/control/server.h"
#include "agent/ledger_keeper.h"
#include "agent/mig_changes.h"
#include "agent/node.h"
#include "base/log.h"
#include "base/value.h"
#include "config/agent_config.h"
#include "net/loop.h"

namespace partita::agent {

// Loop's thread only. Whatever it is given outlives it.
class MigService {
 public:
  MigService(net::Loop& loop, base::Log& log, Node& node, LedgerKeeper& ledger);

  void Register(control::Server& server);
  // With the node's first look. `done` is called once: where the layout is brought back, after
  // that.
  void Start(const config::AgentConfig& config,
             const std::string& state_directory,
             const net::Task& done);
  void Stop(net::Task stopped) { changes_.Stop(std::move(stopped)); }
  // Of "agent.state", between Start and Stop, by the configuration in force.
  [[nodiscard]] base::Value State(const config::AgentConfig& config) const;

 private:
  void Serve();
  void Compare(const net::Task& done);
  using Gate = MigChanges::Options::GateAnswer;
  void EndPlan();

  base::Log& log_;
  Node& node_;
  LedgerKeeper& ledger_;
  config::AgentConfig config_;
  std::string state_directory_;
  std::optional<std::string> plan_;  // of the change that runs, in the ledger
  MigChanges changes_;
};

}  // namespace partita::agent
