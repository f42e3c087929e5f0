// What an agent may ask of the MPS runner, over frames of agent/control. The runner is root's power
// behind a socket, so each request is held against what an agent of ours would ask, and nothing
// else passes: whoever got at the socket starts no other program and reaches no other directory.
//
// A runner stays over upgrades of the agent. Members that it does not know it passes over, and none
// of these ever changes its meaning.
#pragma once

#include <string>
#include <string_view>

#include "agent/mps/runner.h"
#include "base/result.h"
#include "base/value.h"

namespace partita::agent::mps::pod {

inline constexpr std::string_view kStart = "mps.start";      // {"pid": 123}
inline constexpr std::string_view kAsk = "mps.ask";          // {"answer": "100.0\n"}
inline constexpr std::string_view kMount = "mps.mount";      // {}
inline constexpr std::string_view kUnmount = "mps.unmount";  // {}

// {"domain": "GPU-1", "arguments": ["-f"], "environment": ["NAME=value"], "output": "/path"}
[[nodiscard]] base::Value ToParams(const Launch& launch);
// As it was sent, and good. `root`: the runner's own.
[[nodiscard]] base::Result<Launch> ReadLaunch(const base::Value& params, const std::string& root);

// {"pipe": "/path", "command": "get_server_list"}
struct Question {
  std::string domain;
  std::string command;
  bool operator==(const Question&) const = default;
};
[[nodiscard]] base::Value ToParams(const service::mps::Directories& directories,
                                   std::string_view command);
[[nodiscard]] base::Result<Question> ReadQuestion(const base::Value& params,
                                                  const std::string& root);

// {"shm": "/path"}; whose it is.
[[nodiscard]] base::Value ShmParams(const std::string& path);
[[nodiscard]] base::Result<std::string> ReadShm(const base::Value& params, const std::string& root);

}  // namespace partita::agent::mps::pod
