#include "oci/state.h"

#include "base/json.h"
#include "base/value.h"

namespace partita::oci {
namespace {

using base::ErrorCode;
using base::Value;

base::Result<std::string> Text(const Value& map, std::string_view key) {
  const Value* value = map.Find(key);
  if (value == nullptr || value->IsNull()) return std::string();
  if (value->kind() != Value::Kind::kString)
    return base::MakeError(ErrorCode::kInvalid, "\"{}\" is no text", key);
  return value->AsString();
}

base::Result<Value> Map(std::string_view json) {
  TRY(value, base::ParseJson(json));
  if (value.kind() != Value::Kind::kMap)
    return base::MakeError(ErrorCode::kInvalid, "it is no JSON object");
  return value;
}

}  // namespace

base::Result<State> ParseState(std::string_view json) {
  TRY(map, Map(json), "the container's state");
  State state;
  TRY(id, Text(map, "id"), "the container's state");
  TRY(bundle, Text(map, "bundle"), "the container's state");
  TRY(old_bundle, Text(map, "bundlePath"), "the container's state");
  TRY(root, Text(map, "root"), "the container's state");
  state.id = std::move(id);
  state.bundle = bundle.empty() ? std::move(old_bundle) : std::move(bundle);
  state.root = std::move(root);
  const Value* pid = map.Find("pid");
  if (pid != nullptr && !pid->IsNull()) {
    constexpr std::uint64_t kMost = 1 << 22;  // the kernel's PID_MAX_LIMIT
    if (pid->kind() != Value::Kind::kUnsigned || pid->AsUnsigned() > kMost)
      return base::MakeError(ErrorCode::kInvalid,
                             "the container's state: \"pid\" is no process number");
    state.pid = static_cast<std::int64_t>(pid->AsUnsigned());
  }
  return state;
}

base::Result<std::string> ParseRootPath(std::string_view config_json) {
  TRY(map, Map(config_json));
  const Value* root = map.Find("root");
  if (root == nullptr || root->kind() != Value::Kind::kMap)
    return base::MakeError(ErrorCode::kInvalid, "it has no \"root\"");
  TRY(path, Text(*root, "path"), "\"root\"");
  if (path.empty()) return base::MakeError(ErrorCode::kInvalid, "\"root\" has no \"path\"");
  return path;
}

}  // namespace partita::oci
