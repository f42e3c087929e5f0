#include "cdi/name.h"

#include <algorithm>

#include "base/text.h"

namespace partita::cdi {
namespace {

bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool IsLetterOrDigit(char c) { return IsLetter(c) || (c >= '0' && c <= '9'); }

// Letters and digits outside, between them also those of `marks`.
bool IsWord(std::string_view text, std::string_view marks) {
  if (text.empty() || !IsLetterOrDigit(text.front()) || !IsLetterOrDigit(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsLetterOrDigit(c) || marks.find(c) != std::string_view::npos;
  });
}

base::Error NotAName(std::string_view text, std::string_view why) {
  return base::MakeError(base::ErrorCode::kInvalid, "{} is no CDI device: {}", base::Quoted(text),
                         why)
      .WithHint("write vendor/class=name, as in nvidia.com/gpu=0");
}

}  // namespace

std::string QualifiedName::ToString() const { return vendor + '/' + klass + '=' + name; }

std::pair<std::string_view, std::string_view> SplitKind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == kind.size()) return {};
  return {kind.substr(0, slash), kind.substr(slash + 1)};
}

base::Result<QualifiedName> ParseName(std::string_view text) {
  if (text.starts_with('/')) return NotAName(text, "it begins with \"/\", as a path does");
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return NotAName(text, "there is no \"=\" in it");
  const auto [vendor, klass] = SplitKind(text.substr(0, equals));
  if (vendor.empty()) return NotAName(text, "there is no vendor/class before \"=\"");
  const std::string_view name = text.substr(equals + 1);
  if (!IsVendor(vendor)) return NotAName(text, "the vendor is malformed");
  if (!IsClass(klass)) return NotAName(text, "the class is malformed");
  if (!IsDeviceName(name)) return NotAName(text, "the device's name is malformed");
  return QualifiedName{std::string(vendor), std::string(klass), std::string(name)};
}

bool IsVendor(std::string_view text) {
  return !text.empty() && IsLetter(text.front()) && IsWord(text, "_-.");
}

bool IsClass(std::string_view text) { return IsVendor(text); }

bool IsDeviceName(std::string_view text) { return IsWord(text, "_-.:"); }

std::string DeviceNameFor(std::string_view uuid) {
  std::string name(uuid);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace partita::cdi
