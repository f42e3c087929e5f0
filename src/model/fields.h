// Structs as tables of their fields, for whoever goes through all of them. A field that is missing
// in a table does not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

namespace partita::model {

template <typename Struct, typename Member>
struct Field {
  const char* name;
  Member Struct::*member;
};
template <typename Struct, typename Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;

// Specialized for each struct: calls what it is given with all of its fields. Not a tuple: to
// instantiate those took gcc seconds in each batch.
template <typename Struct>
inline constexpr int kFields = 0;

template <typename T>
concept HasFields = !std::same_as<decltype(kFields<T>), const int>;

namespace fields_detail {

// Initializes anything, to count how many initializers an aggregate takes. Const: otherwise an
// optional could not choose between this and its own constructor.
struct Anything {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <std::size_t>
using AnythingAt = Anything;

template <typename T, std::size_t... I>
constexpr bool Takes(std::index_sequence<I...>) {
  return requires { T{AnythingAt<I>()...}; };
}

template <typename T, std::size_t Count>
constexpr bool HasExactly() {
  return Takes<T>(std::make_index_sequence<Count>()) &&
         !Takes<T>(std::make_index_sequence<Count + 1>());
}

inline constexpr auto kCount = [](const auto&... field) { return sizeof...(field); };

}  // namespace fields_detail

}  // namespace partita::model

// In namespace partita::model, with F for each field.
#define PARTITA_FIELDS(Struct, ...)                                                          \
  template <>                                                                                \
  inline constexpr auto kFields<Struct> = [](auto&& with) {                                  \
    using S = Struct;                                                                        \
    return with(__VA_ARGS__);                                                                \
  };                                                                                         \
  static_assert(fields_detail::HasExactly<Struct, kFields<Struct>(fields_detail::kCount)>(), \
                "a field of " #Struct " is not in its table")
#define PARTITA_FIELD(name) \
  Field { #name, &S::name }
