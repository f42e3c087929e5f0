#include "agent/mps/pod/domain_place.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "agent/mps/domain_files.h"
#include "base/files.h"

namespace partita::agent::mps::pod {
namespace {

class DomainPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<char, 32> directory = {"/tmp/partita-mps.XXXXXX"};
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    root_ = directory.data();
    ASSERT_TRUE(
        PrepareDirectories({.root = root_ + "/mps", .boot_id = "", .runner = nullptr}, "GPU-1")
            .ok());
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(root_).ok()); }

  [[nodiscard]] base::Result<DomainPlace> Open() const {
    return DomainPlace::Open(root_ + "/mps", "GPU-1");
  }
  [[nodiscard]] std::string At(const std::string& path) const { return root_ + "/mps/" + path; }

  std::string root_;
};

TEST_F(DomainPlaceTest, LeadsToTheDirectoriesThatTheAgentMade) {
  const base::Result<DomainPlace> place = Open();
  ASSERT_TRUE(place.ok()) << place.error().ToString();
  ASSERT_TRUE(base::WriteFile(place->log_file(), "said", 0644).ok());
  EXPECT_EQ(base::ReadFile(At("GPU-1/log/control.log")).value(), "said");
  ASSERT_TRUE(base::WriteFile(place->shm() + "/file", "shared", 0644).ok());
  EXPECT_EQ(base::ReadFile(At("GPU-1/shm/file")).value(), "shared");
  EXPECT_EQ(place->name(), At("GPU-1"));
}

// Held by descriptor: what is put in its place later is not what is used.
TEST_F(DomainPlaceTest, StaysWhatItWas) {
  const base::Result<DomainPlace> place = Open();
  ASSERT_TRUE(place.ok());
  ASSERT_TRUE(base::MakeDirectories(root_ + "/elsewhere/log", 0755).ok());
  ASSERT_EQ(rename(At("GPU-1").c_str(), At("moved").c_str()), 0);
  ASSERT_EQ(symlink((root_ + "/elsewhere").c_str(), At("GPU-1").c_str()), 0);
  ASSERT_TRUE(base::WriteFile(place->log_file(), "said", 0644).ok());
  EXPECT_FALSE(base::Exists(root_ + "/elsewhere/log/control.log"));
  EXPECT_TRUE(base::Exists(At("moved/log/control.log")));
}

TEST_F(DomainPlaceTest, NoLinkLeadsOutOfIt) {
  ASSERT_TRUE(base::MakeDirectories(root_ + "/elsewhere", 0755).ok());
  for (const char* each : {"GPU-1/log", "GPU-1/pipe", "GPU-1/shm", "GPU-1"}) {
    ASSERT_TRUE(base::RemoveTree(At(each)).ok());
    ASSERT_EQ(symlink((root_ + "/elsewhere").c_str(), At(each).c_str()), 0);
    const base::Result<DomainPlace> place = Open();
    ASSERT_FALSE(place.ok()) << each;
    EXPECT_EQ(place.error().ToString(), At(each) + " is no directory");
    ASSERT_EQ(unlink(At(each).c_str()), 0);
    ASSERT_TRUE(base::MakeDirectories(At(each), 0755).ok());
  }
}

TEST_F(DomainPlaceTest, WhatOthersMayWriteIsNotOurs) {
  for (const char* each : {"GPU-1", "GPU-1/log"}) {
    ASSERT_EQ(chmod(At(each).c_str(), 0777), 0);
    const base::Result<DomainPlace> place = Open();
    ASSERT_FALSE(place.ok()) << each;
    EXPECT_EQ(place.error().ToString(), "others may write to " + At(each));
    ASSERT_EQ(chmod(At(each).c_str(), 0755), 0);
  }
  // A tmpfs for everybody is mounted there.
  ASSERT_EQ(chmod(At("GPU-1/shm").c_str(), 01777), 0);
  EXPECT_TRUE(Open().ok());
  ASSERT_EQ(geteuid() == 0 ? chown(At("GPU-1").c_str(), 1000, 1000) : 0, 0);
  EXPECT_EQ(Open().ok(), geteuid() != 0);
}

TEST_F(DomainPlaceTest, OneThatIsMissingIsTold) {
  EXPECT_EQ(DomainPlace::Open(root_ + "/none", "GPU-1").error().hint(),
            "the agent makes it, as its mps.root");
  EXPECT_FALSE(DomainPlace::Open(root_ + "/mps", "GPU-2").ok());
}

}  // namespace
}  // namespace partita::agent::mps::pod
