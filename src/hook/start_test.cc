#include "hook/start.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

// A sanitizer reserves terabytes.
#ifdef PARTITA_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(LimitWork, IsForThisProcessAndNotForWhatItStarts) {
  const pid_t child = fork();
  if (child == 0) {
    LimitWork();
    rlimit processor = {}, memory = {};
    getrlimit(RLIMIT_CPU, &processor);
    getrlimit(RLIMIT_AS, &memory);
    const bool limited =
        processor.rlim_cur <= 10 && (kSanitized || memory.rlim_cur <= rlim_t{1} << 30);
    const bool may_be_raised = processor.rlim_max > 10 && memory.rlim_max > rlim_t{1} << 30;
    _exit(limited && may_be_raised ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace partita::hook
