// Any bytes as an HTTP server's answer, at once and in pieces of a size that the first byte says:
// both are understood alike, and the body is never longer than what came.
#include <algorithm>
#include <string>

#include "fuzz/target.h"
#include "net/http/answer_reader.h"

namespace {

struct Outcome {
  std::string error;
  partita::net::HttpClientAnswer answer;
  bool whole = false, reusable = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Read(std::string_view text, std::size_t piece) {
  using namespace partita;
  net::AnswerReader reader("GET");
  Outcome outcome;
  base::Result<void> result;
  while (!text.empty() && result.ok()) {
    result = reader.Take(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (result.ok()) result = reader.End();
  if (!result.ok()) {
    outcome.error = result.error().ToString();
    return outcome;
  }
  outcome.answer = reader.answer();
  outcome.answer.body = reader.TakeBody();
  outcome.whole = reader.whole();
  outcome.reusable = reader.reusable();
  return outcome;
}

}  // namespace

FUZZ_TARGET(http_answer) {
  if (size == 0) return 0;
  const std::string_view text = partita::fuzz::AsText(data + 1, size - 1);
  const Outcome whole = Read(text, std::max<std::size_t>(text.size(), 1));
  const Outcome pieces = Read(text, std::size_t{data[0]} % 17 + 1);
  PARTITA_CHECK(whole == pieces);
  PARTITA_CHECK(whole.answer.body.size() <= text.size());
  PARTITA_CHECK(whole.error.empty() == whole.whole);
  return 0;
}
