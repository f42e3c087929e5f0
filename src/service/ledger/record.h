// One record of the journal: `<version> <sequence> <length> <checksum> <payload>\n`. The checksum
// covers version, sequence, length and payload; a payload has no newline, so that after damage the
// next record can be found again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::service::ledger {

inline constexpr std::uint64_t kRecordVersion = 1;

struct Record {
  std::uint64_t sequence = 0;
  std::string payload;
  bool operator==(const Record&) const = default;
};

[[nodiscard]] std::string EncodeRecord(const Record& record);

struct Records {
  std::vector<Record> whole;
  // Bytes up to the last whole record. What follows was being written when the program or the
  // machine stopped.
  std::size_t length = 0;
  std::size_t damaged = 0;  // places before that where bytes are not a record
};
// A whole record of another version is an error (kUnsupported): it must not be cut off.
[[nodiscard]] base::Result<Records> DecodeRecords(std::string_view bytes);

}  // namespace partita::service::ledger
