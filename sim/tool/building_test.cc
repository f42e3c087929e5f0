#include "sim/tool/building.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::sim::tool {
namespace {

class BuildingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/partita-building.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { ASSERT_TRUE(base::RemoveTree(directory_).ok()); }

  std::string directory_;
};

TEST_F(BuildingTest, SeveralAtOnceLeaveEachOthersScaffoldsAlone) {
  constexpr int kBuilders = 4;
  constexpr int kRounds = 100;
  std::atomic<int> failures = 0;
  std::vector<std::thread> builders;
  builders.reserve(kBuilders);
  for (int builder = 0; builder < kBuilders; ++builder) {
    builders.emplace_back([&, name = "node" + std::to_string(builder)] {
      for (int round = 0; round < kRounds; ++round) {
        const auto scaffold = Scaffold::Start(directory_, name);
        if (!scaffold.ok() || access(scaffold->path().c_str(), F_OK) != 0) ++failures;
      }
    });
  }
  for (std::thread& builder : builders) builder.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(BuildingTest, WhatAKilledBuilderLeftIsRemoved) {
  ASSERT_EQ(mkdir((directory_ + "/.up-node.1").c_str(), 0755), 0);
  ASSERT_TRUE(Scaffold::Start(directory_, "node").ok());
  EXPECT_NE(access((directory_ + "/.up-node.1").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace partita::sim::tool
