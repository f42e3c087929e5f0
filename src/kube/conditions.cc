#include "kube/conditions.h"

#include "kube/events.h"

namespace partita::kube {
namespace {

using base::Value;

const Value* FindCondition(const Value& object, const std::string& type) {
  const Value* status = object.Find("status");
  const Value* all = status == nullptr ? nullptr : status->Find("conditions");
  if (all == nullptr || all->kind() != Value::Kind::kList) return nullptr;
  for (const Value& each : all->items()) {
    const Value* name = each.Find("type");
    if (name != nullptr && *name == Value(type)) return &each;
  }
  return nullptr;
}

bool Says(const Value& condition, std::string_view key, const std::string& text) {
  const Value* value = condition.Find(key);
  // What is empty is not sent back.
  return value == nullptr ? text.empty() : *value == Value(text);
}

}  // namespace

bool HasCondition(const Value& object, const Condition& condition) {
  const Value* there = FindCondition(object, condition.type);
  return there != nullptr && Says(*there, "status", condition.status) &&
         Says(*there, "reason", condition.reason) && Says(*there, "message", condition.message);
}

Value ConditionsPatch(const Value& object,
                      std::span<const Condition> conditions,
                      base::Clock::Wall now) {
  const std::string time = SecondsTime(now);
  Value list = Value::List();
  for (const Condition& condition : conditions) {
    Value entry = Value::Map()
                      .Set("type", condition.type)
                      .Set("status", condition.status)
                      .Set("reason", condition.reason)
                      .Set("message", condition.message)
                      .Set("lastHeartbeatTime", time);
    const Value* there = FindCondition(object, condition.type);
    if (there == nullptr || !Says(*there, "status", condition.status))
      entry.Set("lastTransitionTime", time);
    list.Add(std::move(entry));
  }
  return Value::Map().Set("status", Value::Map().Set("conditions", std::move(list)));
}

std::string SecondsTime(base::Clock::Wall time) {
  // "2026-01-01T00:00:00" of "2026-01-01T00:00:00.000000Z".
  return MicroTime(time).substr(0, 19) + "Z";
}

}  // namespace partita::kube
