// SHA-256 (FIPS 180-4), for checksums of our own files.
#pragma once

#include <string>
#include <string_view>

namespace partita::base {

// As 64 lower-case hexadecimal digits.
[[nodiscard]] std::string Sha256Hex(std::string_view bytes);

}  // namespace partita::base
