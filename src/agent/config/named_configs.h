// Which of the device plugin's named configurations is to be in force: what the folder or the
// ConfigMap has, what the node's label says, and which one was good last.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster/cluster.h"
#include "agent/file_watch.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "config/agent_config.h"
#include "config/named/named_configs.h"
#include "kube/client.h"
#include "net/loop.h"

namespace partita::agent {

// One that was read and is good.
struct NamedConfig {
  config::Choice choice;
  std::string source;  // that it was found in: "/etc/partita/device-plugin.d"
  std::string label;   // what it said then
  std::string where;   // "/etc/partita/device-plugin.d/ts4"; empty: none of them
  std::string text;
  config::PluginConfigResult read{};  // of the text
};

// Loop's thread only; all that is given to it outlives it.
class NamedConfigs {
 public:
  // `changed`: another answer may be due.
  NamedConfigs(net::Loop& loop,
               base::Log& log,
               Cluster& cluster,
               const std::string& state_directory,
               net::Task changed);
  NamedConfigs(const NamedConfigs&) = delete;
  NamedConfigs& operator=(const NamedConfigs&) = delete;
  ~NamedConfigs() = default;

  // Watches what the configuration names, and the node's label, from now on. The cluster has been
  // started.
  void Follow(const config::AgentConfig& config);
  void Stop();

  // By what is known now. While the API server has not told the label or the ConfigMap, it is what
  // was good last; kUnavailable where that is not known either. kDenied: it refuses the ConfigMap.
  [[nodiscard]] base::Result<NamedConfig> Choose(const config::AgentConfig& config) const;
  // What was good last, in this life or the one before.
  [[nodiscard]] std::optional<NamedConfig> LastGood(const config::AgentConfig& config) const;
  // It is in force.
  void Keep(const NamedConfig& in_force);
  [[nodiscard]] bool IsKept(const NamedConfig& config) const;
  // What is in force and why: `/etc/partita/device-plugin.d/ts4 is in force (node label …=ts4)`.
  [[nodiscard]] std::string Describe() const;

  // {"source": …, "label": {"key": …, "value": …}, "name": "ts4", "by": "label", "where": …}; the
  // value null: not known.
  [[nodiscard]] base::Value State() const;

 private:
  using Texts = std::map<std::string, std::string>;

  void SawNode(const base::Value& node);
  void WatchFolder(const std::string& folder);
  void WatchConfigMap(const std::string& name);
  void FailedConfigMap(const base::Error& error);
  void SeesConfigMap();
  [[nodiscard]] base::Result<std::vector<std::string>> Names(const config::AgentConfig& config,
                                                             const config::Selection& from) const;
  [[nodiscard]] base::Result<std::string> TextOf(const config::AgentConfig& config,
                                                 const std::string& name) const;
  void ReadKept();

  base::Log& log_;
  Cluster& cluster_;
  const std::string kept_path_;
  net::Task changed_;
  std::string label_key_;
  std::optional<std::string> label_;  // absent: the API server has not told
  std::string folder_, config_map_;   // that are watched
  FileWatch folder_watch_;
  std::optional<Texts> texts_;  // of the ConfigMap; absent: the API server has not told
  bool config_map_there_ = false;
  std::string config_map_problem_;
  std::optional<base::Error> refused_;  // it may not be read: what it says is not known any more
  std::optional<NamedConfig> kept_;     // without what was read of it
  std::shared_ptr<void> node_;
  std::unique_ptr<kube::Watching> watching_;
};

}  // namespace partita::agent
