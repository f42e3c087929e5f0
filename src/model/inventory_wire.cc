#include "model/inventory_wire.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"
#include "model/inventory_fields.h"

namespace partita::model {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

template <typename T>
concept Number = std::integral<T> && !std::same_as<T, bool>;
template <typename T>
concept Enum = std::is_enum_v<T>;

// Choices of our own end somewhere. Those that carry a driver's number may have any.
template <Enum T>
constexpr std::optional<T> kLast = std::nullopt;
template <>
constexpr std::optional<ErrorCode> kLast<ErrorCode> = ErrorCode::kResetRequired;
template <>
constexpr std::optional<base::NativeKind> kLast<base::NativeKind> = base::NativeKind::kNvml;
template <>
constexpr std::optional<ProcessKind> kLast<ProcessKind> = ProcessKind::kMps;
template <>
constexpr std::optional<FaultKind> kLast<FaultKind> = FaultKind::kRemapFailed;

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

// One overload for each kind of field; as members they see each other.
struct Writer {
  static Value Of(bool value) { return Value(value); }
  template <Number T>
  static Value Of(T value) {
    return Value(value);
  }
  template <Enum T>
  static Value Of(T value) {
    return Value(std::uint64_t{static_cast<std::underlying_type_t<T>>(value)});
  }
  static Value Of(const std::string& text) {
    return IsUtf8(text) ? Value(text) : Value::Map().Set(std::string(kBytes), ToHex(text));
  }
  template <typename Tag, typename T>
  static Value Of(const base::Strong<Tag, T>& strong) {
    return Of(strong.value());
  }
  static Value Of(const PciAddress& address) { return Value(address.ToString()); }
  template <typename T>
  static Value Of(const std::vector<T>& list) {
    Value items = Value::List();
    for (const T& item : list) items.Add(Of(item));
    return items;
  }
  template <HasFields T>
  static Value Of(const T& value) {
    std::vector<Value::Member> members;
    std::apply([&](const auto&... field) { (Add(field.name, value.*field.member, members), ...); },
               kFields<T>);
    return Value::MapOf(std::move(members));
  }
  static Value Of(const Error& error) {
    std::vector<Value::Member> members;
    Add("code", error.code(), members);
    Add("message", error.message(), members);
    Add("frames", error.frames(), members);
    Add("position", error.position(), members);
    Add("native", error.native(), members);
    Add("hint", error.hint(), members);
    return Value::MapOf(std::move(members));
  }

 private:
  template <typename T>
  static void Add(const char* name, const T& value, std::vector<Value::Member>& members) {
    members.push_back({name, Of(value)});
  }
  template <typename T>
  static void Add(const char* name,
                  const std::optional<T>& value,
                  std::vector<Value::Member>& members) {
    if (value) members.push_back({name, Of(*value)});
  }
};

template <typename T>
struct Blank {
  static T Make() { return T{}; }
};
template <>
struct Blank<Error> {
  static Error Make() { return Error(ErrorCode::kInternal, ""); }
};
template <>
struct Blank<Problem> {
  static Problem Make() { return {"", Blank<Error>::Make()}; }
};

Error Not(std::string_view what) {
  return base::MakeError(ErrorCode::kInvalid, "it is not {}", what);
}

// The members of one map, each of which is asked for once.
class Members {
 public:
  explicit Members(const Value& map) : map_(map) {}

  // Keeps the first error.
  template <typename T>
  void Take(const char* name, T& value);
  template <typename T>
  void Take(const char* name, std::optional<T>& value);

  // After the last Take.
  [[nodiscard]] Result<void> End() &&;

 private:
  const Value* Find(const char* name) {
    names_.emplace_back(name);
    return error_ ? nullptr : map_.Find(name);
  }

  const Value& map_;
  std::vector<std::string_view> names_;
  std::optional<Error> error_;
};

struct Reader {
  static Result<void> Into(bool& to, const Value& from) {
    if (from.kind() != Value::Kind::kBool) return Not("true or false");
    to = from.AsBool();
    return {};
  }
  template <Number T>
  static Result<void> Into(T& to, const Value& from) {
    const bool is_signed = from.kind() == Value::Kind::kInteger;
    if (!is_signed && from.kind() != Value::Kind::kUnsigned) return Not("a whole number");
    const bool fits =
        is_signed ? std::in_range<T>(from.AsInteger()) : std::in_range<T>(from.AsUnsigned());
    if (!fits)
      return Not(fmt::format("a number from {} to {}", std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max()));
    to = is_signed ? static_cast<T>(from.AsInteger()) : static_cast<T>(from.AsUnsigned());
    return {};
  }
  template <Enum T>
  static Result<void> Into(T& to, const Value& from) {
    std::underlying_type_t<T> number = 0;
    TRY_VOID(Into(number, from));
    if (kLast<T> && number > static_cast<std::underlying_type_t<T>>(*kLast<T>))
      return Not("a choice that is known here");
    to = static_cast<T>(number);
    return {};
  }
  static Result<void> Into(std::string& to, const Value& from);
  template <typename Tag, typename T>
  static Result<void> Into(base::Strong<Tag, T>& to, const Value& from) {
    T value{};
    TRY_VOID(Into(value, from));
    to = base::Strong<Tag, T>(std::move(value));
    return {};
  }
  static Result<void> Into(PciAddress& to, const Value& from) {
    if (from.kind() != Value::Kind::kString) return Not("a PCI address");
    TRY(address, PciAddress::Parse(from.AsString()));
    to = address;
    return {};
  }
  template <typename T>
  static Result<void> Into(std::vector<T>& to, const Value& from) {
    if (from.kind() != Value::Kind::kList) return Not("a list");
    for (const Value& item : from.items()) {
      T value = Blank<T>::Make();
      TRY_VOID(Into(value, item), "item {}", to.size());
      to.push_back(std::move(value));
    }
    return {};
  }
  template <HasFields T>
  static Result<void> Into(T& to, const Value& from) {
    if (from.kind() != Value::Kind::kMap) return Not("a map");
    Members members(from);
    std::apply([&](const auto&... field) { (members.Take(field.name, to.*field.member), ...); },
               kFields<T>);
    return std::move(members).End();
  }
  static Result<void> Into(Error& to, const Value& from);
};

template <typename T>
void Members::Take(const char* name, T& value) {
  const Value* found = Find(name);
  if (error_) return;
  if (found == nullptr) {
    error_ = base::MakeError(ErrorCode::kInvalid, "{} is missing", name);
  } else if (Result<void> read = Reader::Into(value, *found); !read.ok()) {
    error_ = std::move(read).error().Within(name);
  }
}

template <typename T>
void Members::Take(const char* name, std::optional<T>& value) {
  const Value* found = Find(name);
  if (found == nullptr) return;
  T inner = Blank<T>::Make();
  if (Result<void> read = Reader::Into(inner, *found); read.ok()) {
    value = std::move(inner);
  } else {
    error_ = std::move(read).error().Within(name);
  }
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

Error OtherVersion(const Value& value) {
  const Value* version = value.Find("version");
  const bool number = version != nullptr && version->kind() == Value::Kind::kUnsigned;
  return base::MakeError(ErrorCode::kUnsupported, "an inventory of {}, and {} is known here",
                         number ? fmt::format("version {}", version->AsUnsigned()) : "no version",
                         kInventoryWireVersion)
      .WithHint("the agent and this command are of different versions: restart the agent");
}

}  // namespace

Value ToWire(const Inventory& inventory) {
  return Value::Map().Set("version", kInventoryWireVersion).Set("node", Writer::Of(inventory));
}

Result<Inventory> FromWire(const Value& value) {
  if (value.kind() != Value::Kind::kMap) return Not("a map").Within("inventory");
  const Value* version = value.Find("version");
  if (version == nullptr || *version != Value(kInventoryWireVersion)) return OtherVersion(value);
  std::uint64_t same = 0;
  Inventory inventory;
  Members members(value);
  members.Take("version", same);
  members.Take("node", inventory);
  TRY_VOID(std::move(members).End(), "inventory");
  return inventory;
}

}  // namespace partita::model
