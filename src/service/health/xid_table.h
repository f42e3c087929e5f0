// What XIDs mean by themselves: data/health/xids.yaml as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita::service::health {

enum class XidPolicy : std::uint8_t {
  kIgnore,
  kEventApplication,
  kEventDevice,
  kReset,
  kReboot,
  kReplace,
};
// "ignore", "event-application", …
[[nodiscard]] std::string_view ToString(XidPolicy policy);

struct XidRow {
  std::vector<std::uint64_t> xids;
  XidPolicy policy = XidPolicy::kEventDevice;
  std::string means;  // for a person, without a point
  std::string source;
  bool idle = false;                       // only once nothing runs there
  std::optional<std::uint64_t> contained;  // this one beside it takes the edge off
  std::optional<std::uint64_t> often;      // so many in ten minutes are a reset
  bool blocks = false;                     // calls to its driver may never come back
};

// All rows, in the order of the file. It is part of the program: a mistake in it ends the process.
[[nodiscard]] const std::vector<XidRow>& XidTable();

// The row of a code; for one that is in none, a row that says so.
[[nodiscard]] const XidRow& RowOf(std::uint64_t xid);

}  // namespace partita::service::health
