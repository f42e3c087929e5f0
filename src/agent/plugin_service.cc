#include "agent/plugin_service.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "service/device_plugin/allocate.h"
#include "service/device_plugin/device_id.h"
#include "service/device_plugin/messages.h"
#include "service/device_plugin/prefer.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using service::device_plugin::Answer;
using service::device_plugin::ChannelPath;
using service::device_plugin::Listed;
using service::device_plugin::Offered;
using service::device_plugin::OfferedDevice;
using service::device_plugin::OfferedResource;
using service::device_plugin::PreferRequest;
using service::device_plugin::Stock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kGather{100};
constexpr seconds kToListPods{10};
// kubelet lists a pod once it is admitted, a moment after it asked us.
constexpr seconds kAfterAllocate{1};
constexpr seconds kWhileAwaited{10};
// Milliseconds, as a rule. A kubelet that is slower than this gets its devices nevertheless.
constexpr seconds kToHearHolders{1};
constexpr milliseconds kUntilItListens{50};
constexpr seconds kUntilItHears{1};  // a new list: milliseconds, as a rule

// Whether any of a device is well; absent: nothing of it is offered.
std::map<std::string, bool> WellOf(const Offered& offered) {
  std::map<std::string, bool> well;
  for (const OfferedResource& resource : offered.resources)
    for (const OfferedDevice& device : resource.devices)
      well[device.whole_id] = well[device.whole_id] || device.healthy;
  return well;
}

// The files are of an earlier look. What is new is not in them, and what was ill may not be: it may
// have been one that could not be read.
void OfferWhatFilesHave(Offered& offered, const std::map<std::string, bool>& were_well) {
  for (OfferedResource& resource : offered.resources) {
    std::erase_if(resource.devices, [&](const OfferedDevice& device) {
      return !were_well.contains(device.whole_id);
    });
    for (OfferedDevice& device : resource.devices) {
      if (!device.healthy || were_well.at(device.whole_id)) continue;
      device.healthy = false;
      device.why = "the files of CDI are not yet of the node as it is";
    }
  }
}

// Unlike any other answer's; nothing where no answer has annotations.
std::string AnnotationId(const config::PluginConfig& config) {
  const auto& strategies = config.list_strategies;
  if (std::find(strategies.begin(), strategies.end(), config::ListStrategy::kCdiAnnotations) ==
      strategies.end())
    return "";
  const base::Result<std::string> id = base::ReadFile("/proc/sys/kernel/random/uuid");
  return id.ok() ? id->substr(0, id->find('\n')) : "";
}

// No daemon for nobody, which would make its GPU exclusive; one that is there may have clients.
void OfferNothing(Offered& offered, std::string why) {
  for (OfferedResource& resource : offered.resources) resource.devices.clear();
  offered.domains.clear();
  offered.domains_complete = false;
  offered.problems.push_back(std::move(why));
}

}  // namespace

PluginService::PluginService(
    net::Loop& loop, base::Log& log, LedgerKeeper& ledger, KubeletWatch& kubelet, net::Task changed)
    : loop_(loop),
      log_(log),
      ledger_(ledger),
      kubelet_(kubelet),
      changed_(std::move(changed)),
      publish_timer_(loop.NewTimer("publish")),
      listing_timer_(loop.NewTimer("listing")),
      lately_timer_(loop.NewTimer("lately")),
      pods_timer_(loop.NewTimer("pod-resources")),
      pods_failure_(log, "kubelet does not say which pods have devices"),
      holders_timer_(loop.NewTimer("holders")) {}

PluginService::~PluginService() { *alive_ = false; }

service::ledger::Time PluginService::Now() const {
  return std::chrono::time_point_cast<milliseconds>(loop_.clock().WallNow());
}

void PluginService::Start(PluginOptions options) {
  options_ = std::move(options);
  running_ = true;
  AskPodsAt(options_.pod_resources);
  kubelet_subscription_ = kubelet_.Subscribe([this](hw::watch::KubeletSocket::Change change) {
    // What the one before it answered does not count any more.
    pods_->Close();
    service::device_plugin::Forget(pod_memory_);
    heard_pods_ = false;
    if (change == hw::watch::KubeletSocket::Change::kGone)
      KubeletGone();
    else
      KubeletStarted();
  });
  ledger_.OnPlans([this] { Publish(); });
  HearHoldersFirst();
  Publish();
  ReadPods();
}

// A ledger that knows of no pod may have been begun under pods that hold devices: whoever registers
// first offers them to others.
void PluginService::HearHoldersFirst() {
  holders_first_ = awaits_pods() && !ever_heard_pods_ && !ledger_.knows_holders();
  if (holders_first_) holders_timer_->After(kToHearHolders, [this] { StartEndpoints(); });
}

void PluginService::KubeletGone() {
  for (auto& [name, endpoint] : endpoints_) endpoint->KubeletGone();
  holders_first_ = asks_new_kubelet_ = false;
  holders_timer_->Cancel();
  pods_timer_->Cancel();
}

void PluginService::KubeletStarted() {
  HearHoldersFirst();
  asks_new_kubelet_ = holders_first_;
  if (holders_first_) return ReadPods();
  for (auto& [name, endpoint] : endpoints_) endpoint->KubeletStarted();
  ReadPodsAfter(kAfterAllocate);
}

void PluginService::Stop() {
  running_ = false;
  ledger_.OnPlans(nullptr);
  kubelet_subscription_.reset();
  publish_timer_->Cancel();
  listing_timer_->Cancel();
  lately_timer_->Cancel();
  pods_timer_->Cancel();
  holders_timer_->Cancel();
  reading_pods_ = read_again_ = heard_pods_ = ever_heard_pods_ = asks_new_kubelet_ = false;
  if (pods_) pods_->Close();
  for (auto& [name, endpoint] : endpoints_) endpoint->Stop();
  // Started again, it begins anew.
  endpoints_.clear();
  listings_ = {};
  lists_.clear();
  lately_.clear();
}

void PluginService::SetOptions(PluginOptions options) {
  if (!running_ || options == options_) return;
  // What an endpoint is bound to, it is bound to for its life.
  if (options.kubelet != options_.kubelet) {
    for (auto& [name, endpoint] : endpoints_) endpoint->Stop();
    endpoints_.clear();
  }
  const bool elsewhere = options.pod_resources != options_.pod_resources;
  options_ = std::move(options);
  if (elsewhere) AskPodsAt(options_.pod_resources);
  Publish();
  if (elsewhere) ReadPods();
}

void PluginService::AskPodsAt(const std::string& socket) {
  // What was asked before is never answered, and would not count.
  pods_ = std::make_unique<net::rpc::Channel>(loop_, "pod-resources", socket);
  reading_pods_ = read_again_ = heard_pods_ = false;
  service::device_plugin::Forget(pod_memory_);
}

void PluginService::SetNode(const service::inventory::SnapshotPtr& snapshot) {
  const service::inventory::SnapshotPtr before = std::exchange(snapshot_, snapshot);
  facts_.common_nodes = service::device_plugin::CommonNodes(snapshot->inventory);
  if (before == nullptr || before->revisions.identity != snapshot->revisions.identity ||
      before->revisions.shape != snapshot->revisions.shape)
    PublishSoon();
}

void PluginService::SetHealth(const std::shared_ptr<const model::NodeHealth>& health) {
  health_ = health;
  PublishSoon();
}

void PluginService::SetFiles(bool current, std::vector<std::string> classes) {
  std::erase(classes, "imex-channel");
  facts_.extra_cdi_classes = std::move(classes);
  if (!std::exchange(files_current_, current) && current) PublishSoon();
}

void PluginService::SetReach(bool looked, std::string disabled) {
  reach_looked_ = looked;
  reach_ = std::move(disabled);
  if (running_) Publish();
}

void PluginService::SetDomains(std::map<std::string, std::string> problems,
                               std::map<std::string, std::string> kept) {
  if (problems == domain_problems_ && kept == kept_devices_) return;
  domain_problems_ = std::move(problems);
  kept_devices_ = std::move(kept);
  // Somebody waits for the end of who holds these.
  if (!kept_devices_.empty()) ReadPodsAfter(kAfterAllocate);
  PublishSoon();
}

// The first change sets the time: changes without end would otherwise put it off for ever.
void PluginService::PublishSoon() {
  if (running_ && !publish_timer_->armed()) publish_timer_->After(kGather, [this] { Publish(); });
}

// A container without its daemon would have the GPU without a limit, or not at all.
void PluginService::AskDomain(OfferedDevice& device) const {
  if (!device.healthy) return;
  if (!device.mps) {
    const auto kept = kept_devices_.find(device.whole_id);
    if (kept == kept_devices_.end()) return;
    device.healthy = false;
    device.why = kept->second;
    return;
  }
  const auto domain = domain_problems_.find(device.mps->domain);
  if (domain != domain_problems_.end() && domain->second.empty()) return;
  device.healthy = false;
  device.why =
      domain == domain_problems_.end() ? "its MPS daemon has not been started yet" : domain->second;
}

void PluginService::AskDomains(Offered& offered) const {
  for (OfferedResource& resource : offered.resources)
    for (OfferedDevice& device : resource.devices) AskDomain(device);
}

Offered PluginService::WhatIsOffered() const {
  static const model::NodeHealth all_well;
  Offered offered = service::device_plugin::Offer(snapshot_->inventory, options_.config,
                                                  options_.rules, options_.offered_by_default,
                                                  health_ ? *health_ : all_well, *ledger_.state());
  if (options_.config.imex_required &&
      facts_.imex_channels.size() != options_.config.imex_channels.size()) {
    // A container without the channel that it must have would fail later, and less plainly.
    OfferNothing(offered, fmt::format("{} does not exist, and imex.required is true",
                                      ChannelPath(options_.config.imex_channels[0])));
  }
  if (!disabled_.empty()) OfferNothing(offered, disabled_);
  if (!files_current_ && options_.config.UsesCdi()) OfferWhatFilesHave(offered, were_well_);
  return offered;
}

void PluginService::Publish() {
  publish_timer_->Cancel();
  if (!running_ || snapshot_ == nullptr || ledger_.state() == nullptr) return;
  const bool needs_reach = options_.config.list_unasked && options_.config.UsesCdi();
  if (needs_reach && !reach_looked_) return;
  const std::string disabled = needs_reach ? reach_ : "";
  const bool told = std::exchange(disabled_, disabled) == disabled;
  if (!told && changed_) changed_();
  FindChannels();
  // Not while the stocks of what was offered before are of it.
  Offered offered = WhatIsOffered();
  // Before domains are asked: a daemon that mends says nothing of files.
  were_well_ = WellOf(offered);
  // First: it may say at once which of them have to wait.
  if (want_domains_) want_domains_(offered.domains, offered.domains_complete);
  AskDomains(offered);
  const service::inventory::Revisions before = std::exchange(offered_at_, snapshot_->revisions);
  // What went with a change of the machine is not as it was offered.
  if (before.identity != offered_at_.identity || before.shape != offered_at_.shape)
    lately_.clear();
  else if (KeepForAMoment(lately_, offered_, offered))
    lately_timer_->After(kUntilItHears, [this] { lately_.clear(); });
  stocks_.clear();
  offered_ = std::move(offered);
  for (const OfferedResource& one : offered_.resources) stocks_.emplace(one.name, one);
  TellProblems();
  lists_ = listings_.Next(offered_, *ledger_.state(), Now());
  for (const auto& [resource, devices] : lists_) EndpointOf(resource).SetDevices(devices);
  listing_timer_->Cancel();
  if (const auto next = listings_.next_change())
    listing_timer_->After(std::max<net::Duration>(*next - Now(), kGather), [this] { Publish(); });
}

void PluginService::FindChannels() {
  facts_.imex_channels.clear();
  for (const std::uint32_t channel : options_.config.imex_channels)
    if (base::Exists(base::JoinPath(options_.dev_root, ChannelPath(channel))))
      facts_.imex_channels.push_back(channel);
}

// Once each.
void PluginService::TellProblems() {
  for (const std::string& problem : offered_.problems)
    if (std::find(told_.begin(), told_.end(), problem) == told_.end())
      log_.Warn("not offered to kubelet", {{LogKey::kError, problem}});
  told_ = offered_.problems;
}

// One that has no device any more stays, with an empty list: kubelet, told so, forgets at once.
PluginService::Endpoint& PluginService::EndpointOf(const std::string& resource) {
  std::unique_ptr<Endpoint>& endpoint = endpoints_[resource];
  if (endpoint) return *endpoint;
  service::device_plugin::Duties duties;
  duties.allocate = [this, resource](const std::vector<std::vector<std::string>>& containers) {
    return Allocate(resource, containers);
  };
  duties.prefer = [this, resource](const PreferRequest& request) {
    return Prefer(resource, request);
  };
  endpoint = std::make_unique<Endpoint>(loop_, log_, resource, options_.kubelet, std::move(duties),
                                        [this] {
                                          if (changed_) changed_();
                                        });
  // The list is there before anybody can ask for it.
  loop_.Post([this, alive = alive_, resource] {
    if (*alive && running_ && !holders_first_) StartEndpoint(resource);
  });
  return *endpoint;
}

// Where no kubelet is, nobody is told of us; it may come.
bool PluginService::CanBeTold() const {
  return kubelet_.present() || options_.kubelet.socket.empty();
}

void PluginService::StartEndpoint(const std::string& resource) {
  const auto found = endpoints_.find(resource);
  if (found != endpoints_.end() && CanBeTold()) found->second->Start();
}

void PluginService::StartEndpoints() {
  holders_timer_->Cancel();
  asks_new_kubelet_ = false;
  if (!std::exchange(holders_first_, false)) return;
  // Also those that served the kubelet before this one.
  for (const auto& [resource, endpoint] : endpoints_)
    if (CanBeTold()) endpoint->KubeletStarted();
}

const Stock* PluginService::Find(const std::string& resource) const {
  const auto found = stocks_.find(resource);
  return found == stocks_.end() ? nullptr : &found->second;
}

base::Result<std::vector<Answer>> PluginService::Allocate(
    const std::string& resource, const std::vector<std::vector<std::string>>& containers) {
  const Stock* found = Find(resource);
  OfferedResource both{resource, {}, false};
  if (const auto lately = lately_.find(resource); lately != lately_.end()) {
    if (found != nullptr) both = found->resource();
    for (const auto& [id, device] : lately->second) both.devices.push_back(device);
    found = nullptr;
    PublishSoon();  // what is offered instead may meet what is given here
  }
  const Stock kept(both);
  const Stock& stock = found != nullptr ? *found : kept;
  std::vector<Answer> answers;
  std::vector<service::ledger::Device> taken;
  for (const std::vector<std::string>& ids : containers) {
    facts_.annotation_id = AnnotationId(options_.config);
    TRY(answer, service::device_plugin::Allocate(stock, ids, options_.config, facts_));
    TRY(devices, DevicesOf(stock, ids));
    answers.push_back(std::move(answer));
    std::move(devices.begin(), devices.end(), std::back_inserter(taken));
  }
  TRY_VOID(ledger_.Reserve(resource, taken), "{}", resource);
  ReadPodsAfter(kAfterAllocate);
  return answers;
}

std::vector<std::string> PluginService::Prefer(const std::string& resource,
                                               const PreferRequest& request) const {
  const OfferedResource nothing{resource, {}, false};
  const Stock none(nothing);
  const Stock* found = Find(resource);
  return service::device_plugin::Prefer(found != nullptr ? *found : none, snapshot_->inventory,
                                        options_.config.share_policy, request.available,
                                        request.required, request.size);
}

// Where no kubelet is there are no pods; it is asked as soon as it comes.
void PluginService::ReadPodsAfter(net::Duration pause) {
  if (!running_ || !kubelet_.present()) return;
  if (reading_pods_) {
    read_again_ = true;
    return;
  }
  pods_timer_->After(pause, [this] { ReadPods(); });
}

void PluginService::ReadPods() {
  if (!running_ || reading_pods_ || !kubelet_.present()) return;
  reading_pods_ = true;
  pods_->Call(std::string(service::device_plugin::kListPods), "", kToListPods,
              [this, alive = alive_](const base::Result<std::string>& answer) {
                if (*alive && running_) HeardPods(answer);
              });
}

void PluginService::HeardPods(const base::Result<std::string>& answer) {
  reading_pods_ = false;
  net::Duration next = kWhileAwaited;
  base::Result<service::device_plugin::PodList> pods =
      answer.ok() ? service::device_plugin::ReadPods(*answer)
                  : base::Result<service::device_plugin::PodList>(answer.error());
  if (!pods.ok()) {
    pods_failure_.Failed(pods.error());
  } else if (ledger_.state() != nullptr && snapshot_ != nullptr) {
    pods_failure_.Succeeded();
    const bool first = !std::exchange(heard_pods_, true);
    ever_heard_pods_ = true;
    service::device_plugin::Reconciled found =
        Reconcile(*ledger_.state(), pod_memory_, *pods,
                  {offered_, snapshot_->inventory, options_.node_name}, Now());
    for (const auto& each : found.bind) ledger_.Bind(each.device, each.owner);
    for (const auto& each : found.release) ledger_.Release(each.device, each.owner);
    pod_memory_ = std::move(found.memory);
    next = found.read_again_in;
    if (!kept_devices_.empty()) next = std::min<net::Duration>(next, kWhileAwaited);
    TellUnknown(found.unknown, found.unknown_count);
    // What was held may be listed otherwise from now on, and so may what meets what is held now.
    if (first)
      Publish();
    else if (!found.bind.empty() || !found.release.empty())
      PublishSoon();
  }
  // One that has just begun listens there a little later than here.
  if (!pods.ok() && asks_new_kubelet_) return ReadPodsAfter(kUntilItListens);
  // Also where it does not say: waiting longer would not make it.
  StartEndpoints();
  ReadPodsAfter(std::exchange(read_again_, false) ? net::Duration(kAfterAllocate) : next);
}

// Once each; an id is what somebody sent.
void PluginService::TellUnknown(const std::vector<std::string>& ids, std::size_t count) {
  for (const std::string& id : ids)
    if (std::find(told_unknown_.begin(), told_unknown_.end(), id) == told_unknown_.end())
      log_.Warn("kubelet names a device of ours that is not on this node",
                {{LogKey::kGpu, service::device_plugin::ShownId(id)}});
  if (count > ids.size() && count != unknown_count_)
    log_.Warn("kubelet names more devices of ours that are not on this node",
              {{LogKey::kCount, static_cast<std::int64_t>(count)}});
  told_unknown_ = ids;
  unknown_count_ = count;
}

std::string PluginService::problem() const {
  if (!running_ || !kubelet_.present()) return "";
  for (const auto& [name, endpoint] : endpoints_)
    if (!endpoint->streaming() && !options_.kubelet.socket.empty())
      return fmt::format("kubelet does not listen to {}", name);
  return "";
}

service::device_plugin::Report PluginService::Report() const {
  service::device_plugin::Report report;
  if (!running_ || snapshot_ == nullptr || ledger_.state() == nullptr) {
    report.problems.emplace_back(
        "the agent offers nothing to kubelet now: see devicePlugin.enabled in `partita config "
        "show`, and /readyz");
    return report;
  }
  report = service::device_plugin::ReportOf(offered_, lists_, *ledger_.state(), options_.config);
  report.imex_channels = facts_.imex_channels;
  report.cdi_classes = facts_.extra_cdi_classes;
  return report;
}

bool PluginService::heard() const {
  return running_ && !endpoints_.empty() &&
         std::all_of(endpoints_.begin(), endpoints_.end(),
                     [](const auto& each) { return each.second->streaming(); });
}

Value PluginService::State() const {
  Value resources = Value::List();
  for (const auto& [name, endpoint] : endpoints_) resources.Add(endpoint->State());
  Value problems = Value::List();
  for (const std::string& problem : offered_.problems) problems.Add(problem);
  return Value::Map().Set("resources", std::move(resources)).Set("problems", std::move(problems));
}

}  // namespace partita::agent
