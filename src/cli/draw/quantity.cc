#include "cli/draw/quantity.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace partita::cli {

namespace {
constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
}  // namespace

std::string InGibibytes(model::Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes.value()) / static_cast<double>(kGibi));
}

std::string WithUnit(model::Bytes bytes) {
  // From half a MiB below, the rounded number would be "1024 MiB".
  if (bytes.value() + kMebi / 2 >= kGibi) return InGibibytes(bytes) + " GiB";
  return fmt::format("{} MiB", (bytes.value() + kMebi / 2) / kMebi);
}

std::string UsedOfTotal(const model::Memory& memory) {
  std::string used = InGibibytes(memory.used);
  if (used == "0.0" && memory.used.value() > 0) used = "<0.1";
  return fmt::format("{}/{}", used, InGibibytes(memory.total));
}

std::string InWatts(model::Milliwatts power) {
  return fmt::format("{}", (std::uint64_t{power.value()} + 500) / 1000);
}

std::string InAge(std::uint64_t seconds) {
  constexpr std::uint64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return fmt::format("{} d", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{} h", seconds / kHour);
  if (seconds >= 2 * kMinute) return fmt::format("{} min", seconds / kMinute);
  return fmt::format("{} s", seconds);
}

std::string Count(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace partita::cli
