#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>  // core.h alone declares the formatters of numbers and links nowhere

namespace partita::base {

// A value that only mixes with its own kind: `using GpuIndex = Strong<struct GpuIndexTag,
// uint32_t>`.
template <typename Tag, typename T>
class Strong {
 public:
  using ValueType = T;
  Strong() = default;
  explicit Strong(T value) : value_(std::move(value)) {}
  [[nodiscard]] const T& value() const { return value_; }
  auto operator<=>(const Strong&) const = default;

 private:
  T value_{};
};

}  // namespace partita::base

template <typename Tag, typename T>
struct std::hash<partita::base::Strong<Tag, T>> {
  std::size_t operator()(const partita::base::Strong<Tag, T>& strong) const {
    return std::hash<T>()(strong.value());
  }
};

template <typename Tag, typename T>
struct fmt::formatter<partita::base::Strong<Tag, T>> : fmt::formatter<T> {
  template <typename Context>
  auto format(const partita::base::Strong<Tag, T>& strong, Context& context) const {
    return fmt::formatter<T>::format(strong.value(), context);
  }
};
