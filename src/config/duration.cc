#include "config/duration.h"

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace partita::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// Those that others begin with come last.
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\u00b5s", 1'000},  // the micro sign
                                         {"\u03bcs", 1'000},  // the Greek letter
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

const Unit* TakeUnit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

std::string_view TakeDigits(std::string_view& text) {
  const std::size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// The digits behind the point, in nanoseconds of the unit; finer ones are cut off.
std::int64_t FractionOf(std::string_view digits, std::int64_t nanoseconds) {
  std::int64_t sum = 0;
  for (const char digit : digits) {
    nanoseconds /= 10;
    sum += (digit - '0') * nanoseconds;
  }
  return sum;
}

// "1.5h" from the front of the text.
std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const Unit* unit = TakeUnit(text);
  const std::optional<std::int64_t> number = whole.empty() ? 0 : base::ParseInteger(whole);
  if (unit == nullptr || !number || *number > kMost / unit->nanoseconds - 1) return std::nullopt;
  return *number * unit->nanoseconds + FractionOf(fraction, unit->nanoseconds);
}

}  // namespace

std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  std::int64_t sum = 0;
  while (!text.empty()) {
    const std::optional<std::int64_t> number = TakeNumber(text);
    if (!number || *number > kMost - sum) return std::nullopt;
    sum += *number;
  }
  return std::chrono::nanoseconds(sum);
}

}  // namespace partita::config
