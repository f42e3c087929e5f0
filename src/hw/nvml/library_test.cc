#include "hw/nvml/library.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::nvml {
namespace {

TEST(LibraryCandidates, AsksTheLoaderFirstAtTheOrdinaryRoot) {
  EXPECT_EQ(LibraryCandidates({}), std::vector<std::string>{"libnvidia-ml.so.1"});
  EXPECT_EQ(LibraryCandidates({.path = "", .driver_root = ""}),
            std::vector<std::string>{"libnvidia-ml.so.1"});
}

TEST(LibraryCandidates, PrefersADriverRootToTheLoader) {
  const std::vector<std::string> expected = {
      "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib64/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/libnvidia-ml.so.1",
      "libnvidia-ml.so.1",
  };
  EXPECT_EQ(LibraryCandidates({.path = "", .driver_root = "/run/nvidia/driver"}), expected);
}

TEST(LibraryCandidates, TriesNothingButAnExplicitPath) {
  EXPECT_EQ(LibraryCandidates({.path = "/opt/libnvidia-ml.so.1", .driver_root = "/run/x"}),
            std::vector<std::string>{"/opt/libnvidia-ml.so.1"});
}

TEST(Library, NamesEveryPathThatItTried) {
  const testing::Tree tree;
  const auto opened = Library::Open({.path = tree.root() + "/none.so", .driver_root = "/"});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(opened.error().ToString(),
            "cannot load the NVIDIA driver's library; tried " + tree.root() +
                "/none.so: cannot open shared object file: No such file or directory");
}

TEST(Library, RefusesALibraryThatIsNotTheDrivers) {
  const auto opened = Library::Open({.path = "libc.so.6", .driver_root = "/"});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message(),
            "cannot load the NVIDIA driver's library; tried libc.so.6: it has no nvmlInit_v2");
}

}  // namespace
}  // namespace partita::hw::nvml
