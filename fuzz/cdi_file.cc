// Any bytes as a CDI file: a specification that is written and read as itself, or problems with
// their places.
#include <algorithm>
#include <string>

#include "cdi/difference.h"
#include "cdi/text.h"
#include "cdi/validate.h"
#include "cdi/version.h"
#include "fuzz/target.h"

namespace {

using partita::cdi::Annotations;
using partita::cdi::Spec;
using partita::cdi::Version;

// libyaml reads no longer key in JSON's style.
bool HasLongKey(const Annotations& annotations) {
  return std::any_of(annotations.begin(), annotations.end(),
                     [](const auto& each) { return each.first.size() > 200; });
}

bool HasLongKey(const Spec& spec) {
  return HasLongKey(spec.annotations) ||
         std::any_of(spec.devices.begin(), spec.devices.end(),
                     [](const auto& device) { return HasLongKey(device.annotations); });
}

void CheckCap(const Spec& spec, Version most) {
  Spec capped = spec;
  const auto removed = partita::cdi::Cap(capped, most);
  PARTITA_CHECK(removed.ok() ? partita::cdi::MinimumVersion(capped) <= most : capped == spec);
  const auto differences = partita::cdi::Differences(spec, capped);
  const bool said = !removed.ok() || !removed->empty() || differences.empty();
  // The type of a mount that is bound anyway goes without a word.
  PARTITA_CHECK(said || (most < Version{0, 4, 0}));
}

}  // namespace

FUZZ_TARGET(cdi_file) {
  const auto spec =
      partita::cdi::Parse(std::string(partita::fuzz::AsText(data, size)), "nvidia.yaml");
  if (!spec.ok()) {
    PARTITA_CHECK(spec.error().message().starts_with("nvidia.yaml:"));
    return 0;
  }
  const auto yaml = partita::cdi::Parse(partita::cdi::ToYaml(*spec), "nvidia.yaml");
  PARTITA_CHECK(yaml.ok() && *yaml == *spec);
  if (!HasLongKey(*spec)) {
    const auto json = partita::cdi::Parse(partita::cdi::ToJson(*spec), "nvidia.json");
    PARTITA_CHECK(json.ok() && *json == *spec);
  }
  PARTITA_CHECK(partita::cdi::Check(*spec).ok() || !partita::cdi::CheckToWrite(*spec).ok());
  PARTITA_CHECK(partita::cdi::Differences(*spec, *spec).empty());
  for (const Version most : {Version{0, 3, 0}, Version{0, 5, 0}, Version{0, 7, 0}})
    CheckCap(*spec, most);
  return 0;
}
