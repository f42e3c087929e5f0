#include "service/ledger/record.h"

#include <optional>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"

namespace partita::service::ledger {
namespace {

constexpr std::size_t kChecksumDigits = 16;

std::string Checksum(std::string_view head, std::string_view payload) {
  return base::Sha256Hex(std::string(head).append(payload)).substr(0, kChecksumDigits);
}

struct Line {
  std::uint64_t version = 0;
  Record record;
};

// Nothing when the bytes of this line, without its newline, are not what was written.
std::optional<Line> ReadLine(std::string_view line) {
  std::string_view rest = line;
  std::string_view words[4];
  for (std::string_view& word : words) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    word = rest.substr(0, space);
    rest.remove_prefix(space + 1);
  }
  const std::optional<std::uint64_t> version = base::ParseUnsigned(words[0]);
  const std::optional<std::uint64_t> sequence = base::ParseUnsigned(words[1]);
  const std::optional<std::uint64_t> length = base::ParseUnsigned(words[2]);
  if (!version || !sequence || length != rest.size()) return std::nullopt;
  const auto head_length = static_cast<std::size_t>(words[3].data() - line.data());
  if (words[3] != Checksum(line.substr(0, head_length), rest)) return std::nullopt;
  return Line{*version, {*sequence, std::string(rest)}};
}

}  // namespace

std::string EncodeRecord(const Record& record) {
  PARTITA_CHECK(record.payload.find('\n') == std::string::npos);
  const std::string head =
      fmt::format("{} {} {} ", kRecordVersion, record.sequence, record.payload.size());
  return fmt::format("{}{} {}\n", head, Checksum(head, record.payload), record.payload);
}

base::Result<Records> DecodeRecords(std::string_view bytes) {
  Records records;
  bool skipped = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\n', at);
    if (end == std::string_view::npos) break;
    std::optional<Line> line = ReadLine(bytes.substr(at, end - at));
    at = end + 1;
    if (!line) {
      skipped = true;
      continue;
    }
    if (line->version != kRecordVersion) {
      return base::MakeError(base::ErrorCode::kUnsupported,
                             "record {} has version {}, and this program knows {}",
                             line->record.sequence, line->version, kRecordVersion)
          .WithHint("it was written by another version of partita; move it away to begin anew");
    }
    if (skipped) ++records.damaged;
    skipped = false;
    records.whole.push_back(std::move(line->record));
    records.length = at;
  }
  return records;
}

}  // namespace partita::service::ledger
