// Any bytes as an answer of the MPS control daemon, a line of its log or a domain's record: no pid
// is out of range, a limit that is accepted is one that could have been set, and a record that is
// read is written the same.
#include "fuzz/target.h"
#include "service/mps/protocol.h"
#include "service/mps/record.h"

FUZZ_TARGET(mps_answer) {
  namespace mps = partita::service::mps;
  namespace model = partita::model;
  const std::string_view text = partita::fuzz::AsText(data, size);
  if (const auto servers = mps::ParseServerList(text); servers.ok()) {
    for (const model::Pid pid : *servers) {
      PARTITA_CHECK(pid.value() > 0 && pid.value() <= 0x7FFFFFFF);
    }
  }
  if (const auto tenths = mps::ParsePercentage(text); tenths.ok()) {
    PARTITA_CHECK(*tenths <= 1000);
    // 40.5 is no percentage that anybody sets.
    for (const std::uint32_t percent : {*tenths / 10, *tenths / 10 + 1}) {
      const mps::Setting setting{
          .set = "", .get = "", .memory = std::nullopt, .threads = model::Percent(percent)};
      PARTITA_CHECK(mps::CheckReadBack(setting, text).ok() == (*tenths == percent * 10));
    }
  }
  if (const auto limit = mps::ParseMemoryLimit(text); limit.ok() && *limit) {
    const mps::Setting setting{.set = "", .get = "", .memory = **limit, .threads = std::nullopt};
    PARTITA_CHECK((*limit)->value() > 0);
    PARTITA_CHECK(mps::CheckReadBack(setting, text).ok());
  }
  static_cast<void>(mps::ParseServerStatus(text).ok());
  PARTITA_CHECK(!mps::TellsOfFault(text) || text.find(" Server ") != std::string_view::npos);
  if (const auto record = mps::Decode(text); record.ok()) {
    const auto again = mps::Decode(mps::Encode(*record));
    PARTITA_CHECK(again.ok() && *again == *record);
  }
  return 0;
}
