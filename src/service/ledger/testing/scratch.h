// A directory of its own for a test, in memory where there is such a place.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::service::ledger::testing {

class Scratch {
 public:
  Scratch() {
    const bool memory = access("/dev/shm", W_OK) == 0;
    std::string pattern = (memory ? "/dev/shm" : ::testing::TempDir()) + "/ledger.XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Scratch() { (void)base::RemoveTree(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace partita::service::ledger::testing
