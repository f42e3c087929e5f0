// What every fuzz target is: one function over bytes that ends the process when something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"  // PARTITA_CHECK

// FUZZ_TARGET(name) { … }: what is done with `data`, `size`. libFuzzer has a program for each;
// fuzz_replay has all.
#ifdef PARTITA_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name)                                              \
  static int Fuzz_##name(const std::uint8_t* data, std::size_t size);  \
  static const partita::fuzz::Known known_##name(#name, &Fuzz_##name); \
  static int Fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif

namespace partita::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

struct Known {
  Known(const char* name, Target target);
};

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace partita::fuzz
