// The ledger as text: entries, changes and whole states as JSON. Fields that this program does not
// know are ignored; docs/ledger.md has the list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/ledger/state.h"

namespace partita::service::ledger {

// One line.
[[nodiscard]] std::string EncodeChanges(const std::vector<Change>& changes);
[[nodiscard]] base::Result<std::vector<Change>> DecodeChanges(std::string_view text);

// A state, and the number of the last record of the journal that is in it.
struct Snapshot {
  State state;
  std::uint64_t sequence = 0;
  bool operator==(const Snapshot&) const = default;
};
[[nodiscard]] std::string EncodeSnapshot(const Snapshot& snapshot);
[[nodiscard]] base::Result<Snapshot> DecodeSnapshot(std::string_view text);

}  // namespace partita::service::ledger
