// Words for the numbers of the state, the same when shown and when read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::sim::tool {

struct Word {
  std::string_view text;
  std::uint32_t value;
};

[[nodiscard]] std::span<const Word> ComputeModeWords();     // nvmlComputeMode_t
[[nodiscard]] std::span<const Word> RecoveryActionWords();  // field 230
[[nodiscard]] std::span<const Word> PciDriverWords();       // PciDriver
[[nodiscard]] std::span<const Word> TimesliceWords();
[[nodiscard]] std::span<const Word> HolderKindWords();  // HolderKind
[[nodiscard]] std::span<const Word> SwitchWords();      // on, off and their likes
// "NOT_SUPPORTED" for 3, without "NVML_ERROR_".
[[nodiscard]] std::span<const Word> NvmlErrorWords();

// The word for a value; the number itself when there is none.
[[nodiscard]] std::string WordFor(std::span<const Word> words, std::uint32_t value);
// kInvalid with the known words and the nearest.
[[nodiscard]] base::Result<std::uint32_t> ParseWord(std::span<const Word> words,
                                                    std::string_view text);
[[nodiscard]] std::vector<std::string> Texts(std::span<const Word> words);

// "90s", "1h30m", "250ms", "2d": nanoseconds. kInvalid for anything else.
[[nodiscard]] base::Result<std::uint64_t> ParseDuration(std::string_view text);
// "2026-01-01T00:00:00.000Z" of nanoseconds since the epoch.
[[nodiscard]] std::string FormatTime(std::uint64_t ns);
// "4.0 GiB"
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);

}  // namespace partita::sim::tool
