#include "hook/runtime/in_turn.h"

#include <algorithm>
#include <string>

#include "hook/cdi/hooks.h"

namespace partita::hook {
namespace {

using base::Value;

constexpr std::string_view kName = "nvidia-cdi-hook";

bool IsText(const Value& value) { return value.kind() == Value::Kind::kString; }

// Words that begin with a hook's name, none of which would be taken for the end of them.
bool AreOwnWords(const Value* args) {
  if (args == nullptr || args->kind() != Value::Kind::kList || args->items().size() < 2)
    return false;
  const std::vector<Value>& words = args->items();
  if (!std::all_of(words.begin(), words.end(), IsText)) return false;
  const bool ends = std::any_of(words.begin(), words.end(),
                                [](const Value& word) { return word.AsString() == kThen; });
  const std::string& hook = words[1].AsString();
  return words[0].AsString() == kName && !hook.starts_with('-') && hook != kInTurn && !ends;
}

bool IsOwn(const Value& hook, std::string_view program) {
  const Value* path = hook.Find("path");
  const bool ours = path != nullptr && IsText(*path) && path->AsString() == program;
  return ours && AreOwnWords(hook.Find("args")) && hook.Find("env") != nullptr &&
         hook.members().size() == 3;
}

const std::string& HookName(const Value& hook) { return hook.Find("args")->items()[1].AsString(); }

// restrict-proc shows the driver's parameters as disable-device-node-modification would, with all
// around them.
std::vector<Value> WithoutCovered(std::span<const Value> hooks) {
  std::vector<Value> left(hooks.begin(), hooks.end());
  const auto last = std::find_if(left.rbegin(), left.rend(), [](const Value& hook) {
    return HookName(hook) == "restrict-proc";
  });
  left.erase(std::remove_if(left.begin(), last.base(),
                            [](const Value& hook) {
                              return HookName(hook) == "disable-device-node-modification";
                            }),
             last.base());
  return left;
}

Value Joined(std::span<const Value> hooks) {
  if (hooks.size() == 1) return hooks.front();  // the only one that was left
  Value words = Value::List().Add(std::string(kName)).Add(std::string(kInTurn));
  for (const Value& hook : hooks) {
    if (&hook != &hooks.front()) words.Add(std::string(kThen));
    const std::vector<Value>& own = hook.Find("args")->items();
    for (std::size_t i = 1; i < own.size(); ++i) words.Add(own[i]);
  }
  return Value::Map()
      .Set("path", *hooks.front().Find("path"))
      .Set("args", std::move(words))
      .Set("env", *hooks.front().Find("env"));
}

}  // namespace

std::vector<Value> InTurn(std::span<const Value> hooks, std::string_view program) {
  std::vector<Value> joined;
  while (!hooks.empty()) {
    std::size_t count = 1;
    if (IsOwn(hooks.front(), program)) {
      while (count < hooks.size() && IsOwn(hooks[count], program) &&
             *hooks[count].Find("env") == *hooks.front().Find("env"))
        ++count;
    }
    joined.push_back(count == 1 ? hooks.front() : Joined(WithoutCovered(hooks.first(count))));
    hooks = hooks.subspan(count);
  }
  return joined;
}

}  // namespace partita::hook
