// Any text as JSON: what is read and written again reads as the same.
#include "base/json.h"
#include "fuzz/target.h"

FUZZ_TARGET(json) {
  const auto value = partita::base::ParseJson(partita::fuzz::AsText(data, size));
  if (!value.ok()) return 0;
  const std::string line = partita::base::ToJsonLine(*value);
  const auto again = partita::base::ParseJson(line);
  PARTITA_CHECK(again.ok());
  // A real number may be written as a whole one; the text no longer changes.
  PARTITA_CHECK(partita::base::ToJsonLine(*again) == line);
  return 0;
}
