// What is said over the agent's control socket: frames of four bytes of length, highest first, and
// a JSON map. The client asks
//
//   {"version": 1, "method": "mig.apply", "params": {…}}
//
// and gets any number of {"version": 1, "progress": …}, then one {"version": 1, "result": …} or
// {"version": 1, "error": {…}}. Then it may ask again. docs/agent.md has the same for others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/value.h"

namespace partita::agent::control {

inline constexpr std::uint64_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeader = 4;
// A request holds a MIG configuration at most; an answer, the pictures of a whole node.
inline constexpr std::size_t kMostRequest = std::size_t{1} << 20;
inline constexpr std::size_t kMostAnswer = std::size_t{16} << 20;

[[nodiscard]] std::string MakeFrame(const base::Value& value);

// Takes one frame off the input; nothing while it is not all there. kInvalid: longer than `most`,
// or no JSON map. After an error the rest of the stream means nothing.
[[nodiscard]] base::Result<std::optional<base::Value>> TakeFrame(std::string& input,
                                                                 std::size_t most);

struct Request {
  std::string method;
  base::Value params = base::Value::Map();
};
[[nodiscard]] base::Value ToValue(const Request& request);
// kUnsupported: of another version.
[[nodiscard]] base::Result<Request> ReadRequest(const base::Value& value);

struct Progress {
  base::Value value;
};
// What an answer says; an error of the agent is a value here, not a failure to read.
using Answer = std::variant<Progress, base::Result<base::Value>>;
[[nodiscard]] base::Value ToValue(const Answer& answer);
[[nodiscard]] base::Result<Answer> ReadAnswer(const base::Value& value);

}  // namespace partita::agent::control
