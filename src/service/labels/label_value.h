// What Kubernetes takes as a label, and how names become that.
#pragma once

#include <string>
#include <string_view>

namespace partita::service::labels {

inline constexpr std::size_t kMostLabelBytes = 63;

// Of a value: empty, or at most 63 of letters, digits, '-', '_' and '.' with a letter or a digit at
// both ends.
[[nodiscard]] bool IsLabelValue(std::string_view text);
// Of a key: the same for the name, which is not empty, behind a domain and a slash.
[[nodiscard]] bool IsLabelKey(std::string_view text);

// Cut to what IsLabelValue takes; the rest stays as it is.
[[nodiscard]] std::string Fitting(std::string_view text);

// As gpu-feature-discovery makes values of names: other characters go, words are joined by dashes.
// Both ends and the length are not judged; see Fitting.
[[nodiscard]] std::string Sanitised(std::string_view text);

// As labels of our own are made: other characters become dashes. Fits.
[[nodiscard]] std::string Dashed(std::string_view text);

}  // namespace partita::service::labels
