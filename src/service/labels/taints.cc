#include "service/labels/taints.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace partita::service::labels {
namespace {

using base::Value;

const std::vector<Value>& TaintsOf(const Value& node) {
  static const std::vector<Value> none;
  const Value* spec = node.Find("spec");
  const Value* taints = spec == nullptr ? nullptr : spec->Find("taints");
  return taints != nullptr && taints->kind() == Value::Kind::kList ? taints->items() : none;
}

std::string TaintText(const Value& taint, std::string_view key) {
  const Value* text = taint.Find(key);
  return text != nullptr && text->kind() == Value::Kind::kString ? text->AsString() : "";
}

Taint ReadTaint(const Value& taint) {
  return {TaintText(taint, "key"), TaintText(taint, "value"), TaintText(taint, "effect")};
}

Value TaintValue(const Taint& taint) {
  Value value = Value::Map().Set("key", taint.key);
  if (!taint.value.empty()) value.Set("value", taint.value);
  return value.Set("effect", taint.effect);
}

}  // namespace

std::string TaintWord(const Taint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value,
                     taint.effect);
}

bool HasTaint(const Value& node, const Taint& taint) {
  const std::vector<Value>& all = TaintsOf(node);
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& each) { return ReadTaint(each) == taint; });
}

bool HasTaintLike(const Value& node, const Taint& taint) {
  const std::vector<Value>& all = TaintsOf(node);
  return std::any_of(all.begin(), all.end(), [&](const Value& each) {
    const Taint read = ReadTaint(each);
    return read.key == taint.key && read.effect == taint.effect;
  });
}

std::optional<Value> TaintsPatch(const Value& node, const TaintsWish& wish) {
  Value list = Value::List();
  bool changed = false;
  for (const Value& each : TaintsOf(node)) {
    const Taint taint = ReadTaint(each);
    if ((wish.ready && taint.key == kNotReadyTaint) || (wish.remove && taint == *wish.remove))
      changed = true;
    else
      list.Add(each);  // with what else it says, as when it was added
  }
  if (wish.add && !HasTaintLike(node, *wish.add)) {
    list.Add(TaintValue(*wish.add));
    changed = true;
  }
  if (!changed) return std::nullopt;
  Value metadata = Value::Map();
  if (const Value* now = node.Find("metadata"))
    metadata.Set("resourceVersion", TaintText(*now, "resourceVersion"));
  return Value::Map()
      .Set("metadata", std::move(metadata))
      .Set("spec", Value::Map().Set("taints", std::move(list)));
}

}  // namespace partita::service::labels
