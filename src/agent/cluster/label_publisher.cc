#include "agent/cluster/label_publisher.h"

#include <algorithm>
#include <utility>

#include "service/labels/node_state.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;
using service::labels::Rendering;

constexpr std::string_view kGpuCount = "nvidia.com/gpu.count";
constexpr std::string_view kGpuPresent = "nvidia.com/gpu.present";

std::string_view BackendName(LabelBackend backend) {
  switch (backend) {
    case LabelBackend::kNone: return "none";
    case LabelBackend::kNode: return "node";
    case LabelBackend::kNodeFeature: return "nodefeature";
    case LabelBackend::kFile: return "file";
  }
  return "";
}

std::vector<model::PciAddress> AddressesOf(const model::Inventory& inventory) {
  std::vector<model::PciAddress> addresses;
  for (const model::Gpu& gpu : inventory.gpus) addresses.push_back(gpu.pci);
  return addresses;
}

bool Same(const Rendering& one, const Rendering& other) {
  return one.labels == other.labels && one.annotations == other.annotations;
}

}  // namespace

LabelPublisher::LabelPublisher(net::Loop& loop,
                               base::Log& log,
                               Cluster& cluster,
                               net::Task changed,
                               ReadFacts read_facts,
                               kube::Random random)
    : loop_(loop),
      log_(log),
      cluster_(cluster),
      changed_(std::move(changed)),
      read_facts_(std::move(read_facts)),
      random_(std::move(random)),
      memory_(log),
      settles_(loop.NewTimer("labels")),
      resync_(loop.NewTimer("labels-resync")),
      taints_(log, cluster, memory_, random_, [this] { TellProblem(); }) {}

LabelPublisher::~LabelPublisher() { *alive_ = false; }

void LabelPublisher::Start(LabelOptions options, const service::inventory::SnapshotPtr& snapshot) {
  running_ = true;
  options_ = std::move(options);
  snapshot_ = snapshot;
  memory_.Open(options_.state_directory);
  ReadFactsAnew();
  taints_.Start();
  node_ = cluster_.OnNode([this](const Value&) {
    if (!published_) Publish();
  });
  Publish();
  ResyncLater();
}

void LabelPublisher::Stop() {
  running_ = false;
  node_.reset();
  settles_->Cancel();
  resync_->Cancel();
  taints_.Stop();
  outputs_.clear();
  published_.reset();
}

void LabelPublisher::SetOptions(LabelOptions options) {
  if (!running_ || options == options_) return;
  const bool elsewhere = options.backend != options_.backend || options.file != options_.file;
  options_ = std::move(options);
  if (elsewhere) {
    // An output is of one place.
    if (memory_.places().file != options_.file) outputs_.erase(LabelBackend::kFile);
    published_.reset();
  }
  Publish();
  ResyncLater();
}

void LabelPublisher::SetNode(const service::inventory::SnapshotPtr& snapshot) {
  snapshot_ = snapshot;
  if (!running_) return;
  if (AddressesOf(snapshot_->inventory) != facts_of_) ReadFactsAnew();
  RenderSoon(kSettles);
}

void LabelPublisher::SetReady() { taints_.SetReady(); }

// What is on the bus changes with the GPUs; nobody tells of the rest, which hardly ever does.
void LabelPublisher::ReadFactsAnew() {
  facts_ = read_facts_(options_.root);
  facts_of_ = AddressesOf(snapshot_->inventory);
}

Rendering LabelPublisher::Render(bool ours) const {
  return service::labels::Render(
      snapshot_->inventory, options_.plugin, facts_,
      {.started = std::nullopt, .ours = ours, .per_model = options_.per_model});
}

void LabelPublisher::RenderSoon(net::Duration pause) {
  // A driver that is waited for may be back. Not later with each change: those that never end would
  // put it off.
  if (!settles_->armed() || std::exchange(waits_for_driver_, false))
    settles_->After(pause, [this] { Publish(); });
}

// GPUs are on the bus and labelled, and no driver tells of them: one that is exchanged comes back.
bool LabelPublisher::WaitsForDriver(const Rendering& next) const {
  const std::string key(kGpuCount);
  if (next.labels.contains(key) || facts_.gpus_on_bus == 0) return false;
  if (published_) return published_->labels.contains(key);
  // Those of an agent before this one are seen with the Node.
  const bool unseen = cluster_.client() != nullptr && cluster_.node().IsNull();
  return unseen || service::labels::FindLabel(cluster_.node(), key) != nullptr;
}

void LabelPublisher::Publish() {
  settles_->Cancel();
  waits_for_driver_ = false;
  Rendering next = Render();
  if (WaitsForDriver(next)) {
    const base::Clock::Steady now = loop_.clock().Now();
    if (!std::exchange(no_driver_, true)) driver_gone_ = now;
    if (now < driver_gone_ + kWithoutDriver) {
      waits_for_driver_ = true;
      return settles_->After(driver_gone_ + kWithoutDriver - now, [this] { Publish(); });
    }
  }
  no_driver_ = false;
  if (std::exchange(warned_, next.warnings) != next.warnings)
    for (const std::string& warning : next.warnings)
      log_.Warn("labels", {{LogKey::kError, warning}});
  const auto present = next.labels.find(std::string(kGpuPresent));
  const bool gpus = present != next.labels.end() && present->second == "true";
  taints_.Set(gpus ? options_.taint : std::nullopt);
  if (!gpus) taints_.SetReady();  // nobody waits for what is not there
  if (published_ && Same(*published_, next)) return;
  published_ = std::move(next);
  SetOutputs();
}

void LabelPublisher::SetOutputs() {
  for (const LabelBackend each :
       {LabelBackend::kNode, LabelBackend::kNodeFeature, LabelBackend::kFile}) {
    if (each == options_.backend) continue;
    if (IsNoted(each)) OutputOf(each).Set(std::nullopt);
  }
  if (options_.backend == LabelBackend::kNone) return;
  // A file that was elsewhere goes before the other is noted.
  const bool moved = options_.backend == LabelBackend::kFile && !memory_.places().file.empty() &&
                     memory_.places().file != options_.file;
  if (moved) return OutputOf(LabelBackend::kFile).Set(std::nullopt);
  Note(options_.backend, true);
  OutputOf(options_.backend).Set(published_);
}

LabelOutput& LabelPublisher::OutputOf(LabelBackend backend) {
  std::unique_ptr<LabelOutput>& output = outputs_[backend];
  if (output) return *output;
  // It may be told from within what ends then.
  const auto later = [this, backend](bool gone) {
    loop_.Post([this, backend, gone, alive = alive_] {
      if (*alive && running_) Ended(backend, gone);
    });
  };
  LabelOutputParts parts{cluster_, log_, random_,
                         LabelOutput::Events{[later] { later(true); }, [later] { later(false); },
                                             [this, backend](const std::string& problem) {
                                               SetProblem(backend, problem);
                                             }}};
  const LabelPlaces& places = memory_.places();
  if (backend == LabelBackend::kNodeFeature)
    output = NewNodeFeature(
        std::move(parts), places.node_feature.empty() ? cluster_.name_space() : places.node_feature,
        options_.pod);
  else if (backend == LabelBackend::kFile)
    output = NewLabelFile(std::move(parts), places.file.empty() ? options_.file : places.file,
                          options_.root);
  else
    output = NewNodeLabels(std::move(parts));
  return *output;
}

bool LabelPublisher::IsNoted(LabelBackend backend) const {
  const LabelPlaces& places = memory_.places();
  switch (backend) {
    case LabelBackend::kNode: return places.node;
    case LabelBackend::kNodeFeature: return !places.node_feature.empty();
    case LabelBackend::kFile: return !places.file.empty();
    case LabelBackend::kNone: break;
  }
  return false;
}

void LabelPublisher::Note(LabelBackend backend, bool there) {
  LabelPlaces places = memory_.places();
  if (backend == LabelBackend::kNode) places.node = there;
  if (backend == LabelBackend::kNodeFeature)
    places.node_feature = there ? cluster_.name_space() : "";
  if (backend == LabelBackend::kFile) places.file = there ? options_.file : "";
  memory_.Note(places);
}

void LabelPublisher::Ended(LabelBackend backend, bool gone) {
  const bool wanted = backend == options_.backend &&
                      (backend != LabelBackend::kFile || memory_.places().file == options_.file);
  if (wanted || !outputs_.contains(backend)) return;  // it is wanted again
  if (gone) log_.Info("labels of before are taken away", {{LogKey::kPath, BackendName(backend)}});
  outputs_.erase(backend);
  Note(backend, false);
  SetProblem(backend, "");
  if (backend == options_.backend) SetOutputs();
}

void LabelPublisher::SetProblem(LabelBackend backend, const std::string& problem) {
  problems_[backend] = problem;
  TellProblem();
}

void LabelPublisher::TellProblem() {
  std::string first;
  for (const auto& [unused, each] : problems_)
    if (first.empty()) first = each;
  if (first.empty()) first = taints_.problem();
  if (first == problem_) return;
  problem_ = first;
  if (changed_) changed_();
}

void LabelPublisher::ResyncLater() {
  resync_->Cancel();
  // Where labels go nowhere, nobody is woken for them.
  const bool there = options_.backend == LabelBackend::kFile || cluster_.client() != nullptr;
  if (options_.backend == LabelBackend::kNone || !there) return;
  const double spread = 0.9 + 0.2 * random_();
  const auto pause = std::chrono::duration_cast<net::Duration>(options_.resync * spread);
  resync_->After(pause, [this] {
    ReadFactsAnew();
    Publish();
    const auto output = outputs_.find(options_.backend);
    if (output != outputs_.end()) output->second->Refresh();
    ResyncLater();
  });
}

Value LabelPublisher::State() const {
  if (!running_) return {};
  return Value::Map()
      .Set("backend", BackendName(options_.backend))
      .Set("labels", published_ ? Value(published_->labels.size()) : Value())
      .Set("problem", problem_);
}

}  // namespace partita::agent
