// The device plugin in the agent: what of this node kubelet is offered, what it gives to pods, and
// what it says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/kubelet_watch.h"
#include "agent/ledger_keeper.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "config/offer_rule.h"
#include "config/plugin_config.h"
#include "model/health.h"
#include "net/loop.h"
#include "net/rpc/channel.h"
#include "service/device_plugin/allocate.h"
#include "service/device_plugin/endpoint.h"
#include "service/device_plugin/lately.h"
#include "service/device_plugin/listing.h"
#include "service/device_plugin/offered.h"
#include "service/device_plugin/pods.h"
#include "service/device_plugin/report.h"
#include "service/device_plugin/stock.h"
#include "service/inventory/snapshot.h"

namespace partita::agent {

struct PluginOptions {
  config::PluginConfig config;
  std::vector<config::OfferRule> rules{};
  bool offered_by_default = true;  // a GPU that no rule names
  service::device_plugin::KubeletPlace kubelet{};
  std::string dev_root = "/";  // above /dev, as this process sees it
  std::string node_name{};     // in Kubernetes
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  bool operator==(const PluginOptions&) const = default;
};

// Loop's thread only. What it is given outlives it.
class PluginService {
 public:
  // `changed` is called when problem() may have become another.
  PluginService(net::Loop& loop,
                base::Log& log,
                LedgerKeeper& ledger,
                KubeletWatch& kubelet,
                net::Task changed = nullptr);
  PluginService(const PluginService&) = delete;
  PluginService& operator=(const PluginService&) = delete;
  ~PluginService();

  void Start(PluginOptions options);
  void Stop();
  [[nodiscard]] bool running() const { return running_; }

  // What offers follow from; each is published as soon as it differs.
  void SetOptions(PluginOptions options);
  void SetNode(const service::inventory::SnapshotPtr& snapshot);
  void SetHealth(const std::shared_ptr<const model::NodeHealth>& health);
  // Whether the files that kubelet's answers name are of the node as it is, and of what else there
  // are some ("gds"). While they are not, devices that are new wait.
  void SetFiles(bool current, std::vector<std::string> classes);
  // Whether CDI devices reach containers on this node (agent/cdi_reach.h). Where nobody chose
  // another way, everything waits until that was looked at, and nothing is offered if they do not:
  // any other way would let every pod take every GPU.
  void SetReach(bool looked, std::string disabled);
  // The domains that shares by MPS need; called whenever what is offered was decided. `complete`:
  // there are no others.
  using WantDomains =
      std::function<void(const std::vector<service::mps::Domain>& domains, bool complete)>;
  void OnDomains(WantDomains want) { want_domains_ = std::move(want); }
  // Of each domain: why it does not serve; empty: it does. The devices of one that does not, or
  // that is not named, are not healthy; nor is a device that a domain keeps for its holders, by
  // UUID.
  void SetDomains(std::map<std::string, std::string> problems,
                  std::map<std::string, std::string> kept);

  // There is a kubelet, and it has not told yet which pods hold what.
  [[nodiscard]] bool awaits_pods() const { return running_ && kubelet_.present() && !heard_pods_; }
  // Why kubelet is not served as it should be; empty: it is, or there is none.
  [[nodiscard]] std::string problem() const;
  // Why nothing is offered at all, by SetReach; empty: something is.
  [[nodiscard]] const std::string& disabled() const { return disabled_; }
  // What it has for a container that would be started now.
  [[nodiscard]] service::device_plugin::Report Report() const;
  // kubelet listens to all that is offered, and something is.
  [[nodiscard]] bool heard() const;
  // Of "agent.state".
  [[nodiscard]] base::Value State() const;

 private:
  using Endpoint = service::device_plugin::Endpoint;
  using Offered = service::device_plugin::Offered;
  using OfferedResource = service::device_plugin::OfferedResource;

  void PublishSoon();
  void Publish();
  void AskDomain(service::device_plugin::OfferedDevice& device) const;
  void AskDomains(Offered& offered) const;
  [[nodiscard]] Offered WhatIsOffered() const;
  void FindChannels();
  void TellProblems();
  Endpoint& EndpointOf(const std::string& resource);
  // Null: nothing of it is offered.
  [[nodiscard]] const service::device_plugin::Stock* Find(const std::string& resource) const;
  base::Result<std::vector<service::device_plugin::Answer>> Allocate(
      const std::string& resource, const std::vector<std::vector<std::string>>& containers);
  std::vector<std::string> Prefer(const std::string& resource,
                                  const service::device_plugin::PreferRequest& request) const;
  void AskPodsAt(const std::string& socket);
  void ReadPodsAfter(net::Duration pause);
  void ReadPods();
  void HeardPods(const base::Result<std::string>& answer);
  // Endpoints register from now on.
  void StartEndpoints();
  [[nodiscard]] bool CanBeTold() const;
  void HearHoldersFirst();
  void KubeletStarted();
  void KubeletGone();
  void StartEndpoint(const std::string& resource);
  void TellUnknown(const std::vector<std::string>& ids, std::size_t count);
  [[nodiscard]] service::ledger::Time Now() const;

  net::Loop& loop_;
  base::Log& log_;
  LedgerKeeper& ledger_;
  KubeletWatch& kubelet_;
  net::Task changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  bool running_ = false, files_current_ = true, reach_looked_ = true;
  std::string reach_;     // why CDI devices do not reach containers
  std::string disabled_;  // the same, where that counts
  PluginOptions options_;
  service::inventory::SnapshotPtr snapshot_;
  std::shared_ptr<const model::NodeHealth> health_;
  service::device_plugin::AllocateFacts facts_;
  WantDomains want_domains_;
  std::map<std::string, std::string> domain_problems_, kept_devices_;
  Offered offered_;
  std::map<std::string, bool> were_well_;  // devices of the last offer, whatever their MPS domains
  std::map<std::string, service::device_plugin::Stock> stocks_;  // of offered_, by resource
  service::device_plugin::Lately lately_;
  service::inventory::Revisions offered_at_;  // offered_ is of this machine
  std::vector<std::string> told_, told_unknown_;
  std::size_t unknown_count_ = 0;
  service::device_plugin::Listings listings_;
  std::map<std::string, std::vector<service::device_plugin::Listed>> lists_;  // as last shown
  std::map<std::string, std::unique_ptr<Endpoint>> endpoints_;
  std::shared_ptr<void> kubelet_subscription_;
  // Changes that come together are one list; kubelet writes a file for each.
  std::unique_ptr<net::Timer> publish_timer_;
  std::unique_ptr<net::Timer> listing_timer_;  // something listed for a while only
  std::unique_ptr<net::Timer> lately_timer_;

  std::unique_ptr<net::rpc::Channel> pods_;
  std::unique_ptr<net::Timer> pods_timer_;
  bool reading_pods_ = false, read_again_ = false, heard_pods_ = false;
  service::device_plugin::PodMemory pod_memory_;
  base::RepeatedFailure pods_failure_;
  bool ever_heard_pods_ = false;  // since the start: from then on the ledger knows
  // Nobody knows who holds what: what is offered waits for kubelet's first answer.
  bool holders_first_ = false, asks_new_kubelet_ = false;
  std::unique_ptr<net::Timer> holders_timer_;
};

}  // namespace partita::agent
