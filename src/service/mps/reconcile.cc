#include "service/mps/reconcile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace partita::service::mps {
namespace {

template <typename Named>
const Named* FindNamed(const std::vector<Named>& list, const std::string& name) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Named& each) { return each.name == name; });
  return at == list.end() ? nullptr : &*at;
}

Step::Kind KindFor(const Domain& domain, const Found* found) {
  if (found == nullptr || !found->running) return Step::Kind::kStart;
  return found->parameters == domain ? Step::Kind::kKeep : Step::Kind::kRestart;
}

bool HasOneOf(const Domain& domain, const std::set<std::string>& devices) {
  return std::any_of(domain.members.begin(), domain.members.end(),
                     [&](const Member& member) { return devices.contains(member.uuid); });
}

// Of one that has ended nobody is a client: only who is known to have a share gets it again.
bool IsHeld(const Found& found, const Holders& holders) {
  return HasOneOf(*found.parameters, holders.shares) || (found.running && !holders.complete);
}

// A device that both have; null: none.
const Member* InBoth(const Domain& a, const Domain& b) {
  for (const Member& member : a.members) {
    const bool there = std::any_of(b.members.begin(), b.members.end(),
                                   [&](const Member& one) { return one.uuid == member.uuid; });
    if (there) return &member;
  }
  return nullptr;
}

std::string WhyBehind(const Domain& wanted, const std::vector<Domain>& kept) {
  for (const Domain& before : kept) {
    if (before.name == wanted.name)
      return "pods hold shares of it as it was before: it changes when they have gone";
    if (const Member* member = InBoth(wanted, before)) {
      return fmt::format(
          "{} is in MPS domain {}, of which pods hold shares: it begins when they have gone",
          member->uuid, before.name);
    }
  }
  return "";
}

std::string WhyNotYet(const Domain& wanted,
                      const std::vector<Domain>& kept,
                      const Found* found,
                      const Holders& holders) {
  // As it is wanted, and running: nobody is disturbed.
  if (found != nullptr && found->running && found->parameters == wanted) return "";
  std::string behind = WhyBehind(wanted, kept);
  if (!behind.empty() || !HasOneOf(wanted, holders.otherwise)) return behind;
  return "a pod holds a device of it whole or as a time-slice: it begins when that has gone";
}

std::vector<Step> StepsTo(const Plan& plan,
                          const std::vector<Domain>& going,
                          const std::vector<Found>& found,
                          const ModesBefore& modes,
                          ComputeModePolicy policy) {
  std::vector<Step> steps;
  for (const Found& each : found) {
    if (FindNamed(plan.kept, each.name) != nullptr || FindNamed(going, each.name) != nullptr)
      continue;
    steps.push_back({.kind = Step::Kind::kStop, .name = each.name});
  }
  std::vector<std::string> stay = ExclusiveGpus(going, policy);
  for (std::string& gpu : ExclusiveGpus(plan.kept, ComputeModePolicy::kExclusive))
    stay.push_back(std::move(gpu));
  for (const auto& [gpu, mode] : modes) {
    if (std::find(stay.begin(), stay.end(), gpu) != stay.end()) continue;
    steps.push_back({.kind = Step::Kind::kRestoreMode, .name = gpu, .mode = mode});
  }
  for (const auto& [domains, held] : {std::pair(&plan.kept, true), std::pair(&going, false)}) {
    for (const Domain& domain : *domains) {
      steps.push_back({.kind = KindFor(domain, FindNamed(found, domain.name)),
                       .name = domain.name,
                       .domain = domain,
                       .held = held});
    }
  }
  // A daemon that gives a device up goes before the one that takes it.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.kind < b.kind; });
  return steps;
}

}  // namespace

std::string_view ToString(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kStop: return "stop";
    case Step::Kind::kRestoreMode: return "restore mode";
    case Step::Kind::kKeep: return "keep";
    case Step::Kind::kRestart: return "restart";
    case Step::Kind::kStart: return "start";
  }
  return "";
}

std::vector<std::string> ExclusiveGpus(const std::vector<Domain>& wanted,
                                       ComputeModePolicy policy) {
  std::vector<std::string> gpus;
  if (policy == ComputeModePolicy::kUnchanged) return gpus;
  for (const Domain& domain : wanted) {
    for (const Member& member : domain.members) {
      if (!member.mig) gpus.push_back(member.uuid);
    }
  }
  return gpus;
}

Plan Reconcile(const std::vector<Domain>& wanted,
               const std::vector<Found>& found,
               const ModesBefore& modes,
               ComputeModePolicy policy,
               const Holders& holders) {
  Plan plan;
  for (const Found& each : found) {
    if (!each.parameters || !IsHeld(each, holders)) continue;
    const Domain* same = FindNamed(wanted, each.name);
    if (same == nullptr || *same != *each.parameters) plan.kept.push_back(*each.parameters);
  }
  std::vector<Domain> going;
  for (const Domain& domain : wanted) {
    std::string why = WhyNotYet(domain, plan.kept, FindNamed(found, domain.name), holders);
    if (why.empty()) {
      going.push_back(domain);
    } else {
      plan.waiting.emplace(domain.name, std::move(why));
    }
  }
  plan.steps = StepsTo(plan, going, found, modes, policy);
  return plan;
}

}  // namespace partita::service::mps
