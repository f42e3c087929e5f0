// What every fuzz target is: one function over bytes that ends the process when something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"  // PARTITA_CHECK

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace partita::fuzz {

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace partita::fuzz
