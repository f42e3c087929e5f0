#include "sim/load/identity.h"

#include <array>

#include <fmt/core.h>

namespace partita::sim::load {
namespace {

// FNV-1a over the bytes, then the finisher of splitmix64: equal inputs, equal names, for ever.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view node, std::string_view what) {
    state_ ^= seed;
    Feed(node);
    Feed("\n");
    Feed(what);
  }

  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

 private:
  void Feed(std::string_view text) {
    for (const char byte : text) {
      state_ ^= static_cast<unsigned char>(byte);
      state_ *= 0x100000001B3;
    }
  }

  std::uint64_t state_ = 0xCBF29CE484222325;
};

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string DeriveUuid(std::uint64_t seed, std::string_view node, std::string_view what) {
  Stream stream(seed, node, what);
  const std::uint64_t high = (stream.Next() & ~0xF000ULL) | 0x4000ULL;
  const std::uint64_t low = (stream.Next() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFFFFFFFFFF);
}

std::string DeriveSerial(std::uint64_t seed, std::string_view node, std::string_view what) {
  Stream stream(seed, node, what);
  return fmt::format("16{:011}", stream.Next() % 100'000'000'000);
}

bool IsGpuUuid(std::string_view text) {
  constexpr std::string_view kShape = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == 'x' ? !IsLowerHex(text[i]) : text[i] != kShape[i]) return false;
  }
  return true;
}

}  // namespace partita::sim::load
