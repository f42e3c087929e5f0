// What a domain's directory remembers of its daemon, so that the next agent knows it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"
#include "service/mps/domain.h"

namespace partita::service::mps {

// Which process it is: a pid alone is somebody else's after a while.
struct Process {
  model::Pid pid;
  std::uint64_t start_time = 0;  // field 22 of /proc/<pid>/stat
  std::string boot_id;
  bool operator==(const Process&) const = default;
};

struct Record {
  Domain domain;
  Process process;
  // No server of it is from before its limits. Records of agents that did not say so are of daemons
  // whose clients must not end for the next agent's doubt: it is taken as so.
  bool limited = true;
  bool operator==(const Record&) const = default;
};

[[nodiscard]] std::string Encode(const Record& record);
// kInvalid with what is wrong. Unknown members of a newer program are passed over.
[[nodiscard]] base::Result<Record> Decode(std::string_view text);

}  // namespace partita::service::mps
