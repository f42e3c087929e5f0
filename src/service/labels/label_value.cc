#include "service/labels/label_value.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace partita::service::labels {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsInner(char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

std::string_view WithoutEnds(std::string_view text) {
  while (!text.empty() && !IsAlphanumeric(text.front())) text.remove_prefix(1);
  while (!text.empty() && !IsAlphanumeric(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= kMostLabelBytes && std::all_of(text.begin(), text.end(), IsInner) &&
         IsAlphanumeric(text.front()) && IsAlphanumeric(text.back());
}

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const std::string_view name = text.substr(slash + 1);
  return !name.empty() && IsLabelValue(name);
}

std::string Fitting(std::string_view text) {
  return std::string(WithoutEnds(WithoutEnds(text).substr(0, kMostLabelBytes)));
}

std::string Sanitised(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (IsInner(c) || c == ' ') kept += c;
  std::string joined;
  for (const std::string_view word : base::SplitWords(kept)) {
    if (!joined.empty()) joined += '-';
    joined += word;
  }
  return joined;
}

std::string Dashed(std::string_view text) {
  std::string dashed(text);
  for (char& c : dashed)
    if (!IsInner(c)) c = '-';
  return Fitting(dashed);
}

}  // namespace partita::service::labels
