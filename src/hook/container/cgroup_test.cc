#include "hook/container/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hook {
namespace {

constexpr char kMixed[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "36 31 0:33 / /sys/fs/cgroup/devices rw,relatime shared:9 - cgroup cgroup rw,devices\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr char kUnified[] =
    "41 23 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

std::string FoundCgroup(const base::Result<DeviceCgroup>& found) {
  if (!found.ok()) return found.error().ToString();
  return fmt::format("v{} {}", found->version, found->directory);
}

TEST(FindDeviceCgroup, VersionOneCountsFirst) {
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kMixed, "9:cpu,devices:/docker/a:b\n0::/system.slice\n")),
            "v1 /sys/fs/cgroup/devices/docker/a:b");
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kUnified, "0::/system.slice/docker-c.scope\n")),
            "v2 /sys/fs/cgroup/system.slice/docker-c.scope");
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kMixed, "1:name=systemd:/x\n0::/y\n")),
            "v2 /sys/fs/cgroup/unified/y");
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kUnified, "0::/\n")), "v2 /sys/fs/cgroup");
}

TEST(FindDeviceCgroup, APartOfTheHierarchyIsTakenOff) {
  constexpr char kPart[] =
      "36 31 0:33 /outer\\040one /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n";
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kPart, "9:devices:/outer one/c\n")),
            "v1 /sys/fs/cgroup/devices/c");
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kPart, "9:devices:/outer one\n")),
            "v1 /sys/fs/cgroup/devices");
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup(kPart, "9:devices:/outer ones/c\n")),
            "the container's cgroup /outer ones/c is not below /outer one, which is mounted at "
            "/sys/fs/cgroup/devices");
}

TEST(FindDeviceCgroup, WhatIsOutsideIsAnError) {
  for (const char* path : {"/../x", "/..", "/a/../../x", "relative"}) {
    const auto found = FindDeviceCgroup(kUnified, fmt::format("0::{}\n", path));
    ASSERT_FALSE(found.ok()) << path;
    EXPECT_EQ(found.error().code(), base::ErrorCode::kInvalid);
  }
  EXPECT_EQ(FoundCgroup(FindDeviceCgroup("", "0::/x\n")),
            "no cgroup hierarchy that decides about devices is mounted");
}

// A cgroup of our own in the hierarchy of this version, as if there were no other.
base::Result<DeviceCgroup> FindOwnCgroup(int version) {
  const char* line = version == 1 ? "7:devices:/" : "0::/";
  return FindDeviceCgroup(*base::ReadFile("/proc/self/mountinfo"),
                          fmt::format("{}partita-test-{}\n", line, getpid()));
}

// Few machines have both. In CI no test skips, so that what is not here is no test.
std::vector<int> CgroupVersionsHere() {
  std::vector<int> here;
  for (const int version : {1, 2}) {
    const auto found = FindOwnCgroup(version);
    if (!found.ok() || found->version != version) continue;
    const std::string above = found->directory.substr(0, found->directory.rfind('/'));
    if (access(above.c_str(), W_OK) == 0) here.push_back(version);
  }
  return here;
}

// A process in a cgroup of its own that may open /dev/null alone, and answers what it may.
class AllowDevicesTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const auto found = FindOwnCgroup(GetParam());
    ASSERT_TRUE(found.ok()) << found.error().ToString();
    ASSERT_EQ(mkdir(found->directory.c_str(), 0755), 0) << found->directory;
    directory_ = found->directory;
    Start();
  }
  void TearDown() override {
    if (child_ > 0) {
      to_.Reset();
      waitpid(child_, nullptr, 0);
    }
    if (!directory_.empty()) rmdir(directory_.c_str());
  }

  // errno of opening the path in that cgroup.
  int Open(const char* path) {
    const std::string asked = std::string(path) + '\n';
    EXPECT_EQ(write(to_.get(), asked.data(), asked.size()), static_cast<ssize_t>(asked.size()));
    int answer = -1;
    EXPECT_EQ(read(from_.get(), &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
    return answer;
  }

  // What AllowDevices says on a host that has this version alone.
  std::string Allow() {
    int told[2];
    EXPECT_EQ(pipe2(told, O_CLOEXEC), 0);
    const base::UniqueFd from(told[0]);
    base::UniqueFd to(told[1]);
    const pid_t hook = fork();
    if (hook == 0) {
      const base::Result<void> allowed = SeeOnlyThisVersion()
                                             ? AllowDevices(child_, {&kZero, 1})
                                             : base::ErrnoError("see one version of cgroups");
      const std::string text = allowed.ok() ? "" : allowed.error().ToString();
      _exit(write(to.get(), text.data(), text.size()) < 0 ? 1 : 0);
    }
    to.Reset();
    std::string said(4096, '\0');
    said.resize(static_cast<std::size_t>(read(from.get(), said.data(), said.size())));
    int status = -1;
    EXPECT_EQ(waitpid(hook, &status, 0), hook);
    EXPECT_EQ(status, 0);
    return said;
  }

  static constexpr DeviceRule kZero{'c', 1, 5, true, true, false};
  pid_t child_ = 0;
  std::string directory_;

 private:
  static bool SeeOnlyThisVersion() {
    if (GetParam() == 1) return true;  // it counts first
    return unshare(CLONE_NEWNS) == 0 &&
           mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           umount2("/sys/fs/cgroup", MNT_DETACH) == 0 &&
           mount("none", "/sys/fs/cgroup", "cgroup2", 0, nullptr) == 0;
  }
  void Start() {
    int to[2], from[2];
    ASSERT_EQ(pipe2(to, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(from, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      close(to[1]);
      Answer(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    to_.Reset(to[1]);
    from_.Reset(from[0]);
    ASSERT_TRUE(base::WriteFile(directory_ + "/cgroup.procs", std::to_string(child_), 0644).ok());
  }
  [[noreturn]] static void Answer(int questions, int answers) {
    std::string path;
    for (char c = 0; read(questions, &c, 1) == 1;) {
      if (c != '\n') {
        path += c;
        continue;
      }
      const base::UniqueFd opened(open(path.c_str(), O_RDWR | O_CLOEXEC));
      const int answer = opened.valid() ? 0 : errno;
      if (write(answers, &answer, sizeof answer) < 0) break;
      path.clear();
    }
    _exit(0);
  }
  base::UniqueFd to_, from_;
};

// Attached as runtimes do: more than one may be.
bool AttachOnlyNull(const std::string& directory) {
  const auto made = [](unsigned code, unsigned to, unsigned from, int offset, int value) {
    bpf_insn each = {};
    each.code = static_cast<std::uint8_t>(code);
    each.dst_reg = static_cast<std::uint8_t>(to & 0xfU);
    each.src_reg = static_cast<std::uint8_t>(from & 0xfU);
    each.off = static_cast<std::int16_t>(offset);
    each.imm = value;
    return each;
  };
  const bpf_insn program[] = {made(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_5, BPF_REG_1, 8, 0),
                              made(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
                              made(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_5, 0, 1, 3),
                              made(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
                              made(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
  bpf_attr load = {};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<std::uintptr_t>(program);
  load.insn_cnt = std::size(program);
  load.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  const base::UniqueFd fd(static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load)));
  const base::UniqueFd cgroup(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bpf_attr attach = {};
  attach.target_fd = static_cast<std::uint32_t>(cgroup.get());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(fd.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  return fd.valid() && syscall(SYS_bpf, BPF_PROG_ATTACH, &attach, sizeof attach) == 0;
}

TEST_P(AllowDevicesTest, TheRuleIsAddedAndTheOthersStay) {
  if (GetParam() == 1) {
    ASSERT_TRUE(base::WriteFile(directory_ + "/devices.deny", "a", 0644).ok());
    ASSERT_TRUE(base::WriteFile(directory_ + "/devices.allow", "c 1:3 rwm", 0644).ok());
  } else {
    // Several, as where a service of systemd runs the runtime in its own.
    ASSERT_TRUE(AttachOnlyNull(directory_) && AttachOnlyNull(directory_));
  }
  EXPECT_EQ(Open("/dev/null"), 0);
  EXPECT_EQ(Open("/dev/zero"), EPERM);
  EXPECT_EQ(Open("/dev/full"), EPERM);
  ASSERT_EQ(Allow(), "");
  EXPECT_EQ(Open("/dev/null"), 0);
  EXPECT_EQ(Open("/dev/zero"), 0);
  EXPECT_EQ(Open("/dev/full"), EPERM);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AllowDevicesTest);
INSTANTIATE_TEST_SUITE_P(Cgroup, AllowDevicesTest, testing::ValuesIn(CgroupVersionsHere()));

TEST(AllowDevices, SaysWhichProcessIsMissing) {
  constexpr DeviceRule kRule{'c', 1, 5, true, true, false};
  const auto allowed = AllowDevices(4194305, {&kRule, 1});
  ASSERT_FALSE(allowed.ok());
  EXPECT_EQ(allowed.error().ToString(),
            "open /proc/4194305/cgroup: No such file or directory (errno 2)");
}

}  // namespace
}  // namespace partita::hook
