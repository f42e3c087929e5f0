#include "agent/ledger_document.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace partita::agent {
namespace {

using base::Value;
using service::ledger::Device;
using service::ledger::Hold;
using service::ledger::Owner;
using service::ledger::State;
using service::ledger::Time;

// The wall's clock may have been set back since.
std::int64_t Seconds(Time since, Time now) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - since);
  return std::max<std::int64_t>(age.count(), 0);
}

Value DeviceValue(const State& state, const Device& device) {
  return Value::Map()
      .Set("device", ToString(device))
      .Set("key", KeyOf(device))
      .Set("state", ToString(StateOf(state, device)));
}

Value Devices(const State& state, Time now) {
  Value list = Value::List();
  for (const auto& [key, hold] : state.holds) {
    list.Add(DeviceValue(state, hold.device)
                 .Set("owner", ToString(hold.owner))
                 .Set("seen", hold.seen)
                 .Set("gone", hold.gone)
                 .Set("seconds", Seconds(hold.since, now)));
  }
  return list;
}

Value Claims(const State& state, Time now) {
  Value list = Value::List();
  for (const auto& [uid, claim] : state.claims) {
    Value devices = Value::List();
    for (const service::ledger::Use& use : claim.uses)
      devices.Add(DeviceValue(state, use.device).Set("admin", use.admin));
    list.Add(Value::Map()
                 .Set("claim", ToString(Owner(claim.owner)))
                 .Set("step", ToString(claim.step))
                 .Set("devices", std::move(devices))
                 .Set("seconds", Seconds(claim.since, now)));
  }
  return list;
}

Value Plans(const State& state, Time now) {
  Value list = Value::List();
  for (const auto& [id, plan] : state.plans) {
    if (plan.ended) continue;
    Value devices = Value::List();
    for (const Device& device : plan.scope) devices.Add(DeviceValue(state, device));
    list.Add(Value::Map()
                 .Set("plan", id)
                 .Set("locked", plan.locked)
                 .Set("devices", std::move(devices))
                 .Set("seconds", Seconds(plan.withdrawn, now)));
  }
  return list;
}

Value ForeignInstances(const State& state) {
  Value list = Value::List();
  for (const auto& [key, seen] : state.instances) {
    if (!seen.foreign) continue;
    list.Add(Value::Map()
                 .Set("gpu", seen.gpu.uuid.value())
                 .Set("profile", seen.profile.value())
                 .Set("start", seen.memory.start)
                 .Set("instance", seen.id.value()));
  }
  return list;
}

Value Offers(const State& state) {
  Value list = Value::List();
  for (const auto& [board, offer] : state.offers) {
    Value entry = Value::Map().Set("gpu", offer.board.value()).Set("via", ToString(offer.via));
    if (offer.next) entry.Set("next", ToString(*offer.next));
    list.Add(std::move(entry));
  }
  return list;
}

}  // namespace

Value LedgerCounts(const State& state) {
  const auto count = [](const auto& table, const auto& counts) {
    return std::count_if(table.begin(), table.end(),
                         [&](const auto& entry) { return counts(entry.second); });
  };
  using service::ledger::ClaimStep;
  return Value::Map()
      .Set("holds", static_cast<std::int64_t>(state.holds.size()))
      .Set("claims",
           count(state.claims, [](const auto& each) { return each.step != ClaimStep::kTombstone; }))
      .Set("plans", count(state.plans, [](const auto& each) { return !each.ended; }))
      .Set("foreign", count(state.instances, [](const auto& each) { return each.foreign; }));
}

Value LedgerDocument(const State& state, Time now) {
  return Value::Map()
      .Set("devices", Devices(state, now))
      .Set("claims", Claims(state, now))
      .Set("plans", Plans(state, now))
      .Set("foreign", ForeignInstances(state))
      .Set("offers", Offers(state));
}

}  // namespace partita::agent
