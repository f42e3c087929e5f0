// Values without a default in them, to see that all of a struct is carried.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/inventory_codec.h"

namespace partita::model::testing {

// Gives every field of a struct, and of those in it, a value that is neither its default nor that
// of a neighbour. The tables are complete (fields.h), so this is.
class Filler {
 public:
  template <HasFields T>
  void Fill(T& value) {
    kFields<T>([&](const auto&... field) { (Fill(value.*field.member), ...); });
  }
  void Fill(bool& value) { value = !value; }
  template <std::integral T>
  void Fill(T& value) {
    value = static_cast<T>(++last_);
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Fill(T& value) { value = static_cast<T>(1); }
  void Fill(std::string& value) { value = fmt::format("text {}", ++last_); }
  template <typename Tag, typename T>
  void Fill(base::Strong<Tag, T>& value) {
    T inner{};
    Fill(inner);
    value = base::Strong<Tag, T>(inner);
  }
  void Fill(PciAddress& value) { value = {++last_, 0xFE, 31, 7}; }
  void Fill(base::Error& value) {
    base::NativeCode native{};
    base::SourcePosition position;
    Fill(native);
    Fill(position);
    value = base::Error(base::ErrorCode::kResetRequired, fmt::format("message {}", ++last_))
                .Within("inner")
                .Within("outer")
                .At(position)
                .WithNative(native)
                .WithHint("one\ntwo");
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    value.emplace(wire::Blank<T>::Make());
    Fill(*value);
  }
  template <typename T>
  void Fill(std::vector<T>& value) {
    for (int i = 0; i < 2; ++i) Fill(value.emplace_back(wire::Blank<T>::Make()));
  }
  template <typename T>
  void Fill(std::set<T>& value) {
    for (int i = 0; i < 2; ++i) {
      T item{};
      Fill(item);
      value.insert(std::move(item));
    }
  }
  void Fill(std::map<std::string, std::string>& value) {
    for (int i = 0; i < 2; ++i) {
      std::string key, text;
      Fill(key);
      Fill(text);
      value[key] = text;
    }
  }
  template <HasFields K>
  void Fill(std::map<K, std::string>& value) {
    for (int i = 0; i < 2; ++i) {
      K key{};
      Fill(key);
      Fill(value[key]);
    }
  }

 private:
  std::uint32_t last_ = 0;
};

}  // namespace partita::model::testing
