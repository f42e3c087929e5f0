// Hooks against an image that changes under them: while each runs, another process exchanges
// directories and files of the container's root for links to the host, as fast as it can. The host
// must be the same after every try, and what hooks mount lies in the container. Usage:
// torture-hook-race --hook PROGRAM [--tries N]
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita {
namespace {

[[noreturn]] void Fail(const std::string& text) {
  std::fprintf(stderr, "hook-race: %s\n", text.c_str());
  std::exit(1);
}

void Must(const base::Result<void>& result) {
  if (!result.ok()) Fail(result.error().ToString());
}

// What there is, with everything that a hook could have changed.
std::string Fingerprint(const std::string& path) {
  if (path == "/proc" || path == "/bundle") return "";
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) Fail("cannot look at " + path);
  std::string text = fmt::format("{} {:o} {} {} {}.{:09}\n", path, about.st_mode, about.st_uid,
                                 about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  if (!S_ISDIR(about.st_mode)) return text;
  const std::vector<std::string> names = *base::ListDirectory(path);
  for (const std::string& name : names) text += Fingerprint(base::JoinPath(path, name));
  return text;
}

struct Exchange {
  std::string one, other;
};

class Race {
 public:
  Race(const std::string& hook, std::string top) : top_(std::move(top)) {
    EnterWorld(*base::ReadFile(hook, std::size_t{64} << 20));
    MakeHost();
    MakeContainer();
    void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) Fail("cannot share memory");
    count_ = new (shared) std::atomic<std::uint64_t>(0);
  }

  void Run(std::uint64_t tries) {
    const std::string before = Fingerprint("/");
    const std::string mounts = *base::ReadFile("/proc/self/mountinfo");
    const pid_t racer = StartRacer();
    std::uint64_t done = 0, refused = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
      const std::vector<std::string> words = Words(i);
      const int status = Mounts(words) ? RunInOwnMounts(words) : RunHook(words);
      if (status != 0 && status != 1) Fail(fmt::format("{} ended with {}", words[1], status));
      ++(status == 0 ? done : refused);
      if (Fingerprint("/") != before)
        Fail(fmt::format("try {}: {} reached the host:\n{}was\n{}", i, words[1], Fingerprint("/"),
                         before));
    }
    kill(racer, SIGKILL);
    waitpid(racer, nullptr, 0);
    if (*base::ReadFile("/proc/self/mountinfo") != mounts) Fail("a mount stayed");
    if (*count_ < tries) Fail("the image hardly changed: nothing was shown");
    std::printf(
        "%llu tries, %llu done, %llu refused, while the image changed %llu times: the host is as "
        "it was\n",
        static_cast<unsigned long long>(tries), static_cast<unsigned long long>(done),
        static_cast<unsigned long long>(refused), static_cast<unsigned long long>(count_->load()));
  }

 private:
  [[nodiscard]] static std::string Root(const std::string& name) {
    return "/bundle/rootfs/" + name;
  }
  static void Make(const std::string& path) { Must(base::MakeDirectories(path, 0755)); }

  // A root of our own on a file system in memory, which ends with this process.
  void EnterWorld(const std::string& hook) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", top_.c_str(), "tmpfs", 0, "mode=755") != 0)
      Fail("needs root for a mount namespace");
    Must(base::WriteFile(base::JoinPath(top_, "hook"), hook, 0755));
    Make(base::JoinPath(top_, "proc"));
    Make(base::JoinPath(top_, "dev"));
    Must(base::WriteFile(base::JoinPath(top_, "dev/null"), "", 0666));
    if (mount("/proc", base::JoinPath(top_, "proc").c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount("/dev/null", base::JoinPath(top_, "dev/null").c_str(), nullptr, MS_BIND, nullptr) !=
            0 ||
        mount("tmpfs", base::JoinPath(top_, "proc/driver").c_str(), "tmpfs", 0, "mode=755") != 0 ||
        chroot(top_.c_str()) != 0 || chdir("/") != 0)
      Fail("cannot make a root of our own");
  }

  static void MakeHost() {
    for (const char* name :
         {"/etc/ld.so.conf.d", "/etc/deep", "/usr/lib", "/usr/local/cuda/compat"})
      Make(name);
    for (const char* name :
         {"/etc/ld.so.conf", "/usr/lib/file", "/usr/local/cuda/compat/libcuda.so.570.1"})
      Must(base::WriteFile(name, "secret", 0600));
    if (chmod("/etc", 0700) != 0) Fail("cannot chmod");
    // The driver of a machine with two GPUs.
    const std::string driver = "/proc/driver/nvidia/";
    for (const char* name : {"gpus/0000:00:01.0", "gpus/0000:00:02.0"}) Make(driver + name);
    Must(base::WriteFile(driver + "params", "ModifyDeviceFiles: 1\n", 0444));
    Must(base::WriteFile(driver + "gpus/0000:00:01.0/information", "Device Minor: 0\n", 0444));
    Must(base::WriteFile(driver + "gpus/0000:00:02.0/information", "Device Minor: 1\n", 0444));
    Make("/nvidia");
    Must(base::WriteFile("/nvidia/params", "secret", 0600));
  }

  // A link beside what it will take the place of.
  void Pair(const std::string& name, const std::string& target) {
    const std::string link = Root(name) + ".link";
    if (symlink(target.c_str(), link.c_str()) != 0) Fail("cannot make " + link);
    pairs_.push_back({Root(name), link});
  }

  void MakeContainer() {
    for (const char* name : {"etc/ld.so.conf.d", "usr/lib", "usr/local/cuda/compat", "dev", "proc",
                             "else/driver/nvidia"})
      Make(Root(name));
    std::string elf(64, '\0');
    elf.replace(0, 7, "\177ELF\2\1\1");
    Must(base::WriteFile(Root("usr/local/cuda/compat/libcuda.so.570.1"), elf, 0644));
    Must(base::WriteFile(Root("usr/lib/file"), "image", 0644));
    Must(base::WriteFile(Root("etc/ld.so.conf"), "/image\n", 0644));
    if (mknod(Root("dev/nvidia0").c_str(), S_IFCHR | 0666, makedev(195, 0)) != 0)
      Fail("needs root for device nodes");
    const std::string up = "../../../../../..";
    Pair("etc", "/proc/../etc");
    Pair("usr/lib", up + "/usr/lib");
    Pair("usr/lib/file", "/usr/lib/file");
    Pair("etc/ld.so.conf.d", up + "/etc/ld.so.conf.d");
    Pair("etc/ld.so.conf", "/etc/ld.so.conf");
    Pair("usr/local/cuda/compat", up + "/usr/local/cuda/compat");
    Pair("proc", "/else");
    Pair("dev", up + "/dev");
    Must(base::WriteFile("/bundle/config.json", R"({"root":{"path":"rootfs"}})", 0644));
    Must(base::WriteFile("/bundle/state", R"({"bundle":"/bundle"})", 0644));
  }

  pid_t StartRacer() {
    const pid_t racer = fork();
    if (racer != 0) return racer;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // One that lies in a directory that is away just now is not there; the next round has it.
    for (;;) {
      for (const Exchange& pair : pairs_) {
        if (renameat2(AT_FDCWD, pair.one.c_str(), AT_FDCWD, pair.other.c_str(), RENAME_EXCHANGE) ==
            0)
          ++*count_;
      }
    }
  }

  [[nodiscard]] std::vector<std::string> Words(std::uint64_t i) const {
    const std::string number = std::to_string(i % 64);
    switch (i % 7) {
      case 0:
        return {"nvidia-cdi-hook", "create-symlinks",
                "--link",          "a" + number + "::/usr/lib/n" + number,
                "--link",          "b" + number + "::/etc/deep/n" + number,
                "--link",          "c::/usr/lib/file"};
      case 1: return {"nvidia-cdi-hook", "enable-cuda-compat", "--host-driver-version=550.1"};
      case 2:
        return {"nvidia-cdi-hook", "chmod", "--mode", i % 2 == 0 ? "755" : "711",
                "--path",          "/etc",  "--path", "/usr/lib/file"};
      case 3: return {"nvidia-cdi-hook", "update-application-profile"};
      case 4: return {"nvidia-cdi-hook", "restrict-proc"};
      case 5: return {"nvidia-cdi-hook", "disable-device-node-modification"};
      default:
        return {"nvidia-cdi-hook", "update-ldcache",  "--folder",
                "/opt/" + number,  "--ldconfig-path", "/none"};
    }
  }

  static bool Mounts(const std::vector<std::string>& words) {
    return words[1] == "restrict-proc" || words[1] == "disable-device-node-modification";
  }

  // As a runtime does, with the container's /proc mounted. What the hook mounts is below that, or
  // not there. The exit status is the hook's.
  int RunInOwnMounts(const std::vector<std::string>& words) {
    const pid_t inside = fork();
    if (inside == 0) {
      if (unshare(CLONE_NEWNS) != 0) _exit(101);
      // Where the link is there just now, whoever mounts must not follow it either.
      const base::UniqueFd proc(open(Root("proc").c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY));
      const std::string here = fmt::format("/proc/self/fd/{}", proc.get());
      if (proc.valid() && mount("/proc", here.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
        _exit(102);
      const std::string before = *base::ReadFile("/proc/self/mountinfo");
      const int status = RunHook(words);
      const std::string after = *base::ReadFile("/proc/self/mountinfo");
      for (const std::string_view line : base::SplitLines(after)) {
        const std::string_view point = base::SplitWords(line)[4];
        // By either of its names.
        if (before.find(line) != std::string::npos || point.starts_with("/bundle/rootfs/proc"))
          continue;
        std::fprintf(stderr, "hook-race: %s mounted %s\n", words[1].c_str(),
                     std::string(point).c_str());
        _exit(103);
      }
      _exit(status);
    }
    int status = 0;
    waitpid(inside, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  // The exit status; 1000 and more: the signal that ended it.
  int RunHook(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    char* environment[] = {nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/bundle/state", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    if (posix_spawn(&pid, "/hook", &actions, nullptr, argv.data(), environment) != 0)
      Fail("cannot run the hook");
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  std::string top_;
  std::vector<Exchange> pairs_;
  std::atomic<std::uint64_t>* count_ = nullptr;
};

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  std::string hook;
  std::uint64_t tries = 500;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--hook") hook = argv[i + 1];
    if (word == "--tries") tries = partita::base::ParseUnsigned(argv[i + 1]).value_or(0);
  }
  if (hook.empty() || tries == 0) {
    std::fputs("usage: torture-hook-race --hook PROGRAM [--tries N]\n", stderr);
    return 2;
  }
  // The directory is below another root once we are inside: whoever stays outside removes it.
  char name[] = "/tmp/partita-race-XXXXXX";
  if (mkdtemp(name) == nullptr) return 1;
  const pid_t inside = fork();
  if (inside == 0) {
    partita::Race(hook, name).Run(tries);
    return 0;
  }
  int status = 0;
  waitpid(inside, &status, 0);
  rmdir(name);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
