#include "service/labels/clearing.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "service/labels/node_state.h"
#include "service/labels/outputs.h"

namespace partita::service::labels {
namespace {

using base::Value;

constexpr std::string_view kOwnConditions = "partita.dev/";

std::vector<std::string> OwnConditions(const Value& node) {
  std::vector<std::string> types;
  const Value* status = node.Find("status");
  const Value* all = status == nullptr ? nullptr : status->Find("conditions");
  if (all == nullptr || all->kind() != Value::Kind::kList) return types;
  for (const Value& each : all->items()) {
    const Value* type = each.Find("type");
    if (type != nullptr && type->kind() == Value::Kind::kString &&
        type->AsString().starts_with(kOwnConditions))
      types.push_back(type->AsString());
  }
  return types;
}

}  // namespace

Clearing WhatIsOurs(const Value& node, const std::optional<Taint>& taint) {
  const OwnedKeys owned = OwnedBy(node, kFieldManager);
  Clearing clearing{{owned.labels.begin(), owned.labels.end()},
                    {owned.annotations.begin(), owned.annotations.end()},
                    OwnConditions(node)};
  if (taint && HasTaint(node, *taint) && HasWrittenTaints(node, kFieldManager))
    clearing.taint = taint;
  return clearing;
}

std::string ToString(const Clearing& clearing) {
  const auto count = [](std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::vector<std::string> parts;
  if (!clearing.labels.empty()) parts.push_back(count(clearing.labels.size(), "label"));
  if (!clearing.annotations.empty())
    parts.push_back(count(clearing.annotations.size(), "annotation"));
  for (const std::string& type : clearing.conditions)
    parts.push_back(fmt::format("condition {}", type));
  if (clearing.taint)
    parts.push_back(fmt::format("taint {}={}:{}", clearing.taint->key, clearing.taint->value,
                                clearing.taint->effect));
  return parts.empty() ? "nothing" : base::Join(parts, ", ");
}

Value WithoutConditions(const std::vector<std::string>& types) {
  Value list = Value::List();
  for (const std::string& type : types)
    list.Add(Value::Map().Set("type", type).Set("$patch", "delete"));
  return Value::Map().Set("status", Value::Map().Set("conditions", std::move(list)));
}

base::Result<Taint> ReadTaintWord(const std::string& word) {
  Taint taint;
  std::string_view rest = word;
  if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    taint.effect = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  const std::size_t equals = rest.find('=');
  taint.key = rest.substr(0, equals);
  if (equals != std::string_view::npos) taint.value = rest.substr(equals + 1);
  if (taint.key.empty() || taint.effect.empty())
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no taint", base::Quoted(word))
        .WithHint("write KEY=VALUE:EFFECT, as nvidia.com/gpu=present:NoSchedule");
  return taint;
}

}  // namespace partita::service::labels
