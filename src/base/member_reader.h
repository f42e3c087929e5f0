// Members of a map that must be there with their kind, for records that a program wrote itself: one
// that is not as it was written is refused as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/value.h"

namespace partita::base {

// The key of the first member that is wrong is remembered; reading goes on with nothing.
class MemberReader {
 public:
  // Both outlive this. `wrong` is empty until something is; several readers may have one.
  MemberReader(const Value& map, std::string& wrong) : map_(map), wrong_(wrong) {}

  [[nodiscard]] bool Has(std::string_view key) const { return map_.Find(key) != nullptr; }
  // Null where it is absent, or of another kind.
  [[nodiscard]] const Value* Find(std::string_view key, Value::Kind kind) const {
    const Value* member = map_.Find(key);
    if (member != nullptr && member->kind() == kind) return member;
    Wrong(key);
    return nullptr;
  }
  [[nodiscard]] std::uint64_t Number(
      std::string_view key, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    const Value* member = Find(key, Value::Kind::kUnsigned);
    if (member == nullptr) return 0;
    if (member->AsUnsigned() <= most) return member->AsUnsigned();
    Wrong(key);
    return 0;
  }
  [[nodiscard]] std::string Text(std::string_view key) const {
    const Value* member = Find(key, Value::Kind::kString);
    return member == nullptr ? "" : member->AsString();
  }
  [[nodiscard]] bool Flag(std::string_view key) const {
    const Value* member = Find(key, Value::Kind::kBool);
    return member != nullptr && member->AsBool();
  }
  // Which of them it is.
  template <std::size_t n>
  [[nodiscard]] std::size_t Word(std::string_view key,
                                 const std::array<std::string_view, n>& words) const {
    const std::string word = Text(key);
    for (std::size_t i = 0; i < n; ++i)
      if (words.at(i) == word) return i;
    Wrong(key);
    return 0;
  }
  // For what only the caller can judge.
  void Wrong(std::string_view key) const {
    if (wrong_.empty()) wrong_ = std::string(key);
  }

 private:
  const Value& map_;
  std::string& wrong_;
};

}  // namespace partita::base
