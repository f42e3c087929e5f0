#include "sim/mps/settings.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/cuda/share.h"

namespace partita::sim::mps {

std::string Settings::Percentage() const { return fmt::format("{:.1f}", percentage_); }

bool Settings::SetPercentage(std::string_view text) {
  return cuda::ParsePercentage(std::string(text).c_str(), &percentage_);
}

std::string Settings::LimitOf(std::string_view device) const {
  std::array<char, 32> text{};
  for (const Limit& limit : limits_) {
    if (limit.device == device) cuda::WriteLimit(limit.bytes, text.data(), text.size());
  }
  return text.data();
}

void Settings::SetLimit(const std::string& device, const std::string& value) {
  std::erase_if(limits_, [&](const Limit& limit) { return limit.device == device; });
  const std::uint64_t bytes = cuda::ParseLimit(value.c_str());
  if (bytes != 0 && !device.empty()) limits_.push_back({device, bytes});
}

std::string Settings::Encoded() const {
  std::string text = fmt::format("{}", percentage_);
  for (const Limit& limit : limits_) text += fmt::format(" {}={}", limit.device, limit.bytes);
  return text;
}

Settings Settings::Decoded(std::string_view text) {
  Settings settings;
  bool first = true;
  for (const std::string_view word : base::SplitWords(text)) {
    const std::size_t sign = word.rfind('=');
    if (first) {
      settings.SetPercentage(word);
    } else if (sign != std::string_view::npos) {
      const auto bytes = base::ParseUnsigned(word.substr(sign + 1));
      if (bytes) settings.limits_.push_back({std::string(word.substr(0, sign)), *bytes});
    }
    first = false;
  }
  return settings;
}

}  // namespace partita::sim::mps
