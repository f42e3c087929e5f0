// How values travel between programs of one version: every field of a struct by its table
// (fields.h), so that what is read back equals what was written, also through JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "base/strong.h"
#include "base/value.h"
#include "model/fields.h"
#include "model/ids.h"

namespace partita::model {

#define F PARTITA_FIELD
PARTITA_FIELDS(base::SourcePosition, F(file), F(line), F(column));
PARTITA_FIELDS(base::NativeCode, F(kind), F(value));
#undef F

namespace wire {

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
inline constexpr std::optional<T> kLast = std::nullopt;
template <>
inline constexpr std::optional<ErrorCode> kLast<ErrorCode> = ErrorCode::kResetRequired;
template <>
inline constexpr std::optional<base::NativeKind> kLast<base::NativeKind> = base::NativeKind::kNvml;

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
  static Value Of(const std::string& text);
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
    kFields<T>([&](const auto&... field) { (Add(field.name, value.*field.member, members), ...); });
    return Value::MapOf(std::move(members));
  }
  template <typename T>
  static Value Of(const std::set<T>& set) {
    Value items = Value::List();
    for (const T& item : set) items.Add(Of(item));
    return items;
  }
  // A list of pairs: keys may be any bytes.
  static Value Of(const std::map<std::string, std::string>& map) {
    Value items = Value::List();
    for (const auto& [key, value] : map) items.Add(Value::List().Add(Of(key)).Add(Of(value)));
    return items;
  }
  template <HasFields K>
  static Value Of(const std::map<K, std::string>& map) {
    Value items = Value::List();
    for (const auto& [key, value] : map) items.Add(Value::List().Add(Of(key)).Add(Of(value)));
    return items;
  }
  static Value Of(const Error& error);

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

// For structs that have no default: one to read into.
template <typename T>
struct Blank {
  static T Make() { return T{}; }
};
template <>
struct Blank<Error> {
  static Error Make() { return Error(ErrorCode::kInternal, ""); }
};

[[nodiscard]] Error Not(std::string_view what);
[[nodiscard]] Error AtItem(std::size_t index, Error error);

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
  // Null after an error, and where there is none of the name: an error, where one is required.
  const Value* Find(const char* name);
  const Value* Require(const char* name);
  void Keep(const char* name, Result<void> read);

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
      if (Result<void> read = Into(value, item); !read.ok())
        return AtItem(to.size(), std::move(read).error());
      to.push_back(std::move(value));
    }
    return {};
  }
  template <typename T>
  static Result<void> Into(std::set<T>& to, const Value& from) {
    std::vector<T> items;
    TRY_VOID(Into(items, from));
    for (T& item : items) to.insert(std::move(item));
    return {};
  }
  static Result<void> Into(std::map<std::string, std::string>& to, const Value& from);
  template <HasFields K>
  static Result<void> Into(std::map<K, std::string>& to, const Value& from) {
    if (from.kind() != Value::Kind::kList) return Not("a list");
    for (const Value& item : from.items()) {
      if (item.kind() != Value::Kind::kList || item.items().size() != 2) return Not("a pair");
      K key = Blank<K>::Make();
      std::string value;
      TRY_VOID(Into(key, item.items()[0]), "key");
      TRY_VOID(Into(value, item.items()[1]), "value");
      to.emplace(std::move(key), std::move(value));
    }
    return {};
  }
  template <HasFields T>
  static Result<void> Into(T& to, const Value& from) {
    if (from.kind() != Value::Kind::kMap) return Not("a map");
    Members members(from);
    kFields<T>([&](const auto&... field) { (members.Take(field.name, to.*field.member), ...); });
    return std::move(members).End();
  }
  static Result<void> Into(Error& to, const Value& from);
};

// Only what depends on the type is here: of each of these there are hundreds.
template <typename T>
void Members::Take(const char* name, T& value) {
  if (const Value* found = Require(name)) Keep(name, Reader::Into(value, *found));
}

template <typename T>
void Members::Take(const char* name, std::optional<T>& value) {
  const Value* found = Find(name);
  if (found == nullptr) return;
  T inner = Blank<T>::Make();
  Result<void> read = Reader::Into(inner, *found);
  if (read.ok()) value = std::move(inner);
  Keep(name, std::move(read));
}

// An envelope with the version in it: programs of two versions must not guess.
struct Envelope {
  std::string_view what;  // "an inventory"
  std::uint64_t version = 1;
  const char* member = "";  // under which the value is
};
template <typename T>
[[nodiscard]] Value Enclose(const Envelope& envelope, const T& value) {
  return Value::Map().Set("version", envelope.version).Set(envelope.member, Writer::Of(value));
}
// kUnsupported: of another version.
[[nodiscard]] Result<void> CheckVersion(const Envelope& envelope, const Value& from);
// Or kInvalid, with the place: a field that is missing, unknown or of another type.
template <typename T>
[[nodiscard]] Result<T> Open(const Envelope& envelope, const char* name, const Value& from) {
  if (from.kind() != Value::Kind::kMap) return Not("a map").Within(name);
  TRY_VOID(CheckVersion(envelope, from));
  std::uint64_t same = 0;
  T value = Blank<T>::Make();
  Members members(from);
  members.Take("version", same);
  members.Take(envelope.member, value);
  TRY_VOID(std::move(members).End(), "{}", name);
  return value;
}

}  // namespace wire
}  // namespace partita::model
