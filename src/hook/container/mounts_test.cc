#include "hook/container/mounts.h"

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

TEST(MountsBelow, FindsWhatIsMountedOnWhatIsMounted) {
  constexpr char kTable[] =
      "20 1 8:1 / / rw - ext4 /dev/vda rw\n"
      "34 33 0:5 /y /c/root/a\\040b/deep rw - tmpfs tmpfs rw\n"
      "30 20 8:1 /c/root /c/root rw shared:3 - ext4 /dev/vda rw\n"
      "33 30 8:1 /v /c/root/a\\040b rw - ext4 /dev/vda rw\n"
      "35 20 0:6 / /c/root2 rw - tmpfs tmpfs rw\n"
      "nonsense\n"
      "36 30 0:6 /\n";
  EXPECT_EQ(MountsBelow(kTable, 30),
            (std::vector<MountPoint>{{33, "/c/root/a b"}, {34, "/c/root/a b/deep"}}));
  EXPECT_TRUE(MountsBelow(kTable, 35).empty());
}

}  // namespace
}  // namespace partita::hook
