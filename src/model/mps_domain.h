// What is told of an MPS domain: a control daemon, and the devices that are shared through it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace partita::model {

struct MpsDomain {
  std::string name;
  std::vector<std::string> devices;  // UUIDs of GPUs and MIG devices
  std::string problem;               // why it gives no more shares; empty: it does
  std::string warning = {};          // what of its GPUs is not as it should be, shares or not
  bool kept = false;                 // not wanted so any more: only for those who hold shares of it
  bool operator==(const MpsDomain&) const = default;
};

// On its way from the agent to a command, and in documents.
[[nodiscard]] base::Value ToValue(const MpsDomain& domain);
[[nodiscard]] base::Value ToValue(const std::vector<MpsDomain>& domains);
// kInvalid, with what is wrong.
[[nodiscard]] base::Result<std::vector<MpsDomain>> ReadMpsDomains(const base::Value& list);

}  // namespace partita::model
