#include "sim/state/sha1.h"

#include <stdio.h>
#include <string.h>

namespace partita::sim {
namespace {

uint32_t Rotate(uint32_t value, uint32_t bits) { return (value << bits) | (value >> (32 - bits)); }

void Block(const uint8_t* block, uint32_t state[5]) {
  uint32_t w[80];
  for (size_t i = 0; i < 16; ++i) {
    w[i] = static_cast<uint32_t>(block[4 * i]) << 24 |
           static_cast<uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
  }
  for (uint32_t i = 16; i < 80; ++i) w[i] = Rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (uint32_t i = 0; i < 80; ++i) {
    uint32_t f = b ^ c ^ d, k = i < 40 ? 0x6ED9EBA1 : 0xCA62C1D6;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5A827999;
    } else if (i >= 40 && i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8F1BBCDC;
    }
    const uint32_t next = Rotate(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = Rotate(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

}  // namespace

void Sha1(const uint8_t* bytes, size_t size, uint8_t digest[20]) {
  uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  size_t done = 0;
  for (; size - done >= 64; done += 64) Block(bytes + done, state);
  uint8_t tail[128] = {};
  const size_t rest = size - done;
  memcpy(tail, bytes + done, rest);
  tail[rest] = 0x80;
  const size_t length = rest < 56 ? 64 : 128;
  const uint64_t bits = static_cast<uint64_t>(size) * 8;
  for (size_t i = 0; i < 8; ++i) tail[length - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  for (size_t i = 0; i < length; i += 64) Block(tail + i, state);
  for (size_t i = 0; i < 20; ++i) {
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
}

void NameBasedUuid(const char* name, uint8_t version, char* out) {
  uint8_t d[20];
  Sha1(static_cast<const uint8_t*>(static_cast<const void*>(name)), strlen(name), d);
  d[6] = static_cast<uint8_t>((d[6] & 0x0F) | (version << 4));
  d[8] = static_cast<uint8_t>((d[8] & 0x3F) | 0x80);
  snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0],
           d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14],
           d[15]);
}

}  // namespace partita::sim
