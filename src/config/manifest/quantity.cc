#include "config/manifest/quantity.h"

#include <array>
#include <limits>
#include <string>

#include "base/text.h"

namespace partita::config {
namespace {

struct Suffix {
  std::string_view text;
  int decimal;  // exponent of ten
  int binary;   // exponent of two
};
constexpr std::array kSuffixes = {
    Suffix{"", 0, 0},    Suffix{"n", -9, 0},  Suffix{"u", -6, 0},  Suffix{"m", -3, 0},
    Suffix{"k", 3, 0},   Suffix{"M", 6, 0},   Suffix{"G", 9, 0},   Suffix{"T", 12, 0},
    Suffix{"P", 15, 0},  Suffix{"E", 18, 0},  Suffix{"Ki", 0, 10}, Suffix{"Mi", 0, 20},
    Suffix{"Gi", 0, 30}, Suffix{"Ti", 0, 40}, Suffix{"Pi", 0, 50}, Suffix{"Ei", 0, 60},
};
// More digits than that are beyond the 64 bits or finer than a billionth.
constexpr int kMostExponent = 40;

std::optional<Suffix> ReadSuffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.text == text) return suffix;
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::optional<std::uint64_t> exponent = base::ParseUnsigned(text);
  if (!exponent || *exponent > kMostExponent) return std::nullopt;
  return Suffix{"", negative ? -static_cast<int>(*exponent) : static_cast<int>(*exponent), 0};
}

bool MultiplyBy(std::uint64_t factor, std::uint64_t& number) {
  if (number > std::numeric_limits<std::uint64_t>::max() / factor) return false;
  number *= factor;
  return true;
}

}  // namespace

std::optional<Quantity> ParseQuantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const std::optional<Suffix> suffix = ReadSuffix(text.substr(end));
  const std::size_t dot = std::min(number.find('.'), number.size());
  std::string_view fraction = number.substr(std::min(dot + 1, number.size()));
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  const std::string digits = std::string(number.substr(0, dot)) + std::string(fraction);
  if (!suffix || number.empty() || number == ".") return std::nullopt;
  const std::optional<std::uint64_t> value = digits.empty() ? 0 : base::ParseUnsigned(digits);
  if (!value) return std::nullopt;
  Quantity quantity{true, *value};
  if (*value == 0) return quantity;
  int exponent = suffix->decimal - static_cast<int>(fraction.size());
  if (!MultiplyBy(std::uint64_t{1} << suffix->binary, quantity.count)) return std::nullopt;
  for (; exponent > 0; --exponent)
    if (!MultiplyBy(10, quantity.count)) return std::nullopt;
  for (; exponent < 0; ++exponent) {
    if (quantity.count % 10 != 0) return Quantity{};
    quantity.count /= 10;
  }
  return quantity;
}

}  // namespace partita::config
