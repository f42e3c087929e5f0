// What DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS say of XIDs. The preset decides of those
// that neither names.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace partita::config {

struct XidOverrides {
  bool disable_all = false;
  std::set<std::uint64_t> ignored;
  bool enable_all = false;
  std::set<std::uint64_t> fatal;

  // Whether a device with this XID is to be taken out. Enabling wins over disabling, also where all
  // are disabled. Nothing: the preset decides.
  [[nodiscard]] std::optional<bool> Fatal(std::uint64_t xid) const;
  // No XID takes a device out.
  [[nodiscard]] bool Off() const { return disable_all && !enable_all && fatal.empty(); }
  bool operator==(const XidOverrides&) const = default;
};

struct XidOverridesRead {
  XidOverrides overrides;
  std::vector<std::string> warnings;  // of words that are no XIDs and are left out
};

// The two variables; absent is as good as empty. Commas between, spaces around, case does not
// count; "all" or "xids" as an item is every XID.
[[nodiscard]] XidOverridesRead ParseXidOverrides(const std::optional<std::string>& disable,
                                                 const std::optional<std::string>& enable);

}  // namespace partita::config
