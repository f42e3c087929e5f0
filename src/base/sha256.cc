#include "base/sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace partita::base {

namespace {

constexpr std::size_t kBlock = 64;

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

std::array<std::uint32_t, 64> Schedule(std::string_view block) {
  std::array<std::uint32_t, 64> words;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (std::size_t i = 0; i < 16; ++i) {
    std::array<unsigned char, 4> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::memcpy(bytes.data(), block.data() + 4 * i, bytes.size());
    words[i] = std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
               std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    const std::uint32_t a = words[i - 15];
    const std::uint32_t b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  return words;
}

void Mix(std::string_view block, State& state) {
  const std::array<std::uint32_t, 64> words = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  using Word = std::uint32_t;
  // Eight rounds turn the names once around: no word is moved.
  const auto round = [&](Word p, Word q, Word r, Word& s, Word t, Word u, Word v, Word& w,
                         std::size_t i) {
    w += (std::rotr(t, 6) ^ std::rotr(t, 11) ^ std::rotr(t, 25)) + ((t & u) ^ (~t & v)) +
         kRound[i] + words[i];
    s += w;
    w += (std::rotr(p, 2) ^ std::rotr(p, 13) ^ std::rotr(p, 22)) + ((p & q) ^ (p & r) ^ (q & r));
  };
  for (std::size_t i = 0; i < words.size(); i += 8) {
    round(a, b, c, d, e, f, g, h, i);
    round(h, a, b, c, d, e, f, g, i + 1);
    round(g, h, a, b, c, d, e, f, i + 2);
    round(f, g, h, a, b, c, d, e, i + 3);
    round(e, f, g, h, a, b, c, d, i + 4);
    round(d, e, f, g, h, a, b, c, i + 5);
    round(c, d, e, f, g, h, a, b, i + 6);
    round(b, c, d, e, f, g, h, a, i + 7);
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::size_t whole = bytes.size() - bytes.size() % kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) Mix(bytes.substr(at, kBlock), state);
  // The rest, a one bit, zeros, and the length in bits.
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  while (tail.size() % kBlock != kBlock - 8) tail += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>((bits >> shift) & 0xFF);
  for (std::size_t at = 0; at < tail.size(); at += kBlock) {
    Mix(std::string_view(tail).substr(at, kBlock), state);
  }
  std::string text;
  for (const std::uint32_t word : state) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace partita::base
