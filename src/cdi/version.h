// Versions of the CDI specification, and which of them a specification needs.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"

namespace partita::cdi {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  [[nodiscard]] std::string ToString() const;
  auto operator<=>(const Version&) const = default;
};

// Published versions from 0.3.0 on; a "v" before it is tolerated. Whoever reads a newer one cannot
// know what its keys mean, so it is refused, as by every other reader.
[[nodiscard]] base::Result<Version> ParseVersion(std::string_view text);

// What the newest feature of a specification is, and since when it exists.
struct Feature {
  Version since;
  std::string_view what;
};
[[nodiscard]] Feature NewestFeature(const Spec& spec);

// The version to declare: older readers refuse newer ones, so the lowest that has every feature.
[[nodiscard]] Version MinimumVersion(const Spec& spec);

// Takes out what is newer than `most` and says in words what that was. kUnsupported, with the
// specification untouched, where the rest would mean something else. `version` stays as it is.
[[nodiscard]] base::Result<std::vector<std::string>> Cap(Spec& spec, Version most);

}  // namespace partita::cdi
