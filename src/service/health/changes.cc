#include "service/health/changes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "service/health/instances.h"
#include "service/health/proof.h"
#include "service/health/recovery_action.h"
#include "service/health/signals.h"

namespace partita::service::health {
namespace {

using model::HealthState;
using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kPair{10};  // 48 and 94 are of one error
constexpr hours kDay{24};
constexpr seconds kFirstHold{3}, kSecondHold{60}, kLongestHold{3600};
constexpr seconds kLookWhileUnwell{2}, kLookWhileProving{1}, kLookWhileDegraded{30};
// A storm of XIDs must not fill memory; those that count are the latest.
constexpr std::size_t kMostHeard = 256;
constexpr std::ptrdiff_t kMostRecoveries = 16;  // of a part; fewer make the longest hold

std::string TextOf(std::uint64_t xid, const Verdict& verdict) {
  if (verdict.proof == Proof::kApplication) {
    return fmt::format(
        "XID {}, {}: look at the program that ran there; it is back when that has "
        "ended",
        xid, RowOf(xid).means);
  }
  return fmt::format("XID {}, {}: {}", xid, RowOf(xid).means, Advice(verdict.policy));
}

Fault* Find(Health& health, const Part& part, Cause cause, std::uint64_t xid) {
  const auto found =
      std::find_if(health.faults.begin(), health.faults.end(), [&](const Fault& fault) {
        return fault.part == part && fault.cause == cause && fault.xid == xid;
      });
  return found == health.faults.end() ? nullptr : &*found;
}

// By one of them, or by what it lies in.
bool IsKeptOut(const std::vector<Fault>& faults, const Part& part, Time now) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return Encloses(fault.part, part) && IsOut(fault) &&
           StateOf(fault, now) != HealthState::kHealthy;
  });
}

// The part returned when its fault only degraded any more, unless another keeps it out: then that
// one's end is the return.
void NoteBack(const Health& health, Fault& fault, bool was_out, Time now) {
  const bool only_degraded = was_out && fault.effect == Effect::kDegraded;
  if (only_degraded && !IsKeptOut(health.faults, fault.part, now)) fault.back = true;
}

// As one that only degrades.
void TakeTheEdgeOff(Fault& fault) {
  fault.effect = Effect::kDegraded;
  fault.proof = Proof::kQuiet;
  fault.text = fmt::format("XID {}, {}, and it was contained: {}", fault.xid,
                           RowOf(fault.xid).means, Advice(XidPolicy::kEventDevice));
}

// Others are not kept: each would be written down.
bool CountsWithOthers(std::uint64_t xid) {
  const std::vector<XidRow>& table = XidTable();
  return RowOf(xid).often || std::any_of(table.begin(), table.end(),
                                         [&](const XidRow& row) { return row.contained == xid; });
}

void Remember(Health& health, const XidEvent& event, Time now) {
  if (!CountsWithOthers(event.xid)) return;
  std::erase_if(health.heard, [&](const Heard& each) { return now - each.at > kQuietTime; });
  if (health.heard.size() >= kMostHeard) health.heard.erase(health.heard.begin());
  health.heard.push_back({event.part, event.xid, now});
}

bool HeardBeside(const Health& health, const model::GpuUuid& gpu, std::uint64_t xid, Time now) {
  return std::any_of(health.heard.begin(), health.heard.end(), [&](const Heard& each) {
    return each.part.gpu == gpu && each.xid == xid && now - each.at <= kPair;
  });
}

// The row's own conditions.
Verdict WithConditions(const Health& health, Verdict verdict, const XidEvent& event) {
  const XidRow& row = RowOf(event.xid);
  if (!verdict.by_table || !row.often) return verdict;
  const auto times = std::count_if(
      health.heard.begin(), health.heard.end(),
      [&](const Heard& each) { return each.part == event.part && each.xid == event.xid; });
  if (static_cast<std::uint64_t>(times) < *row.often) return verdict;
  verdict.policy = XidPolicy::kReset;
  verdict.effect = Effect::kUnhealthy;
  verdict.proof = Proof::kReset;
  return verdict;
}

// One that came just before and that this one says was contained.
void Contain(Health& health, const XidOptions& options, const XidEvent& event, Time now) {
  for (Fault& fault : health.faults) {
    const bool pair = fault.cause == Cause::kXid && fault.part.gpu == event.part.gpu &&
                      RowOf(fault.xid).contained == event.xid && now - fault.last <= kPair;
    if (!pair || !Judge(options, fault.xid).by_table) continue;
    const bool was_out = IsOut(fault);
    TakeTheEdgeOff(fault);
    NoteBack(health, fault, was_out, now);
  }
}

nanoseconds HoldOf(const Health& health, const Part& part, Time now) {
  const auto before = std::count_if(
      health.recoveries.begin(), health.recoveries.end(),
      [&](const Recovery& each) { return each.part == part && now - each.at < kDay; });
  if (before == 0) return kFirstHold;
  nanoseconds hold = kSecondHold;
  for (auto i = before; i > 1 && hold < kLongestHold; --i) hold *= 2;
  return std::min<nanoseconds>(hold, kLongestHold);
}

// It is over, and was held back as long as it must.
bool MayGo(const Health& health, const Fault& fault, Time now) {
  if (fault.clear_after && now - fault.last >= *fault.clear_after) return true;
  if (!fault.proven) return false;
  if (StateOf(fault, now) != HealthState::kRecovering) return true;
  return now - *fault.proven >= HoldOf(health, fault.part, now);
}

// Several faults of one part that end together are one recovery.
void CountRecovery(Health& health, const Recovery& recovery) {
  std::vector<Recovery>& all = health.recoveries;
  if (std::find(all.begin(), all.end(), recovery) != all.end()) return;
  const auto of_part = [&](const Recovery& each) { return each.part == recovery.part; };
  if (std::count_if(all.begin(), all.end(), of_part) >= kMostRecoveries)
    all.erase(std::find_if(all.begin(), all.end(), of_part));
  all.push_back(recovery);
}

// Where another fault stays, the part is not back: counted, it would make the first return a
// relapse.
void LetGo(Health& health, Time now) {
  std::vector<Fault> left, over;
  for (Fault& fault : health.faults)
    (MayGo(health, fault, now) ? over : left).push_back(std::move(fault));
  health.faults = std::move(left);
  std::erase_if(health.recoveries, [&](const Recovery& each) { return now - each.at >= kDay; });
  for (const Fault& fault : over) {
    const bool was_out = IsOut(fault) && StateOf(fault, now) != HealthState::kHealthy;
    if (fault.back || (was_out && !IsKeptOut(health.faults, fault.part, now)))
      CountRecovery(health, {fault.part, now});
  }
}

// Each of them would be nothing by itself.
bool IsBadByRepetition(const Fault& fault, const Verdict& verdict) {
  return fault.effect == Effect::kUnhealthy && RowOf(fault.xid).often && verdict.by_table;
}

// What a preset made of it may have become milder or worse by what came with it and by what the
// driver asked for, and stays so.
bool IsToBeJudgedAnew(const Fault& fault, const Verdict& verdict, const XidOptions& options) {
  if (!verdict.by_preset) return true;
  // By a rule that is no more.
  if (fault.by_rule) return true;
  // By the driver, to whom nobody listens any more.
  return !FollowsDriver(options) && fault.effect > verdict.effect;
}

void JudgeAnew(Fault& fault, const Verdict& verdict) {
  fault.text = TextOf(fault.xid, verdict);
  fault.clear_after = verdict.clear_after;
  fault.by_rule = !verdict.by_preset;
  if (fault.effect == verdict.effect && fault.proof == verdict.proof) return;
  fault.effect = verdict.effect;
  fault.proof = verdict.proof;
  ProveAnew(fault);  // it was over by another proof
}

nanoseconds LookIn(const Health& health, const Fault& fault, Time now) {
  const nanoseconds at_once = nanoseconds::zero();
  const auto until = [&](Time time) { return std::max<nanoseconds>(time - now, at_once); };
  nanoseconds next = kLookWhileUnwell;
  if (fault.effect == Effect::kDegraded || StateOf(fault, now) == HealthState::kDegraded) {
    const nanoseconds quiet = until(fault.last + kQuietTime);
    // One that is not over by then waits for something else: a remap, or a GPU that answers.
    next = fault.proof == Proof::kQuiet && quiet > at_once ? quiet : kLookWhileDegraded;
  } else if (fault.proven) {
    next = std::min<nanoseconds>(next, until(*fault.proven + HoldOf(health, fault.part, now)));
  } else if (fault.proof == Proof::kThreeLooks && fault.passes > 0) {
    next = kLookWhileProving;
  }
  if (fault.clear_after) next = std::min(next, until(fault.last + *fault.clear_after));
  return next;
}

}  // namespace

Health OnXid(Health health,
             const XidOptions& options,
             const XidEvent& event,
             const NodeFacts& when) {
  Remember(health, event, when.now);
  Contain(health, options, event, when.now);
  const Verdict verdict = WithConditions(health, Judge(options, event.xid), event);
  if (verdict.effect == Effect::kNothing) return health;
  Fault fresh;
  fresh.part = event.part;
  fresh.xid = event.xid;
  fresh.effect = verdict.effect;
  fresh.proof = verdict.proof;
  fresh.clear_after = verdict.clear_after;
  fresh.by_rule = !verdict.by_preset;
  fresh.text = TextOf(event.xid, verdict);
  fresh.at = fresh.last = when.now;
  fresh.since = when.wall;
  fresh.driver = when.driver;
  const XidRow& row = RowOf(event.xid);
  if (verdict.by_table && row.contained &&
      HeardBeside(health, event.part.gpu, *row.contained, when.now))
    TakeTheEdgeOff(fresh);
  if (Fault* known = Find(health, event.part, Cause::kXid, event.xid)) {
    // It was back, since the driver asked for nothing or it was contained, and is out again.
    if (known->back && fresh.effect == Effect::kUnhealthy)
      CountRecovery(health, {event.part, when.now});
    else
      fresh.back = known->back;
    // If the id is another's by now, what was wrong with the one before is the GPU's.
    fresh.instance = known->instance;
    // What was seen since the one before proves nothing for this one.
    fresh.at = known->at;
    fresh.since = known->since;
    fresh.count = known->count + 1;
    *known = std::move(fresh);
  } else {
    health.faults.push_back(std::move(fresh));
  }
  return health;
}

Health OnLook(Health health, const XidOptions& options, const NodeFacts& facts) {
  for (const GpuFacts& gpu : facts.gpus) {
    if (gpu.given_away) {
      std::erase_if(health.faults, [&](const Fault& fault) {
        return fault.part.gpu == gpu.gpu && fault.cause != Cause::kXid;
      });
      continue;
    }
    const std::vector<Signal> signals = SignalsOf(gpu, options);
    for (const Signal& signal : signals) {
      const Part part{.gpu = gpu.gpu};
      Fault* known = Find(health, part, signal.cause, 0);
      if (known == nullptr) {
        Fault fresh;
        fresh.part = part;
        fresh.cause = signal.cause;
        fresh.at = fresh.last = facts.now;
        fresh.since = facts.wall;
        fresh.driver = facts.driver;
        health.faults.push_back(std::move(fresh));
        known = &health.faults.back();
      }
      known->effect = signal.effect;
      known->proof = signal.proof;
      known->text = signal.text;
    }
    FollowInstances(health, gpu);
    for (Fault& fault : health.faults) {
      if (fault.part.gpu != gpu.gpu) continue;
      const bool was_out = IsOut(fault);
      FollowDriver(fault, gpu, options, HoldOf(health, fault.part, facts.now));
      NoteBack(health, fault, was_out, facts.now);
      Weigh(fault, gpu, options, signals, facts);
    }
  }
  LetGo(health, facts.now);
  return health;
}

Health OnMonitoring(Health health, std::set<model::GpuUuid> unmonitored) {
  health.unmonitored = std::move(unmonitored);
  return health;
}

Health OnOptions(Health health, const XidOptions& options) {
  std::vector<Fault> left;
  for (Fault& fault : health.faults) {
    const Verdict verdict = Judge(options, fault.xid);
    if (fault.cause != Cause::kXid || IsBadByRepetition(fault, verdict)) {
      left.push_back(std::move(fault));
      continue;
    }
    if (verdict.effect == Effect::kNothing) continue;
    if (IsToBeJudgedAnew(fault, verdict, options)) JudgeAnew(fault, verdict);
    left.push_back(std::move(fault));
  }
  health.faults = std::move(left);
  return health;
}

Health Clear(Health health, const std::function<bool(const Part&)>& meant) {
  std::erase_if(health.faults, [&](const Fault& fault) { return meant(fault.part); });
  std::erase_if(health.heard, [&](const Heard& each) { return meant(each.part); });
  std::erase_if(health.recoveries, [&](const Recovery& each) { return meant(each.part); });
  return health;
}

std::optional<nanoseconds> NextLook(const Health& health, Time now) {
  std::optional<nanoseconds> next;
  for (const Fault& fault : health.faults) {
    const nanoseconds wanted = LookIn(health, fault, now);
    next = next ? std::min(*next, wanted) : wanted;
  }
  return next;
}

std::vector<Transition> Transitions(const model::NodeHealth& before,
                                    const model::NodeHealth& after) {
  const auto same = [](const model::PartHealth& a) {
    return [&a](const model::PartHealth& b) {
      return a.gpu == b.gpu && a.gpu_instance == b.gpu_instance &&
             a.compute_instance == b.compute_instance;
    };
  };
  std::vector<Transition> transitions;
  for (const model::PartHealth& part : after.parts) {
    const auto was = std::find_if(before.parts.begin(), before.parts.end(), same(part));
    if (was == before.parts.end())
      transitions.push_back({part, HealthState::kHealthy});
    else if (was->state != part.state || was->reason != part.reason)
      transitions.push_back({part, was->state});
  }
  for (const model::PartHealth& part : before.parts) {
    if (std::any_of(after.parts.begin(), after.parts.end(), same(part))) continue;
    transitions.push_back({part, part.state});
    transitions.back().now.state = HealthState::kHealthy;
  }
  return transitions;
}

}  // namespace partita::service::health
