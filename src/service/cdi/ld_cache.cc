#include "service/cdi/ld_cache.h"

#include <cstdint>
#include <optional>

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;

// glibc's sysdeps/generic/dl-cache.h. Numbers are of the machine that wrote the file; both of ours
// are little-endian.
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kOldHeader = 16, kOldEntry = 12, kOldCount = 12;
constexpr std::size_t kNewHeader = 48, kNewEntry = 24, kNewCount = 20, kNewTextBytes = 24;
constexpr std::size_t kEndianByte = 28;
constexpr std::size_t kAlignment = 8;  // of the new header behind old entries

constexpr std::uint32_t kTypeElf = 0x0001;
constexpr std::uint32_t kArchitectureMask = 0xff00;

struct Architecture {
  std::uint32_t flags;
  bool elf64;
};
constexpr Architecture kArchitectures[] = {
    {0x0300, true},   // x86-64
    {0x0a00, true},   // aarch64
    {0x0000, false},  // i386
    {0x0800, false},  // x32
    {0x0900, false},  // armhf
};

std::optional<bool> IsElf64(std::uint32_t flags) {
  if ((flags & kTypeElf) == 0) return std::nullopt;
  for (const Architecture& each : kArchitectures) {
    if ((flags & kArchitectureMask) == each.flags) return each.elf64;
  }
  return std::nullopt;
}

// The four bytes at `at`, which the caller knows to be there.
std::uint32_t Number(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) {
    number = number << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return number;
}

base::Error Bad(std::string_view why) {
  return base::MakeError(ErrorCode::kInvalid, "not a cache of the loader: {}", why);
}

// What is behind the old header and its entries; all of the file when it has none.
Result<std::string_view> NewPart(std::string_view bytes) {
  if (!bytes.starts_with(kOldMagic)) return bytes;
  if (bytes.size() < kOldHeader) return Bad("it ends in its header");
  const std::size_t entries = std::size_t{Number(bytes, kOldCount)} * kOldEntry;
  const std::size_t end = kOldHeader + entries;
  const std::size_t aligned = (end + kAlignment - 1) / kAlignment * kAlignment;
  if (aligned > bytes.size()) return Bad("it ends among the entries of its older part");
  return bytes.substr(aligned);
}

Result<std::string_view> TextAt(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return Bad("a name lies outside of the file");
  const std::size_t end = bytes.find('\0', at);
  if (end == std::string_view::npos) return Bad("a name does not end");
  return bytes.substr(at, end - at);
}

}  // namespace

Result<std::vector<CachedLibrary>> ParseLdCache(std::string_view bytes) {
  TRY(part, NewPart(bytes));
  if (!part.starts_with(kNewMagic)) return Bad("its first bytes are others");
  if (part.size() < kNewHeader) return Bad("it ends in its header");
  // 0: not said; 2: little. A cache of the other kind is never for this machine.
  const unsigned endian = static_cast<std::uint8_t>(part[kEndianByte]) & 3U;
  if (endian == 1 || endian == 3) return Bad("it was written for another machine");
  const std::size_t count = Number(part, kNewCount);
  const std::size_t texts = kNewHeader + count * kNewEntry;
  if (texts + Number(part, kNewTextBytes) > part.size()) return Bad("it ends too early");

  std::vector<CachedLibrary> libraries;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kNewHeader + i * kNewEntry;
    const std::optional<bool> elf64 = IsElf64(Number(part, at));
    if (!elf64) continue;
    TRY(name, TextAt(part, Number(part, at + 4)));
    TRY(path, TextAt(part, Number(part, at + 8)));
    if (name.empty() || path.empty()) continue;
    libraries.push_back({std::string(name), std::string(path), *elf64});
  }
  return libraries;
}

}  // namespace partita::service::cdi
