#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "config/json_text.h"
#include "service/toolkit/engine.h"
#include "service/toolkit/keyed_documents.h"

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

  base::Result<std::string> Finish() const {
    if (json_.value() == meaning_) return json_.text();
    return base::Error(base::ErrorCode::kInternal, "the edit would change more than was asked for");
  }

 private:
  config::JsonText json_;
  Value meaning_;
};

base::Result<void> SetRuntime(DaemonFile& file, const ConfigureOrder& order) {
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

struct EditedDaemonFile {
  std::string text;
  std::vector<KeptKey> keys;
};

// What an order may change.
std::vector<KeptKey> Candidates(const KeyedText& before, const std::string& name) {
  const bool made = !before.Raw({"runtimes", name});
  return {made ? KeptKey{.path = {"runtimes", name}, .mark = {"path"}}
               : KeptKey{.path = {"runtimes", name, "path"}},
          {.path = {"default-runtime"}},
          {.path = {"features", "cdi"}}};
}

base::Result<config::JsonText> Parse(std::string_view text) {
  const bool empty = base::Trim(text).empty();
  TRY(json, config::JsonText::Parse(empty ? "{}\n" : std::string(text)));
  if (json.value().kind() != Value::Kind::kMap)
    return base::Error(base::ErrorCode::kInvalid, "the document is no map");
  return json;
}

base::Result<EditedDaemonFile> Edit(std::string_view text,
                                    const ConfigureOrder& order,
                                    const FileMemory& memory) {
  TRY(json, Parse(text));
  const JsonKeys before(json);
  DaemonFile file(std::move(json));
  TRY_VOID(SetRuntime(file, order));
  TRY(edited, file.Finish());
  TRY(after, config::JsonText::Parse(edited));
  return EditedDaemonFile{std::move(edited),
                          KeepKeys(before, JsonKeys(std::move(after)),
                                   Candidates(before, order.runtime_name), memory.keys)};
}

// Of a file that is not as we left it; nothing where it is.
base::Result<void> TakeBackKeys(std::string_view text,
                                const ConfigureOrder& order,
                                const FileMemory& memory,
                                FileChange& change,
                                EnginePlan& plan) {
  TRY(json, Parse(text));
  JsonKeys keys(std::move(json));
  if (!memory.written) {
    if (keys.Raw({"runtimes", order.runtime_name})) NoteNotOurs(order.config, plan);
    return {};
  }
  if (memory.untouched) return {};
  TRY(said, PutBack(keys, memory.keys));
  if (!said.empty())
    change.after =
        change.before->substr(0, change.before->size() - text.size()) + keys.json().text();
  if (memory.created && keys.IsEmptyTable({})) change.after = std::nullopt;
  NoteTakenBack(change, said, plan);
  return {};
}

}  // namespace

base::Result<EnginePlan> PlanDocker(std::optional<std::string> daemon_json,
                                    const ConfigureOrder& order,
                                    const EngineMemory& memory) {
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
  FileChange change = {order.config, daemon_json, daemon_json};
  base::Result<void> done;
  if (order.undo) {
    done = TakeBackKeys(text, order, memory.config, change, plan);
  } else if (base::Result<EditedDaemonFile> edited = Edit(text, order, memory.config);
             edited.ok()) {
    change.after = mark + edited->text;
    change.memory.keys = std::move(edited->keys);
  } else {
    done = std::move(edited).error();
  }
  if (!done.ok()) {
    const bool wrong_file = done.error().code() != base::ErrorCode::kInternal;
    base::Error error = std::move(done).error().Within(order.config);
    if (!wrong_file) return error;
    return std::move(error)
        .As(base::ErrorCode::kInvalid)
        .WithHint("mend the file first; it was left as it is");
  }
  if (change.before != change.after) plan.changes.push_back(std::move(change));
  return plan;
}

}  // namespace partita::service::toolkit
