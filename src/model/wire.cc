#include "model/wire.h"

#include <algorithm>
#include <cstddef>

#include "base/characters.h"
#include "base/text.h"

namespace partita::model::wire {

namespace {

// JSON holds UTF-8 only, and a process may be called by any bytes: what is not UTF-8 is a map with
// the bytes in hex.
constexpr std::string_view kBytes = "bytes";

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const base::Character next = base::DecodeCharacter(text);
    if (next.code == base::kBroken) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string ToHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::optional<std::uint64_t> byte = base::ParseUnsigned(text.substr(at, 2), 16);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace

Value Writer::Of(const std::string& text) {
  return IsUtf8(text) ? Value(text) : Value::Map().Set(std::string(kBytes), ToHex(text));
}

Value Writer::Of(const Error& error) {
  std::vector<Value::Member> members;
  Add("code", error.code(), members);
  Add("message", error.message(), members);
  Add("frames", error.frames(), members);
  Add("position", error.position(), members);
  Add("native", error.native(), members);
  Add("hint", error.hint(), members);
  return Value::MapOf(std::move(members));
}

Error Not(std::string_view what) {
  return base::MakeError(ErrorCode::kInvalid, "it is not {}", what);
}

Error AtItem(std::size_t index, Error error) {
  return std::move(error).Within(fmt::format("item {}", index));
}

const Value* Members::Find(const char* name) {
  names_.emplace_back(name);
  return error_ ? nullptr : map_.Find(name);
}

const Value* Members::Require(const char* name) {
  const Value* found = Find(name);
  if (found == nullptr && !error_)
    error_ = base::MakeError(ErrorCode::kInvalid, "{} is missing", name);
  return found;
}

void Members::Keep(const char* name, Result<void> read) {
  if (!read.ok()) error_ = std::move(read).error().Within(name);
}

Result<void> Members::End() && {
  if (error_) return *std::move(error_);
  for (const Value::Member& member : map_.members()) {
    if (std::find(names_.begin(), names_.end(), member.key) == names_.end())
      return base::MakeError(ErrorCode::kInvalid, "{} is not known here", base::Quoted(member.key));
  }
  return {};
}

Result<void> Reader::Into(std::string& to, const Value& from) {
  if (from.kind() == Value::Kind::kString) {
    to = from.AsString();
    return {};
  }
  const Value* hex = from.Find(kBytes);
  if (hex == nullptr || from.members().size() != 1 || hex->kind() != Value::Kind::kString)
    return Not("a text");
  std::optional<std::string> bytes = FromHex(hex->AsString());
  if (!bytes) return Not("bytes in hex");
  to = *std::move(bytes);
  return {};
}

Result<void> Reader::Into(Error& to, const Value& from) {
  if (from.kind() != Value::Kind::kMap) return Not("a map");
  auto code = ErrorCode::kInternal;
  std::string message, hint;
  std::vector<std::string> frames;
  std::optional<base::SourcePosition> position;
  std::optional<base::NativeCode> native;
  Members members(from);
  members.Take("code", code);
  members.Take("message", message);
  members.Take("frames", frames);
  members.Take("position", position);
  members.Take("native", native);
  members.Take("hint", hint);
  TRY_VOID(std::move(members).End());
  to = Error(code, std::move(message)).WithHint(std::move(hint));
  // Frames are added from the inside out.
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    to = std::move(to).Within(std::move(*frame));
  if (position) to = std::move(to).At(*std::move(position));
  if (native) to = std::move(to).WithNative(*native);
  return {};
}

Result<void> Reader::Into(std::map<std::string, std::string>& to, const Value& from) {
  if (from.kind() != Value::Kind::kList) return Not("a list");
  for (const Value& item : from.items()) {
    if (item.kind() != Value::Kind::kList || item.items().size() != 2)
      return Not("a list of pairs");
    std::string key, value;
    TRY_VOID(Into(key, item.items()[0]));
    TRY_VOID(Into(value, item.items()[1]));
    to[std::move(key)] = std::move(value);
  }
  return {};
}

Result<void> CheckVersion(const Envelope& envelope, const Value& from) {
  const Value* version = from.Find("version");
  if (version != nullptr && *version == Value(envelope.version)) return {};
  const bool number = version != nullptr && version->kind() == Value::Kind::kUnsigned;
  return base::MakeError(ErrorCode::kUnsupported, "{} of {}, and {} is known here", envelope.what,
                         number ? fmt::format("version {}", version->AsUnsigned()) : "no version",
                         envelope.version)
      .WithHint("the agent and this command are of different versions: restart the agent");
}

}  // namespace partita::model::wire
