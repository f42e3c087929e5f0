// SHA-1, for name-based UUIDs only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace partita::sim {

void Sha1(const uint8_t* bytes, size_t size, uint8_t digest[20]);

// A UUID of the given version over `name`, as 36 characters and NUL.
void NameBasedUuid(const char* name, uint8_t version, char* out);

}  // namespace partita::sim
