// Any text as a MIG profile name: what is accepted has one spelling that is accepted again.
#include <string>

#include "fuzz/target.h"
#include "model/profile_name.h"

FUZZ_TARGET(mig_profile) {
  using partita::model::ProfileName;
  const std::string_view text = partita::fuzz::AsText(data, size);
  for (const auto& parsed : {ProfileName::Parse(text), ProfileName::ParseLabel(text)}) {
    if (!parsed.ok()) {
      PARTITA_CHECK(parsed.error().code() == partita::base::ErrorCode::kInvalid);
      continue;
    }
    const auto again = ProfileName::Parse(parsed->ToString());
    PARTITA_CHECK(again.ok() && *again == *parsed);
    const auto by_label = ProfileName::ParseLabel(parsed->ToLabel());
    PARTITA_CHECK(by_label.ok() && *by_label == *parsed);
  }
  return 0;
}
