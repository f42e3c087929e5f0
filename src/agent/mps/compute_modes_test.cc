#include "agent/mps/compute_modes.h"

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::agent::mps {
namespace {

using model::ComputeMode;

// A GPU whose modes are counted; `dies_at` is the call at which the process is killed.
class ComputeModesTest : public ::testing::Test {
 protected:
  struct Killed {};

  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = std::string(directory_.data()) + "/modes";
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(directory_.data()).ok()); }

  void Step() {
    if (dies_at_ && --*dies_at_ < 0) throw Killed();
  }
  [[nodiscard]] ComputeModes Modes(const std::string& boot = "this",
                                   const ComputeModes::Home& home = {}) {
    return {path_,
            boot,
            {.read = [this](const model::PciAddress&) -> base::Result<ComputeMode> {
               Step();
               if (lost_) return base::Error(base::ErrorCode::kUnavailable, "GPU is lost");
               return now_;
             },
             .set = [this](const model::PciAddress&, ComputeMode mode) -> base::Result<void> {
               Step();
               now_ = mode;
               Step();
               return {};
             }},
            home};
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  std::string path_;
  model::PciAddress gpu_{.domain = 0, .bus = 7, .device = 0, .function = 0};
  ComputeMode now_ = ComputeMode::kDefault;
  bool lost_ = false;
  std::optional<int> dies_at_;
};

TEST_F(ComputeModesTest, AModeComesBackWithTheNextAgentToo) {
  now_ = ComputeMode::kProhibited;
  ComputeModes first = Modes();
  ASSERT_TRUE(first.Load().ok());
  ASSERT_TRUE(first.MakeExclusive("GPU-1", gpu_).ok());
  EXPECT_EQ(now_, ComputeMode::kExclusiveProcess);
  ComputeModes second = Modes();
  EXPECT_EQ(second.Load().value(),
            (service::mps::ModesBefore{{"GPU-1", ComputeMode::kProhibited}}));
  ASSERT_TRUE(second.Restore("GPU-1").ok());
  EXPECT_EQ(now_, ComputeMode::kProhibited);
  EXPECT_EQ(Modes().Load().value(), service::mps::ModesBefore());
}

TEST_F(ComputeModesTest, AtWhicheverCallItDiesTheModeComesBack) {
  bool died = true;
  for (int call = 0; died; ++call) {
    now_ = ComputeMode::kDefault;
    died = false;
    dies_at_ = call;
    try {
      ComputeModes modes = Modes();
      ASSERT_TRUE(modes.Load().ok());
      ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
      ASSERT_TRUE(modes.Restore("GPU-1").ok());
    } catch (const Killed&) {
      died = true;
    }
    dies_at_.reset();
    ComputeModes next = Modes();
    ASSERT_TRUE(next.Load().ok());
    ASSERT_TRUE(next.Restore("GPU-1").ok());
    EXPECT_EQ(now_, ComputeMode::kDefault) << "killed at call " << call;
    EXPECT_EQ(Modes().Load().value(), service::mps::ModesBefore()) << call;
  }
}

TEST_F(ComputeModesTest, WhatSomebodyElseSetStays) {
  now_ = ComputeMode::kExclusiveProcess;
  ComputeModes modes = Modes();
  ASSERT_TRUE(modes.Load().ok());
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  EXPECT_EQ(modes.before(), service::mps::ModesBefore()) << "it was not ours to change";
  now_ = ComputeMode::kDefault;
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  now_ = ComputeMode::kProhibited;
  ASSERT_TRUE(modes.Restore("GPU-1").ok());
  EXPECT_EQ(now_, ComputeMode::kProhibited);
}

TEST_F(ComputeModesTest, TheModeBeforeIsKeptWhenItIsMadeExclusiveAgain) {
  ComputeModes modes = Modes();
  ASSERT_TRUE(modes.Load().ok());
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  now_ = ComputeMode::kProhibited;
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  ASSERT_TRUE(modes.Restore("GPU-1").ok());
  EXPECT_EQ(now_, ComputeMode::kDefault);
}

TEST_F(ComputeModesTest, AGpuThatCannotBeAskedIsNotForgotten) {
  ComputeModes modes = Modes();
  ASSERT_TRUE(modes.Load().ok());
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  lost_ = true;
  EXPECT_FALSE(modes.Restore("GPU-1").ok());
  lost_ = false;
  ComputeModes next = Modes();
  ASSERT_TRUE(next.Load().ok());
  ASSERT_TRUE(next.Restore("GPU-1").ok());
  EXPECT_EQ(now_, ComputeMode::kDefault);
}

TEST_F(ComputeModesTest, ABootForgetsModesAsTheDriverDoes) {
  ComputeModes modes = Modes();
  ASSERT_TRUE(modes.Load().ok());
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  EXPECT_EQ(Modes("next").Load().value(), service::mps::ModesBefore());
}

TEST_F(ComputeModesTest, AGpuThatTheFileStillNamesIsNotForgotten) {
  path_ = std::string(directory_.data()) + "/folder/modes";
  const std::string folder = std::string(directory_.data()) + "/folder";
  ASSERT_TRUE(base::MakeDirectories(folder, 0755).ok());
  ComputeModes modes = Modes();
  ASSERT_TRUE(modes.Load().ok());
  ASSERT_TRUE(modes.MakeExclusive("GPU-1", gpu_).ok());
  // As on a disk that is full.
  ASSERT_EQ(rename(folder.c_str(), (folder + "-away").c_str()), 0);
  ASSERT_TRUE(base::WriteFile(folder, "", 0644).ok());
  EXPECT_FALSE(modes.Restore("GPU-1").ok());
  EXPECT_EQ(modes.before(), (service::mps::ModesBefore{{"GPU-1", ComputeMode::kDefault}}));
  ASSERT_EQ(unlink(folder.c_str()), 0);
  ASSERT_EQ(rename((folder + "-away").c_str(), folder.c_str()), 0);
  ASSERT_TRUE(modes.Restore("GPU-1").ok());
  EXPECT_EQ(now_, ComputeMode::kDefault);
  EXPECT_EQ(Modes().Load().value(), service::mps::ModesBefore());
}

// So that whoever puts modes back looks for daemons where they are.
TEST_F(ComputeModesTest, WhereTheDaemonsAreIsKnownToWhoeverComesNext) {
  const ComputeModes::Home first{.root = "/mps", .pid_namespace = "pid:[1]"};
  const ComputeModes::Home second{.root = "/other", .pid_namespace = "pid:[2]"};
  const auto home = [this] {
    ComputeModes reader = Modes();
    EXPECT_TRUE(reader.Load().ok());
    return reader.home();
  };
  ComputeModes earlier = Modes();  // of a version that did not write it
  for (const char* gpu : {"GPU-1", "GPU-2"}) {
    now_ = ComputeMode::kDefault;
    ASSERT_TRUE(earlier.MakeExclusive(gpu, gpu_).ok());
  }
  EXPECT_EQ(home(), ComputeModes::Home());
  // Whose GPUs are exclusive already, and stay so.
  ASSERT_TRUE(Modes("this", first).Load().ok());
  EXPECT_EQ(home(), first);
  ASSERT_TRUE(Modes("this", second).Load().ok());
  EXPECT_EQ(home(), second);
  ComputeModes without_an_agent = Modes();
  EXPECT_EQ(without_an_agent.Load().value().size(), 2U);
  ASSERT_TRUE(without_an_agent.Restore("GPU-1").ok());
  EXPECT_EQ(home(), second);
}

TEST_F(ComputeModesTest, WhatCannotBeWrittenIsNotChanged) {
  path_ = "/dev/null/modes";
  ComputeModes modes = Modes();
  EXPECT_FALSE(modes.MakeExclusive("GPU-1", gpu_).ok());
  EXPECT_EQ(now_, ComputeMode::kDefault);
}

}  // namespace
}  // namespace partita::agent::mps
