#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "config/json_text.h"
#include "service/toolkit/engine.h"

namespace partita::service::toolkit {
namespace {

using base::Value;
using Path = std::vector<std::string_view>;

constexpr int kIndent = 4;  // as NVIDIA's program writes it
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Value With(const Value& map, std::span<const std::string_view> path, const Value& value) {
  Value changed = map;
  const Value* below = map.Find(path.front());
  changed.Set(std::string(path.front()),
              path.size() == 1
                  ? value
                  : With(below == nullptr ? Value::Map() : *below, path.subspan(1), value));
  return changed;
}

// daemon.json and, beside it, what it should mean: the edit of the text is checked against that.
class DaemonFile {
 public:
  explicit DaemonFile(config::JsonText json) : json_(std::move(json)), meaning_(json_.value()) {}

  [[nodiscard]] const Value* Find(const Path& path) const {
    const Value* value = &json_.value();
    for (const std::string_view part : path) {
      if (value != nullptr) value = value->Find(part);
    }
    return value;
  }

  base::Result<void> Set(const Path& path, const Value& value) {
    if (const Value* there = Find(path); there != nullptr && *there == value) return {};
    TRY_VOID(json_.Set(path, value, kIndent));
    meaning_ = With(meaning_, path, value);
    return {};
  }

  base::Result<void> Remove(const Path& path) {
    TRY_VOID(json_.Remove(path));
    meaning_ = json_.value();
    return {};
  }

  base::Result<std::string> Finish() const {
    if (json_.value() == meaning_) return json_.text();
    return base::Error(base::ErrorCode::kInternal, "the edit would change more than was asked for");
  }

 private:
  config::JsonText json_;
  Value meaning_;
};

base::Result<void> AddRuntime(DaemonFile& file, const ConfigureOrder& order) {
  const Path entry = {"runtimes", order.runtime_name};
  if (file.Find(entry) == nullptr) {
    Value runtime = Value::Map();
    runtime.Set("path", order.runtime_path).Set("args", Value::List());
    TRY_VOID(file.Set(entry, runtime));
  } else {
    // Arguments that somebody gave it stay, under whichever name they have.
    TRY_VOID(file.Set({"runtimes", order.runtime_name, "path"}, order.runtime_path));
  }
  if (order.set_as_default) TRY_VOID(file.Set({"default-runtime"}, order.runtime_name));
  if (order.enable_cdi) TRY_VOID(file.Set({"features", "cdi"}, true));
  return {};
}

base::Result<void> RemoveRuntime(DaemonFile& file, const ConfigureOrder& order) {
  TRY_VOID(file.Remove({"runtimes", order.runtime_name}));
  if (const Value* runtimes = file.Find({"runtimes"});
      runtimes != nullptr && runtimes->kind() == Value::Kind::kMap && runtimes->members().empty())
    TRY_VOID(file.Remove({"runtimes"}));
  const Value* chosen = file.Find({"default-runtime"});
  if (chosen != nullptr && *chosen == Value(order.runtime_name))
    TRY_VOID(file.Set({"default-runtime"}, "runc"));
  return {};
}

base::Result<std::string> Edit(std::string_view text, const ConfigureOrder& order) {
  const bool empty = base::Trim(text).empty();
  TRY(json, config::JsonText::Parse(empty ? "{}\n" : std::string(text)));
  if (json.value().kind() != Value::Kind::kMap)
    return base::Error(base::ErrorCode::kInvalid, "the document is no map");
  if (empty && order.undo) return std::string(text);
  DaemonFile file(std::move(json));
  TRY_VOID(order.undo ? RemoveRuntime(file, order) : AddRuntime(file, order));
  return file.Finish();
}

}  // namespace

base::Result<EnginePlan> PlanDocker(std::optional<std::string> daemon_json,
                                    const ConfigureOrder& order) {
  TRY_VOID(CheckOrder(order, true));
  if (!order.drop_in.empty()) {
    return base::Error(base::ErrorCode::kInvalid, "docker reads one file and no drop-in files")
        .WithHint("leave --drop-in-config out");
  }
  EnginePlan plan;
  if (!daemon_json && order.undo) return plan;
  std::string_view text = daemon_json ? std::string_view(*daemon_json) : std::string_view();
  // dockerd takes the mark from version 23 on; it is not ours to remove.
  const std::string mark(text.starts_with(kByteOrderMark) ? kByteOrderMark : "");
  text.remove_prefix(mark.size());
  base::Result<std::string> after = Edit(text, order);
  if (!after.ok()) {
    const bool wrong_file = after.error().code() != base::ErrorCode::kInternal;
    base::Error error = std::move(after).error().Within(order.config);
    if (!wrong_file) return error;
    return std::move(error)
        .As(base::ErrorCode::kInvalid)
        .WithHint("mend the file first; it was left as it is");
  }
  const std::string whole = mark + *after;
  if (daemon_json != whole) plan.changes.push_back({order.config, std::move(daemon_json), whole});
  return plan;
}

}  // namespace partita::service::toolkit
