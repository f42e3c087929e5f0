// A document on its way out: built in order, rendered as JSON or YAML in that order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace partita::base {

class Value {
 public:
  enum class Kind : std::uint8_t {
    kNull,
    kBool,
    kInteger,   // negative or signed
    kUnsigned,  // every other whole number
    kDouble,
    kString,
    kList,
    kMap,
  };
  struct Member;

  Value();  // null
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  // NOLINTBEGIN(google-explicit-constructor): `map.Set("gpus", 8)` is the point.
  Value(std::nullptr_t);
  Value(bool value);
  template <std::signed_integral T>
  Value(T value) : Value(Signed{static_cast<std::int64_t>(value)}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Value(T value)
      : Value(Unsigned{static_cast<std::uint64_t>(value)}) {}
  Value(double value);
  Value(std::string value);
  Value(std::string_view value);
  Value(const char* value);
  // NOLINTEND(google-explicit-constructor)

  static Value List();
  static Value Map();
  // With these members, whose keys differ.
  static Value MapOf(std::vector<Member> members);

  // Appends to a list. Returns this list, for chaining.
  Value& Add(Value value);
  // Sets a member of a map; a key that is there keeps its place. Returns this map, for chaining.
  Value& Set(std::string key, Value value);

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool IsNull() const { return kind() == Kind::kNull; }

  // Each ends the process when the value is of another kind; ask kind() first.
  [[nodiscard]] bool AsBool() const;
  [[nodiscard]] std::int64_t AsInteger() const;
  [[nodiscard]] std::uint64_t AsUnsigned() const;
  [[nodiscard]] double AsDouble() const;
  [[nodiscard]] const std::string& AsString() const;
  [[nodiscard]] const std::vector<Value>& items() const;
  [[nodiscard]] const std::vector<Member>& members() const;

  // The member of a map, or null when there is none (or this is no map).
  [[nodiscard]] const Value* Find(std::string_view key) const;

  bool operator==(const Value& other) const;

 private:
  struct Signed {
    std::int64_t value;
  };
  struct Unsigned {
    std::uint64_t value;
  };
  explicit Value(Signed number);
  explicit Value(Unsigned number);

  // Defined out of line only: Member is incomplete here.
  std::variant<std::monostate,
               bool,
               std::int64_t,
               std::uint64_t,
               double,
               std::string,
               std::vector<Value>,
               std::vector<Member>>
      state_;
};

struct Value::Member {
  std::string key;
  Value value;
  bool operator==(const Member&) const = default;
};

// Two spaces a level, a newline at the end. Bytes that are not UTF-8 become U+FFFD; a double that
// is not finite becomes null.
[[nodiscard]] std::string ToJson(const Value& value);
// The same on one line, without a newline.
[[nodiscard]] std::string ToJsonLine(const Value& value);
// Block style; strings are quoted only where YAML would read something else.
[[nodiscard]] std::string ToYaml(const Value& value);
// The same with the indentation of go-yaml 3, for files that stand beside those of Go programs.
[[nodiscard]] std::string ToGoYaml(const Value& value);
// `"text"` with JSON's escapes.
[[nodiscard]] std::string JsonString(std::string_view text);

}  // namespace partita::base
