#include "agent/control/protocol.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace partita::agent::control {
namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::array kCodes = {
    ErrorCode::kInvalid,      ErrorCode::kNotFound, ErrorCode::kBusy,     ErrorCode::kUnavailable,
    ErrorCode::kUnsupported,  ErrorCode::kDenied,   ErrorCode::kConflict, ErrorCode::kTimeout,
    ErrorCode::kIo,           ErrorCode::kInternal, ErrorCode::kNoDriver, ErrorCode::kNotApplied,
    ErrorCode::kResetRequired};

std::string Text(const Value& map, std::string_view key) {
  const Value* value = map.Find(key);
  return value != nullptr && value->kind() == Value::Kind::kString ? value->AsString() : "";
}

std::optional<std::int64_t> Number(const Value& map, std::string_view key) {
  const Value* value = map.Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind() == Value::Kind::kInteger) return value->AsInteger();
  if (value->kind() != Value::Kind::kUnsigned) return std::nullopt;
  return static_cast<std::int64_t>(value->AsUnsigned());
}

// All of it, so that a command says of an agent's error what it would say of its own.
Value ErrorValue(const Error& error) {
  Value frames = Value::List();
  for (const std::string& frame : error.frames()) frames.Add(frame);
  Value value = Value::Map()
                    .Set("code", base::ToString(error.code()))
                    .Set("message", error.message())
                    .Set("frames", std::move(frames))
                    .Set("hint", error.hint());
  if (const auto& position = error.position()) {
    value.Set("position", Value::Map()
                              .Set("file", position->file)
                              .Set("line", position->line)
                              .Set("column", position->column));
  }
  if (const auto& native = error.native()) {
    value.Set("native", Value::Map()
                            .Set("kind", native->kind == base::NativeKind::kNvml ? "nvml" : "errno")
                            .Set("value", native->value));
  }
  return value;
}

Error ReadError(const Value& value) {
  ErrorCode code = ErrorCode::kInternal;
  for (const ErrorCode each : kCodes)
    if (base::ToString(each) == Text(value, "code")) code = each;
  Error error(code, Text(value, "message"));
  if (const Value* frames = value.Find("frames");
      frames != nullptr && frames->kind() == Value::Kind::kList) {
    // Frames are added from the inside out.
    for (auto frame = frames->items().rbegin(); frame != frames->items().rend(); ++frame)
      if (frame->kind() == Value::Kind::kString) error = std::move(error).Within(frame->AsString());
  }
  if (const std::string hint = Text(value, "hint"); !hint.empty())
    error = std::move(error).WithHint(hint);
  if (const Value* position = value.Find("position")) {
    error = std::move(error).At({Text(*position, "file"),
                                 static_cast<int>(Number(*position, "line").value_or(0)),
                                 static_cast<int>(Number(*position, "column").value_or(0))});
  }
  if (const Value* native = value.Find("native")) {
    const bool nvml = Text(*native, "kind") == "nvml";
    error = std::move(error).WithNative({nvml ? base::NativeKind::kNvml : base::NativeKind::kErrno,
                                         static_cast<int>(Number(*native, "value").value_or(0))});
  }
  return error;
}

base::Result<void> CheckVersion(const Value& value) {
  const std::optional<std::int64_t> version = Number(value, "version");
  if (version == static_cast<std::int64_t>(kProtocolVersion)) return {};
  return base::MakeError(ErrorCode::kUnsupported, "version {} of the control protocol",
                         version.value_or(0))
      .WithHint("the agent and this command are of different versions: restart the agent");
}

}  // namespace

std::string MakeFrame(const Value& value) {
  const std::string text = base::ToJsonLine(value);
  std::string frame;
  frame.reserve(kFrameHeader + text.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(text.size() >> shift & 0xFF);
  return frame + text;
}

base::Result<std::optional<Value>> TakeFrame(std::string& input, std::size_t most) {
  if (input.size() < kFrameHeader) return std::optional<Value>();
  std::size_t size = 0;
  for (std::size_t i = 0; i < kFrameHeader; ++i)
    size = size << 8 | static_cast<unsigned char>(input[i]);
  if (size > most)
    return base::MakeError(ErrorCode::kInvalid, "a frame of {} bytes; {} are the most", size, most);
  if (input.size() < kFrameHeader + size) return std::optional<Value>();
  base::Result<Value> value = base::ParseJson(std::string_view(input).substr(kFrameHeader, size));
  input.erase(0, kFrameHeader + size);
  if (!value.ok()) return std::move(value).error();
  if (value->kind() != Value::Kind::kMap)
    return Error(ErrorCode::kInvalid, "a frame that is no JSON map");
  return std::optional<Value>(*std::move(value));
}

Value ToValue(const Request& request) {
  return Value::Map()
      .Set("version", kProtocolVersion)
      .Set("method", request.method)
      .Set("params", request.params);
}

base::Result<Request> ReadRequest(const Value& value) {
  TRY_VOID(CheckVersion(value));
  Request request;
  request.method = Text(value, "method");
  if (request.method.empty()) return Error(ErrorCode::kInvalid, "a request without a method");
  if (const Value* params = value.Find("params")) {
    if (params->kind() != Value::Kind::kMap)
      return Error(ErrorCode::kInvalid, "a request whose params are no map");
    request.params = *params;
  }
  return request;
}

Value ToValue(const Answer& answer) {
  Value value = Value::Map().Set("version", kProtocolVersion);
  if (const auto* progress = std::get_if<Progress>(&answer))
    return std::move(value.Set("progress", progress->value));
  const auto& end = std::get<base::Result<Value>>(answer);
  return std::move(end.ok() ? value.Set("result", *end)
                            : value.Set("error", ErrorValue(end.error())));
}

base::Result<Answer> ReadAnswer(const Value& value) {
  TRY_VOID(CheckVersion(value));
  if (const Value* progress = value.Find("progress")) return Answer(Progress{*progress});
  if (const Value* result = value.Find("result")) return Answer(base::Result<Value>(*result));
  if (const Value* error = value.Find("error"))
    return Answer(base::Result<Value>(ReadError(*error)));
  return Error(ErrorCode::kInvalid, "an answer without progress, result or error");
}

}  // namespace partita::agent::control
