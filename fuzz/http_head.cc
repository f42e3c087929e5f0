// Any bytes as the head of a request, at once and byte by byte: both are understood alike.
#include <string>

#include "fuzz/target.h"
#include "net/http_request.h"

FUZZ_TARGET(http_head) {
  using namespace partita;
  const std::string_view text = fuzz::AsText(data, size);
  std::string whole(text), pieces;
  const auto at_once = net::TakeHttpRequest(whole);
  if (text.size() >= net::kMostHttpHead) return 0;
  for (const char c : text) {
    pieces += c;
    const auto taken = net::TakeHttpRequest(pieces);
    if (!taken) continue;
    PARTITA_CHECK(taken == at_once);
    return 0;
  }
  PARTITA_CHECK(!at_once);
  return 0;
}
