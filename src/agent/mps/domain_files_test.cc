#include "agent/mps/domain_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "agent/mps/control.h"
#include "base/files.h"

namespace partita::agent::mps {
namespace {

class DomainFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    machine_.root = std::string(directory_.data()) + "/mps";
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(directory_.data()).ok()); }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  Machine machine_;
};

TEST_F(DomainFiles, DirectoriesAreForEveryUserWhateverTheUmask) {
  const mode_t before = umask(0077);
  const base::Result<void> made = PrepareDirectories(machine_, "GPU-1");
  umask(before);
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  for (const char* path : {"", "/GPU-1", "/GPU-1/pipe", "/GPU-1/log", "/GPU-1/shm"}) {
    struct stat about {};
    ASSERT_EQ(stat((machine_.root + path).c_str(), &about), 0) << path;
    EXPECT_EQ(about.st_mode & 07777, std::string(path).ends_with("shm") ? 01777U : 0755U) << path;
  }
}

TEST_F(DomainFiles, NothingStaysInAPipeDirectoryAndNoLinkIsFollowed) {
  ASSERT_TRUE(PrepareDirectories(machine_, "GPU-1").ok());
  const service::mps::Directories directories = service::mps::DirectoriesOf(machine_.root, "GPU-1");
  const std::string victim = machine_.root + "/victim";
  ASSERT_TRUE(base::WriteFile(victim, "mine", 0600).ok());
  ASSERT_EQ(symlink(victim.c_str(), (directories.pipe + "/control_lock").c_str()), 0);
  ASSERT_EQ(mkfifo((directories.pipe + "/log").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((directories.pipe + "/control").c_str(), 0700), 0);
  const base::Result<void> emptied = EmptyPipeDirectory(directories);
  ASSERT_TRUE(emptied.ok()) << emptied.error().ToString();
  EXPECT_EQ(base::ListDirectory(directories.pipe).value(), std::vector<std::string>());
  EXPECT_EQ(base::ReadFile(victim).value(), "mine");

  ASSERT_EQ(rmdir(directories.pipe.c_str()), 0);
  ASSERT_EQ(symlink(directories.log.c_str(), directories.pipe.c_str()), 0);
  EXPECT_FALSE(EmptyPipeDirectory(directories).ok()) << "a link was followed";
}

TEST_F(DomainFiles, ARecordIsThereUntilItIsRemoved) {
  ASSERT_TRUE(PrepareDirectories(machine_, "GPU-1").ok());
  const service::mps::Directories directories = service::mps::DirectoriesOf(machine_.root, "GPU-1");
  std::string why;
  EXPECT_EQ(ReadRecord(directories, &why), std::nullopt);
  service::mps::Record record;
  record.domain.name = "GPU-1";
  record.process = {.pid = model::Pid(4711), .start_time = 1, .boot_id = "b"};
  ASSERT_TRUE(WriteRecord(directories, record).ok());
  record.process.start_time = 2;
  ASSERT_TRUE(WriteRecord(directories, record).ok());
  EXPECT_EQ(ReadRecord(directories, &why), record);
  EXPECT_EQ(why, "");
  RemoveRecord(directories);
  EXPECT_EQ(ReadRecord(directories, &why), std::nullopt);
}

TEST_F(DomainFiles, LastWordsAreTheLastLine) {
  ASSERT_TRUE(PrepareDirectories(machine_, "GPU-1").ok());
  const service::mps::Directories directories = service::mps::DirectoriesOf(machine_.root, "GPU-1");
  EXPECT_EQ(LastWords(directories), "");
  ASSERT_TRUE(base::WriteFile(LogFile(directories), "one\ntwo\n", 0644).ok());
  EXPECT_EQ(LastWords(directories), "two");
}

TEST_F(DomainFiles, NobodyThereIsUnavailable) {
  ASSERT_TRUE(PrepareDirectories(machine_, "GPU-1").ok());
  const std::string program = std::string(directory_.data()) + "/control";
  ASSERT_TRUE(base::WriteFile(program,
                              "#!/bin/sh\nwhile read c; do case $c in known) echo yes;; "
                              "odd) echo odd; exit 3;; *) echo Cannot find MPS control daemon "
                              "process >&2; exit 1;; esac; done\n",
                              0755)
                  .ok());
  const Control control(program, service::mps::DirectoriesOf(machine_.root, "GPU-1"), nullptr);
  EXPECT_EQ(control.Ask("known").value(), "yes\n");
  EXPECT_EQ(control.AskAll({"known", "known"}).value(), "yes\nyes\n");
  EXPECT_EQ(control.AskAll({"known", "odd"}).error().ToString(),
            "nvidia-cuda-mps-control \"known; odd\": ended with status 3: yes\nodd");
  const base::Result<std::string> none = control.Ask("none");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(none.error().ToString(),
            "nvidia-cuda-mps-control \"none\": Cannot find MPS control daemon process");
  const base::Result<std::string> odd = control.Ask("odd");
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().ToString(), "nvidia-cuda-mps-control \"odd\": ended with status 3: odd");
}

}  // namespace
}  // namespace partita::agent::mps
