#include "agent/mps/domains.h"

#include <algorithm>
#include <utility>

#include "agent/mps/mode_problems.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::LogKey;
using base::Result;
using service::mps::ComputeModePolicy;
using service::mps::Domain;
using service::mps::Found;
using service::mps::Step;

// What is in the way of each.
base::Error Together(const std::vector<base::Error>& errors) {
  std::vector<std::string> texts;
  texts.reserve(errors.size());
  for (const base::Error& error : errors) texts.push_back(error.ToString());
  return base::MakeError(errors.front().code(), "{}", base::Join(texts, "; "))
      .WithHint(errors.front().hint());
}

// One of which nobody knows what it has may have any.
bool MayHave(const std::map<std::string, std::vector<service::mps::Member>>& daemons,
             const std::string& uuid) {
  return std::any_of(daemons.begin(), daemons.end(), [&](const auto& daemon) {
    const std::vector<service::mps::Member>& members = daemon.second;
    return members.empty() || std::any_of(members.begin(), members.end(),
                                          [&](const auto& member) { return member.uuid == uuid; });
  });
}

}  // namespace

struct Domains::Around {
  Result<std::vector<Seen>> seen;
  Result<service::mps::ModesBefore> modes;
};

struct Domains::ModeEnds {
  std::map<std::string, std::string> failed;  // why, by the GPU's UUID
  service::mps::ModesBefore before;
  std::optional<base::Error> unknown;  // why nothing is known of those before
};

Domains::Domains(net::Loop& loop,
                 base::Log& log,
                 Machine machine,
                 ComputeModes modes,
                 std::function<void()> changed,
                 std::function<service::mps::Holders()> holders)
    : loop_(loop),
      log_(log),
      machine_(std::move(machine)),
      changed_(std::move(changed)),
      holders_(std::move(holders)),
      modes_(std::move(modes)),
      removal_(log, "the directory of an MPS domain whose MIG device is gone is not removed"),
      look_again_(loop.NewTimer("mps-look")),
      modes_again_(loop.NewTimer("mps-modes")),
      removal_again_(loop.NewTimer("mps-removal")),
      job_(loop) {}

Domains::~Domains() {
  machine_.runner->Abandon();
  job_.AskToStop();
  for (const auto& [name, life] : lives_) life->AskToStop();
}

void Domains::Want(std::vector<Domain> wanted, ComputeModePolicy policy, bool complete) {
  complete_ = complete;
  if (wanted_ == wanted && policy_ == policy) {
    if (plan_.kept.empty() && plan_.waiting.empty()) return RemoveLeft();
    if (busy_) {
      again_ = true;
      return;
    }
    const service::mps::Plan now = Decide();
    if (now.kept != plan_.kept || now.waiting != plan_.waiting) Reconcile();
    return;
  }
  wanted_ = std::move(wanted);
  policy_ = policy;
  if (busy_ || looked_) return ReconcileSoon();
  LookAround();
}

void Domains::ModesForgotten() {
  if (looked_) ReconcileSoon();
}

void Domains::LookAround() {
  busy_ = true;
  const Result<void> begun = job_.Start([this, machine = machine_](
                                            const std::atomic<bool>& stop) -> net::Task {
    auto around = std::make_shared<Around>(Around{mps::LookAround(machine, stop), modes_.Load()});
    return [this, around] { Looked(std::move(*around)); };
  });
  if (!begun.ok()) Looked({begun.error(), begun.error()});
}

// A GPU that nobody wants exclusive any more stays so meanwhile.
void Domains::CouldNotLook(const Around& around) {
  const base::Error& error = around.seen.error();
  std::map<std::string, std::string> not_restored;
  if (around.modes.ok()) {
    for (const auto& [gpu, mode] : *around.modes) not_restored.emplace(gpu, WhyNotRestoredYet());
  }
  for (const std::string& gpu : service::mps::ExclusiveGpus(*wanted_, policy_)) {
    not_restored.erase(gpu);
  }
  const std::string problem = error.ToString();
  const bool told = problem_ == problem;
  if (!told) {
    log_.Error("MPS domains of earlier agents cannot be read: none is started meanwhile",
               base::ErrorFields(error));
  }
  const bool same = told && mode_problems_ == not_restored;
  problem_ = problem;
  mode_problems_ = std::move(not_restored);
  if (!same) changed_();
  look_again_->After(kUntilNextLook, [this] { LookAround(); });
}

void Domains::Looked(Around around) {
  Result<std::vector<Seen>>& seen = around.seen;
  if (!seen.ok()) return CouldNotLook(around);
  problem_.clear();
  if (around.modes.ok()) {
    modes_before_ = *std::move(around.modes);
  } else {
    modes_unknown_ = around.modes.error();
    log_.Error("compute modes before MPS are not known: none is changed",
               base::ErrorFields(around.modes.error()));
  }
  looked_ = true;
  for (Seen& each : *seen) {
    if (!each.why.empty()) {
      log_.Warn("an MPS domain of an earlier agent is not as its record says",
                {{LogKey::kStep, each.found.name}, {LogKey::kError, each.why}});
    }
    const std::string name = each.found.name;
    left_.insert_or_assign(name, std::move(each));
  }
  Reconcile();
}

std::vector<Found> Domains::FoundNow() const {
  std::vector<Found> found;
  for (const auto& [name, seen] : left_) found.push_back(seen.found);
  // Whatever they do now, they bring about their domain, but for those that end.
  for (const auto& [name, life] : lives_) {
    if (ending_.contains(name)) continue;
    found.push_back({.name = name, .running = true, .parameters = life->domain()});
  }
  return found;
}

service::mps::Plan Domains::Decide() const {
  service::mps::Holders holders = holders_();
  holders.complete = holders.complete && complete_;
  return service::mps::Reconcile(*wanted_, FoundNow(), modes_before_, policy_, holders);
}

// Once each.
void Domains::TellKept(const std::vector<Domain>& before) {
  for (const Domain& domain : plan_.kept) {
    if (std::find(before.begin(), before.end(), domain) != before.end()) continue;
    log_.Warn("MPS domain: kept as it was until the pods that hold shares of it have gone",
              {{LogKey::kStep, domain.name}});
  }
}

void Domains::TellStep(const Step& step) {
  log_.Info("MPS domain: " + std::string(ToString(step.kind)), {{LogKey::kStep, step.name}});
}

void Domains::ReconcileSoon() {
  if (busy_) {
    again_ = true;
  } else {
    Reconcile();
  }
}

// Daemons end beside this, each by itself: with each end it is asked again what is to be done.
void Domains::Reconcile() {
  busy_ = true;
  again_ = false;
  try_again_ = false;
  modes_again_->Cancel();
  // Where a successor is ready it had to go.
  std::erase_if(stayed_, [this](const auto& stayed) {
    const auto life = lives_.find(stayed.first);
    return life != lives_.end() && life->second->condition().phase == Phase::kReady;
  });
  const std::vector<Domain> kept = std::move(plan_.kept);
  plan_ = Decide();
  TellKept(kept);
  steps_ = plan_.steps;
  EndThose();
  std::erase_if(steps_, [this](const Step& step) { return WaitsForAnEnd(step); });
  ChangeModes();
}

void Domains::EndThose() {
  const bool once_more = std::exchange(end_stayed_, false);
  for (const Step& step : steps_) {
    const bool again = step.kind == Step::Kind::kRestart;
    if (step.kind != Step::Kind::kStop && !again) continue;
    if (stayed_.contains(step.name) && !once_more) {
      try_again_ = true;
    } else {
      End(step, again ? Stopping::kToStartAgain : Stopping::kForGood);
    }
  }
}

void Domains::End(const Step& step, Stopping stopping) {
  const std::string& name = step.name;
  if (!stayed_.contains(name)) TellStep(step);
  const auto left = left_.find(name);
  if (left != left_.end()) {
    // One of an earlier agent: it is ended as one of ours.
    Domain named = left->second.found.parameters.value_or(Domain());
    named.name = name;
    const auto stayed = stayed_.find(name);
    if (stayed != stayed_.end()) named.members = stayed->second;
    NewLife(named);
    left_.erase(left);
  }
  DomainLife& life = *lives_.at(name);
  ending_[name] = life.domain().members;
  life.Stop(stopping, [this, name](const Result<void>& end) {
    // Not from within the life that goes.
    loop_.Post([this, name, end, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) EndOf(name, end);
    });
  });
}

void Domains::EndOf(const std::string& name, const Result<void>& end) {
  std::vector<service::mps::Member> members = std::move(ending_.extract(name).mapped());
  const auto failure = end_failures_.try_emplace(name, log_, "an MPS domain does not end").first;
  if (!end.ok()) {
    failure->second.Failed(end.error(), {{LogKey::kStep, name}}, base::LogLevel::kError);
    // As one that somebody else left: it goes before another begins there.
    Seen stayed;
    stayed.found.name = name;
    stayed.found.running = true;
    left_.insert_or_assign(name, std::move(stayed));
    stayed_[name] = std::move(members);
  } else {
    failure->second.Succeeded({{LogKey::kStep, name}});
    end_failures_.erase(failure);
    stayed_.erase(name);
  }
  lives_.erase(name);
  changed_();
  ReconcileSoon();
}

// Beside a server that is still there another would not get the GPU, and others would come in.
bool Domains::WaitsForAnEnd(const Step& step) const {
  if (step.kind == Step::Kind::kKeep) return false;
  if (step.kind == Step::Kind::kRestoreMode) return MayHave(ending_, step.name);
  const std::vector<service::mps::Member>& members = step.domain.members;
  return ending_.contains(step.name) ||
         std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return MayHave(ending_, member.uuid); });
}

// Nor beside one that did not end.
std::vector<Step> Domains::ModesToRestore() {
  std::vector<Step> restored;
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::kRestoreMode) continue;
    if (MayHave(stayed_, step.name)) {
      try_again_ = true;
      continue;
    }
    if (!mode_failures_.contains(step.name)) TellStep(step);
    restored.push_back(step);
  }
  return restored;
}

std::vector<service::mps::Member> Domains::ToBeExclusive() const {
  std::vector<service::mps::Member> exclusive;
  for (const Step& step : steps_) {
    for (const service::mps::Member& member : step.domain.members) {
      // What is held stays as it was made, whatever the policy is now.
      const bool wanted = step.held ? modes_before_.contains(member.uuid)
                                    : policy_ == ComputeModePolicy::kExclusive;
      if (wanted && !member.mig) exclusive.push_back(member);
    }
  }
  return exclusive;
}

void Domains::ChangeModes() {
  const std::vector<Step> restored = ModesToRestore();
  const std::vector<service::mps::Member> exclusive = ToBeExclusive();
  const bool unknown = modes_unknown_.has_value();
  if (!unknown && restored.empty() && exclusive.empty()) {
    return ChangedModes({.failed = {}, .before = modes_before_, .unknown = {}});
  }
  const Result<void> begun =
      job_.Start([this, restored, exclusive, unknown](const auto&) -> net::Task {
        return [this, ends = Change(restored, exclusive, unknown)] { ChangedModes(ends); };
      });
  if (begun.ok()) return;
  ModeEnds none{.failed = {}, .before = modes_before_, .unknown = modes_unknown_};
  for (const Step& step : restored) none.failed[step.name] = WhyNotRestored(step, begun.error());
  for (const auto& member : exclusive) none.failed[member.uuid] = WhyNotExclusive(begun.error());
  ChangedModes(none);
}

// On the job's thread.
Domains::ModeEnds Domains::Change(const std::vector<Step>& restored,
                                  const std::vector<service::mps::Member>& exclusive,
                                  bool unknown) {
  ModeEnds ends;
  // Somebody may have seen to the file.
  if (unknown) {
    const Result<service::mps::ModesBefore> loaded = modes_.Load();
    if (!loaded.ok()) {
      for (const auto& member : exclusive) ends.failed[member.uuid] = WhyUntouched(loaded.error());
      ends.unknown = loaded.error();
      return ends;
    }
  }
  for (const Step& step : restored) {
    const Result<void> end = modes_.Restore(step.name);
    if (!end.ok()) ends.failed[step.name] = WhyNotRestored(step, end.error());
  }
  for (const auto& member : exclusive) {
    const Result<void> end = modes_.MakeExclusive(member.uuid, member.pci);
    if (!end.ok()) ends.failed[member.uuid] = WhyNotExclusive(end.error());
  }
  ends.before = modes_.before();
  return ends;
}

void Domains::ChangedModes(const ModeEnds& ends) {
  if (modes_unknown_ && !ends.unknown) {
    log_.Info("compute modes before MPS are known again");
    // What they say is still to be put back.
    again_ = true;
  }
  modes_before_ = ends.before;
  modes_unknown_ = ends.unknown;
  mode_problems_ = ends.failed;
  TellModes();
  try_again_ = try_again_ || modes_unknown_ || !mode_problems_.empty();
  BeginThose();
}

// Once each, though they are tried every so often.
void Domains::TellModes() {
  for (auto& [gpu, failure] : mode_failures_) {
    if (!mode_problems_.contains(gpu)) failure.Succeeded({{LogKey::kGpu, gpu}});
  }
  std::erase_if(mode_failures_,
                [this](const auto& failure) { return !mode_problems_.contains(failure.first); });
  for (const auto& [gpu, why] : mode_problems_) {
    mode_failures_.try_emplace(gpu, log_, "the compute mode of a GPU is not as MPS needs it")
        .first->second.Failed(base::Error(base::ErrorCode::kUnavailable, why),
                              {{LogKey::kGpu, gpu}}, base::LogLevel::kError);
  }
}

void Domains::BeginThose() {
  for (const Step& step : std::exchange(steps_, {})) {
    if (step.domain.name.empty() || lives_.contains(step.name)) continue;
    DomainLife& life = NewLife(step.domain);
    const auto left = left_.find(step.name);
    if (step.kind == Step::Kind::kKeep && left != left_.end() && left->second.running) {
      life.Adopt(*std::move(left->second.running));
    } else {
      if (step.kind == Step::Kind::kStart) TellStep(step);
      life.Start();
    }
    left_.erase(step.name);
  }
  busy_ = false;
  changed_();
  if (again_) return Reconcile();
  if (try_again_) {
    modes_again_->After(kUntilTriedAgain, [this] {
      end_stayed_ = true;
      ReconcileSoon();
    });
  }
  RemoveLeft();
}

void Domains::HaveMigDevices(std::optional<std::set<std::string>> names) {
  mig_ = std::move(names);
  RemoveLeft();
}

void Domains::RemoveLeft() {
  if (busy_ || !looked_ || !mig_ || !complete_) return;
  const service::mps::Holders holders = holders_();
  if (!holders.complete) return;
  std::set<std::string> stay = *mig_;
  for (const std::set<std::string>* held : {&holders.shares, &holders.otherwise}) {
    for (const std::string& uuid : *held) stay.insert(service::mps::NameOfResource(uuid));
  }
  for (const auto& [name, life] : lives_) stay.insert(name);
  for (const auto& [name, seen] : left_) stay.insert(name);
  if (stay == left_alone_) return;
  left_alone_ = stay;
  removal_again_->Cancel();
  busy_ = true;
  const Result<void> begun =
      job_.Start([this, machine = machine_, stay](const std::atomic<bool>& stop) -> net::Task {
        return [this, removed = RemoveGone(machine, stay, stop)] { EndRemoving(removed); };
      });
  if (!begun.ok()) EndRemoving({.names = {}, .failed = {begun.error()}});
}

void Domains::EndRemoving(const Removed& removed) {
  busy_ = false;
  for (const std::string& name : removed.names)
    log_.Info("MPS domain: its MIG device is gone, and so is its directory",
              {{LogKey::kStep, name}});
  if (removed.failed.empty()) {
    removal_.Succeeded();
  } else {
    removal_.Failed(Together(removed.failed));
    removal_again_->After(kUntilTriedAgain, [this] {
      left_alone_.reset();
      RemoveLeft();
    });
  }
  if (again_) return Reconcile();
  // What came meanwhile.
  RemoveLeft();
}

DomainLife& Domains::NewLife(const Domain& domain) {
  std::unique_ptr<DomainLife>& life = lives_[domain.name];
  life = std::make_unique<DomainLife>(loop_, log_, machine_, domain, [this] { changed_(); });
  return *life;
}

void Domains::TryAgain() {
  if (look_again_->armed()) {
    look_again_->Cancel();
    LookAround();
  }
  for (const auto& [name, life] : lives_) life->TryAgain();
}

std::map<std::string, Domain> Domains::ready() const {
  std::map<std::string, Domain> ready;
  for (const auto& [name, life] : lives_) {
    if (life->condition().phase == Phase::kReady) ready.emplace(name, life->domain());
  }
  return ready;
}

std::map<std::string, Condition> Domains::conditions() const {
  std::map<std::string, Condition> all;
  for (const auto& [name, life] : lives_) all.emplace(name, life->condition());
  return all;
}

}  // namespace partita::agent::mps
