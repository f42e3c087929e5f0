#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "service/toolkit/engine.h"

namespace partita::service::toolkit {
namespace {

using base::Value;

// The hook's own folder comes last where it is another, as NVIDIA's program writes it.
std::string SearchPath(const std::string& hook) {
  constexpr std::string_view kUsual =
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const std::string folder = hook.substr(0, hook.rfind('/'));
  const std::vector<std::string_view> usual = base::Split(kUsual, ':');
  const bool there = folder.empty() || std::find(usual.begin(), usual.end(), folder) != usual.end();
  return fmt::format("PATH={}{}{}", kUsual, there ? "" : ":", there ? "" : folder);
}

std::string HookFile(const std::string& hook) {
  const Value args = Value::List().Add(hook.substr(hook.rfind('/') + 1)).Add("prestart");
  // Without an environment of its own a hook gets what the image says.
  const Value env = Value::List().Add(SearchPath(hook));
  Value document = Value::Map();
  document.Set("version", "1.0.0")
      .Set("hook", Value::Map().Set("path", hook).Set("args", args).Set("env", env))
      .Set("when", Value::Map().Set("always", true).Set("commands", Value::List().Add(".*")))
      .Set("stages", Value::List().Add("prestart"));
  return base::ToJson(document);
}

}  // namespace

base::Result<EnginePlan> PlanPodman(std::optional<std::string> hook_json,
                                    const ConfigureOrder& order,
                                    const EngineMemory& memory) {
  TRY_VOID(CheckOrder(order, false));
  if (!order.drop_in.empty() || order.set_as_default || order.enable_cdi) {
    return base::Error(base::ErrorCode::kInvalid,
                       "podman's hook has no drop-in file, no default and no switch for CDI")
        .WithHint(
            "podman 4.1 and later has CDI on: partita cdi generate, then --device "
            "nvidia.com/gpu=all");
  }
  EnginePlan plan;
  if (order.undo) {
    const FileMemory& file = memory.config;
    if (!hook_json || (file.written && file.untouched)) return plan;
    if (!file.written) {
      NoteNotOurs(order.config, plan);
      return plan;
    }
    FileChange change = {order.config, std::move(hook_json), file.original};
    NoteTakenBack(change, {"it is what it was before us, and a copy is kept"}, plan);
    if (change.before != change.after) plan.changes.push_back(std::move(change));
    return plan;
  }
  const std::string after = HookFile(order.runtime_path);
  if (hook_json != after) plan.changes.push_back({order.config, std::move(hook_json), after});
  plan.notes.emplace_back(
      "with this hook file and CDI devices in one container, devices are injected twice: use one "
      "of them");
  return plan;
}

}  // namespace partita::service::toolkit
