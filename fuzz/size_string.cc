// Any text as a size: what is accepted means the same when written as plain bytes.
#include <string>

#include "base/text.h"
#include "fuzz/target.h"

FUZZ_TARGET(size_string) {
  const std::string_view text = partita::fuzz::AsText(data, size);
  const auto bytes = partita::base::ParseSize(text);
  if (bytes) {
    PARTITA_CHECK(partita::base::ParseSize(std::to_string(*bytes)) == bytes);
    PARTITA_CHECK(partita::base::ParseSize(std::to_string(*bytes) + "B") == bytes);
    PARTITA_CHECK(!text.empty() && text[0] >= '0' && text[0] <= '9');
  }
  const auto number = partita::base::ParseUnsigned(text);
  if (number) PARTITA_CHECK(bytes == number);
  return 0;
}
