// Any bytes as what a peer sends to the agent's control socket, at once and byte by byte: both are
// understood alike, and what was understood reads the same when it is written again.
#include <string>
#include <vector>

#include "agent/control/protocol.h"
#include "fuzz/target.h"

namespace {

using namespace partita::agent::control;

constexpr std::size_t kMost = 4096;

// The frames up to the first error, and whether there was one.
std::pair<std::vector<partita::base::Value>, bool> TakeAll(std::string& input) {
  std::vector<partita::base::Value> frames;
  for (;;) {
    auto frame = TakeFrame(input, kMost);
    if (!frame.ok()) return {frames, true};
    if (!frame->has_value()) return {frames, false};
    frames.push_back(**frame);
  }
}

}  // namespace

FUZZ_TARGET(control_frame) {
  const std::string_view text = partita::fuzz::AsText(data, size);
  std::string whole(text), pieces;
  const auto at_once = TakeAll(whole);
  std::pair<std::vector<partita::base::Value>, bool> slowly;
  for (const char c : text) {
    pieces += c;
    const auto now = TakeAll(pieces);
    slowly.first.insert(slowly.first.end(), now.first.begin(), now.first.end());
    slowly.second = now.second;
    if (now.second) break;
  }
  PARTITA_CHECK(slowly == at_once);
  for (const partita::base::Value& frame : at_once.first) {
    if (const auto request = ReadRequest(frame); request.ok()) {
      const auto again = ReadRequest(ToValue(*request));
      PARTITA_CHECK(again.ok() && again->method == request->method);
    }
    if (const auto answer = ReadAnswer(frame); answer.ok())
      PARTITA_CHECK(ReadAnswer(ToValue(*answer)).ok());
  }
  return 0;
}
