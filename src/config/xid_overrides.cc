#include "config/xid_overrides.h"

#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::config {
namespace {

void ReadList(std::string_view variable,
              std::string_view text,
              bool& all,
              std::set<std::uint64_t>& xids,
              std::vector<std::string>& warnings) {
  for (const std::string_view piece : base::Split(text, ',')) {
    const std::string word = base::ToLower(base::Trim(piece));
    if (word.empty()) continue;
    if (word == "all" || word == "xids") {
      all = true;
    } else if (const std::optional<std::uint64_t> xid = base::ParseUnsigned(word)) {
      xids.insert(*xid);
    } else {
      warnings.push_back(fmt::format("{}: {} is no XID and is left out: write numbers, or all",
                                     variable, base::Quoted(base::Trim(piece))));
    }
  }
}

}  // namespace

std::optional<bool> XidOverrides::Fatal(std::uint64_t xid) const {
  if (enable_all || fatal.contains(xid)) return true;
  if (disable_all || ignored.contains(xid)) return false;
  return std::nullopt;
}

XidOverridesRead ParseXidOverrides(const std::optional<std::string>& disable,
                                   const std::optional<std::string>& enable) {
  XidOverridesRead read;
  ReadList("DP_DISABLE_HEALTHCHECKS", disable.value_or(""), read.overrides.disable_all,
           read.overrides.ignored, read.warnings);
  ReadList("DP_ENABLE_HEALTHCHECKS", enable.value_or(""), read.overrides.enable_all,
           read.overrides.fatal, read.warnings);
  return read;
}

}  // namespace partita::config
