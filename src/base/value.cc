#include "base/value.h"

#include <algorithm>

#include "base/result.h"

namespace partita::base {
namespace {

constexpr std::size_t kUsualMembers = 6;

}  // namespace

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

Value::Value(std::nullptr_t) {}
Value::Value(bool value) : state_(value) {}
Value::Value(double value) : state_(value) {}
Value::Value(std::string value) : state_(std::move(value)) {}
Value::Value(std::string_view value) : state_(std::string(value)) {}
Value::Value(const char* value) : state_(std::string(value)) {}
Value::Value(Signed number) : state_(number.value) {}
Value::Value(Unsigned number) : state_(number.value) {}

Value Value::List() {
  Value list;
  list.state_ = std::vector<Value>();
  return list;
}

Value Value::Map() {
  Value map;
  map.state_ = std::vector<Member>();
  return map;
}

Value Value::MapOf(std::vector<Member> members) {
  Value map;
  map.state_ = std::move(members);
  return map;
}

Value& Value::Add(Value value) {
  auto* items = std::get_if<std::vector<Value>>(&state_);
  PARTITA_CHECK(items != nullptr);
  items->push_back(std::move(value));
  return *this;
}

Value& Value::Set(std::string key, Value value) {
  auto* members = std::get_if<std::vector<Member>>(&state_);
  PARTITA_CHECK(members != nullptr);
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const Member& member) { return member.key == key; });
  if (found != members->end()) {
    found->value = std::move(value);
  } else {
    // Most maps have a few: they are not moved once for each doubling.
    if (members->empty()) members->reserve(kUsualMembers);
    members->push_back({std::move(key), std::move(value)});
  }
  return *this;
}

Value::Kind Value::kind() const { return static_cast<Kind>(state_.index()); }

namespace {

template <typename T, typename State>
const T& Expect(const State& state) {
  const T* value = std::get_if<T>(&state);
  PARTITA_CHECK(value != nullptr);
  return *value;
}

}  // namespace

bool Value::AsBool() const { return Expect<bool>(state_); }
std::int64_t Value::AsInteger() const { return Expect<std::int64_t>(state_); }
std::uint64_t Value::AsUnsigned() const { return Expect<std::uint64_t>(state_); }
double Value::AsDouble() const { return Expect<double>(state_); }
const std::string& Value::AsString() const { return Expect<std::string>(state_); }
const std::vector<Value>& Value::items() const { return Expect<std::vector<Value>>(state_); }
const std::vector<Value::Member>& Value::members() const {
  return Expect<std::vector<Member>>(state_);
}

const Value* Value::Find(std::string_view key) const {
  const auto* members = std::get_if<std::vector<Member>>(&state_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

bool Value::operator==(const Value& other) const { return state_ == other.state_; }

}  // namespace partita::base
