// Any bytes as a journal of the ledger: what is read is whole, and is written again as it was.
#include <string>

#include "fuzz/target.h"
#include "service/ledger/codec.h"
#include "service/ledger/record.h"

FUZZ_TARGET(ledger_record) {
  namespace ledger = partita::service::ledger;
  const std::string_view text = partita::fuzz::AsText(data, size);
  const auto records = ledger::DecodeRecords(text);
  if (records.ok()) {
    PARTITA_CHECK(records->length <= text.size());
    for (const ledger::Record& record : records->whole) {
      const auto again = ledger::DecodeRecords(ledger::EncodeRecord(record));
      PARTITA_CHECK(again.ok() && again->whole.size() == 1 && again->whole[0] == record);
    }
  }
  // No checksum is in a fuzzer's way here.
  const auto changes = ledger::DecodeChanges(text);
  if (changes.ok()) {
    const auto again = ledger::DecodeChanges(ledger::EncodeChanges(*changes));
    PARTITA_CHECK(again.ok() && *again == *changes);
  }
  const auto snapshot = ledger::DecodeSnapshot(text);
  if (snapshot.ok()) {
    const auto again = ledger::DecodeSnapshot(ledger::EncodeSnapshot(*snapshot));
    PARTITA_CHECK(again.ok() && *again == *snapshot);
  }
  return 0;
}
