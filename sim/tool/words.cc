#include "sim/tool/words.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {
namespace {

constexpr std::array kComputeModes = {Word{"default", 0}, Word{"exclusive-thread", 1},
                                      Word{"prohibited", 2}, Word{"exclusive-process", 3}};
constexpr std::array kRecoveryActions = {
    Word{"none", 0},      Word{"gpu-reset", 1},       Word{"node-reboot", 2},
    Word{"drain-p2p", 3}, Word{"drain-and-reset", 4}, Word{"recover-imex", 5}};
constexpr std::array kPciDrivers = {Word{"nvidia", 0}, Word{"vfio", 1}, Word{"unbound", 2}};
constexpr std::array kTimeslices = {Word{"default", 0}, Word{"short", 1}, Word{"medium", 2},
                                    Word{"long", 3}};
constexpr std::array kHolderKinds = {Word{"compute", 0}, Word{"graphics", 1}, Word{"mps", 2}};
constexpr std::array kSwitches = {Word{"off", 0},   Word{"on", 1},   Word{"no", 0}, Word{"yes", 1},
                                  Word{"false", 0}, Word{"true", 1}, Word{"0", 0},  Word{"1", 1}};
constexpr std::array kNvmlErrors = {
    Word{"SUCCESS", 0},
    Word{"UNINITIALIZED", 1},
    Word{"INVALID_ARGUMENT", 2},
    Word{"NOT_SUPPORTED", 3},
    Word{"NO_PERMISSION", 4},
    Word{"ALREADY_INITIALIZED", 5},
    Word{"NOT_FOUND", 6},
    Word{"INSUFFICIENT_SIZE", 7},
    Word{"INSUFFICIENT_POWER", 8},
    Word{"DRIVER_NOT_LOADED", 9},
    Word{"TIMEOUT", 10},
    Word{"IRQ_ISSUE", 11},
    Word{"LIBRARY_NOT_FOUND", 12},
    Word{"FUNCTION_NOT_FOUND", 13},
    Word{"CORRUPTED_INFOROM", 14},
    Word{"GPU_IS_LOST", 15},
    Word{"RESET_REQUIRED", 16},
    Word{"OPERATING_SYSTEM", 17},
    Word{"LIB_RM_VERSION_MISMATCH", 18},
    Word{"IN_USE", 19},
    Word{"MEMORY", 20},
    Word{"NO_DATA", 21},
    Word{"VGPU_ECC_NOT_SUPPORTED", 22},
    Word{"INSUFFICIENT_RESOURCES", 23},
    Word{"FREQ_NOT_SUPPORTED", 24},
    Word{"ARGUMENT_VERSION_MISMATCH", 25},
    Word{"DEPRECATED", 26},
    Word{"NOT_READY", 27},
    Word{"GPU_NOT_FOUND", 28},
    Word{"INVALID_STATE", 29},
    Word{"RESET_TYPE_NOT_SUPPORTED", 30},
    Word{"UNKNOWN", 999},
};

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array kUnits = {Unit{"ns", 1},
                               Unit{"us", 1'000},
                               Unit{"ms", 1'000'000},
                               Unit{"s", 1'000'000'000},
                               Unit{"m", 60'000'000'000},
                               Unit{"h", 3'600'000'000'000},
                               Unit{"d", 86'400'000'000'000}};
// A hundred years: sums of such steps stay far below what the clock can hold.
constexpr std::uint64_t kLongest = 36'525ULL * 86'400'000'000'000;

base::Error NotADuration(std::string_view text) {
  return base::MakeError(base::ErrorCode::kInvalid, "not a duration: {}", base::Quoted(text))
      .WithHint("write 90s, 1h30m, 250ms or 2d, at most a hundred years");
}

}  // namespace

std::span<const Word> ComputeModeWords() { return kComputeModes; }
std::span<const Word> RecoveryActionWords() { return kRecoveryActions; }
std::span<const Word> PciDriverWords() { return kPciDrivers; }
std::span<const Word> TimesliceWords() { return kTimeslices; }
std::span<const Word> HolderKindWords() { return kHolderKinds; }
std::span<const Word> SwitchWords() { return kSwitches; }
std::span<const Word> NvmlErrorWords() { return kNvmlErrors; }

std::string WordFor(std::span<const Word> words, std::uint32_t value) {
  const auto found = std::ranges::find(words, value, &Word::value);
  return found == words.end() ? std::to_string(value) : std::string(found->text);
}

std::vector<std::string> Texts(std::span<const Word> words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.emplace_back(word.text);
  return texts;
}

base::Result<std::uint32_t> ParseWord(std::span<const Word> words, std::string_view text) {
  const auto found = std::ranges::find(words, text, &Word::text);
  if (found != words.end()) return found->value;
  const std::vector<std::string> known = Texts(words);
  const std::string near = base::DidYouMean(text, known);
  return base::MakeError(base::ErrorCode::kInvalid, "unknown value {}", base::Quoted(text))
      .WithHint(near.empty() ? "known are " + base::JoinWithOr(known)
                             : "did you mean " + base::Quoted(near) + "?");
}

base::Result<std::uint64_t> ParseDuration(std::string_view text) {
  std::uint64_t total = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto number = base::ParseUnsigned(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const std::string_view unit = rest.substr(0, rest.find_first_of("0123456789"));
    rest.remove_prefix(unit.size());
    const auto found = std::ranges::find(kUnits, unit, &Unit::name);
    if (!number || found == kUnits.end() || *number > kLongest / found->nanoseconds) {
      return NotADuration(text);
    }
    total += *number * found->nanoseconds;
    if (total > kLongest) return NotADuration(text);
  }
  if (text.empty()) return NotADuration(text);
  return total;
}

std::string FormatTime(std::uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ns / 1'000'000 % 1000);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr double kGiB = 1073741824.0, kMiB = 1048576.0;
  const auto amount = static_cast<double>(bytes);
  return amount >= kGiB ? fmt::format("{:.1f} GiB", amount / kGiB)
                        : fmt::format("{:.0f} MiB", amount / kMiB);
}

}  // namespace partita::sim::tool
