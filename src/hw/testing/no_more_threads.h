// A machine, or a cgroup, that has as many threads as it may.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace partita::hw::testing {

// As a user who may start no more threads: root may start as many as it likes.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    if (getuid() == 0) {
      EXPECT_EQ(setresuid(kNobodyElse, kNobodyElse, 0), 0);
    }
    EXPECT_EQ(getrlimit(RLIMIT_NPROC, &before_), 0);
    const rlimit one{1, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &one), 0);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;
  ~NoMoreThreads() {
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &before_), 0);
    if (getuid() == kNobodyElse) {
      EXPECT_EQ(setresuid(0, 0, 0), 0);
    }
  }

 private:
  static constexpr uid_t kNobodyElse = 61234;
  rlimit before_ = {};
};

}  // namespace partita::hw::testing
