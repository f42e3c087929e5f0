#include "config/resource_name.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::config {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsDnsLabel(std::string_view label) {
  return !label.empty() && IsLowerOrDigit(label.front()) && IsLowerOrDigit(label.back()) &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

}  // namespace

bool IsDnsSubdomain(std::string_view text) {
  const std::vector<std::string_view> labels = base::Split(text, '.');
  return std::all_of(labels.begin(), labels.end(), IsDnsLabel);
}

base::Result<std::string> FullResourceName(std::string_view text) {
  const std::string_view rest = base::WithoutPrefix(text, kResourcePrefix).value_or(text);
  if (!IsDnsSubdomain(rest)) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no name of a resource",
                           base::Quoted(text))
        .WithHint("lower-case letters, digits, \"-\" and \".\", as nvidia.com/gpu.shared");
  }
  std::string name = fmt::format("{}{}", kResourcePrefix, rest);
  if (name.size() > kMaxResourceName) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} has {} bytes, more than {}",
                           base::Quoted(name), name.size(), kMaxResourceName)
        .WithHint("\"nvidia.com/\" counts too: choose a shorter one");
  }
  return name;
}

}  // namespace partita::config
