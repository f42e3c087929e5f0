// Calls by the name of their source, for both loops.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"

namespace partita::net {

class WakeUpCounts {
 public:
  using Counter = std::shared_ptr<std::uint64_t>;

  [[nodiscard]] Counter Of(const std::string& name) {
    Counter& counter = counts_[name];
    if (!counter) counter = std::make_shared<std::uint64_t>(0);
    return counter;
  }

  [[nodiscard]] std::vector<WakeUps> All() const {
    std::vector<WakeUps> all;
    for (const auto& [name, counter] : counts_) all.push_back({name, *counter});
    return all;
  }

 private:
  std::map<std::string, Counter> counts_;
};

}  // namespace partita::net
