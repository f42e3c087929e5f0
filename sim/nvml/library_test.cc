// The built libnvidia-ml.so.1 as a client finds it: loaded at run time, beside a node's files.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/nvml/nvml_calls.h"
#include "sim/state/life.h"
#include "sim/state/mig.h"
#include "sim/state/render.h"
#include "sim/state/test_node.h"

namespace partita::sim::nvml {
namespace {

struct Library {
  explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    EXPECT_NE(handle, nullptr) << dlerror();
  }
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class F>
  F Get(F, const char* name) const {
    return reinterpret_cast<F>(dlsym(handle, name));
  }
  void* handle;
};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name is quoted as it is.
#define CALL(library, function) (library).Get(&function, #function)

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

class SharedLibrary : public testing::Test {
 protected:
  SharedLibrary() : node_("dgx-a100-40") {
    setenv("PARTITA_SIM_STATE", node_.state().c_str(), 1);
    setenv("PARTITA_SIM_VISIBILITY", "off", 1);
  }
  void TearDown() override { unsetenv("PARTITA_SIM_VISIBILITY"); }

  NodeDirectory node_;
};

TEST_F(SharedLibrary, SurvivesAThousandLoads) {
  nvmlDevice_t first = nullptr;
  size_t descriptors = 0;
  for (int i = 0; i < 1000; ++i) {
    const Library library(PARTITA_SIM_LIBRARY);
    ASSERT_EQ(CALL(library, nvmlInit_v2)(), NVML_SUCCESS);
    nvmlDevice_t device = nullptr;
    ASSERT_EQ(CALL(library, nvmlDeviceGetHandleByIndex_v2)(3, &device), NVML_SUCCESS);
    if (first == nullptr) first = device;
    ASSERT_EQ(device, first);
    char name[96];
    ASSERT_EQ(CALL(library, nvmlDeviceGetName)(device, name, sizeof name), NVML_SUCCESS);
    ASSERT_EQ(CALL(library, nvmlShutdown)(), NVML_SUCCESS);
    if (i == 0) descriptors = OpenDescriptors();
  }
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

TEST_F(SharedLibrary, ForkedChildrenKeepTheHandles) {
  const Library library(PARTITA_SIM_LIBRARY);
  ASSERT_EQ(CALL(library, nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(CALL(library, nvmlDeviceGetHandleByIndex_v2)(1, &device), NVML_SUCCESS);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(
        StatusOf(InChild([&] {
          unsigned int minor = 9;
          if (CALL(library, nvmlDeviceGetMinorNumber)(device, &minor) != NVML_ERROR_UNINITIALIZED) {
            return 1;
          }
          if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 2;
          return CALL(library, nvmlDeviceGetMinorNumber)(device, &minor) == NVML_SUCCESS ? 0 : 3;
        })),
        0);
  }
  ASSERT_EQ(CALL(library, nvmlShutdown)(), NVML_SUCCESS);
}

TEST_F(SharedLibrary, FindsTheNodeThatItLiesIn) {
  unsetenv("PARTITA_SIM_STATE");
  const std::string directory = node_.root() + "/usr/lib64";
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file(PARTITA_SIM_LIBRARY, directory + "/libnvidia-ml.so.580.159.04");
  std::filesystem::create_symlink("libnvidia-ml.so.580.159.04", directory + "/libnvidia-ml.so.1");
  const std::string elsewhere = node_.root() + "/link.so";
  std::filesystem::create_symlink(directory + "/libnvidia-ml.so.1", elsewhere);
  const Library library(elsewhere);
  ASSERT_EQ(CALL(library, nvmlInit_v2)(), NVML_SUCCESS);
  unsigned int count = 0;
  EXPECT_EQ(CALL(library, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 8U);
  EXPECT_EQ(CALL(library, nvmlShutdown)(), NVML_SUCCESS);
}

// ---- with device nodes: a private /dev in a child
// ------------------------------------------------

class Visibility : public testing::Test {
 protected:
  Visibility() : node_("dgx-a100-40") { unsetenv("PARTITA_SIM_VISIBILITY"); }

  // Runs `body` where /dev holds the node's rendered nodes, as `partita-sim run` shows them.
  int WithDev(const std::function<int(const Library&)>& body) {
    return StatusOf(InChild([&] {
      if (unshare(CLONE_NEWNS) != 0) return 77;
      if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
      if (RenderDriverFiles(node_.root().c_str(), node_.machine(), node_.Snapshot()) != 0)
        return 77;
      if (mount((node_.root() + "/dev").c_str(), "/dev", nullptr, MS_BIND, nullptr) != 0) return 77;
      setenv("PARTITA_SIM_STATE", node_.state().c_str(), 1);
      const Library library(PARTITA_SIM_LIBRARY);
      return body(library);
    }));
  }

  static unsigned int Count(const Library& library) {
    unsigned int count = 99;
    return CALL(library, nvmlDeviceGetCount_v2)(&count) == NVML_SUCCESS ? count : 98;
  }

  NodeDirectory node_;
};
#define SKIP_WITHOUT_ROOT(status)                                                \
  if ((status) == 77)                                                            \
  GTEST_SKIP() << "no right to make mounts and nodes: run as root to test which" \
                  " GPUs a process sees"

TEST_F(Visibility, AGpuWhoseNodeCannotBeOpenedIsLeftOut) {
  const int status = WithDev([&](const Library& library) {
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
    if (Count(library) != 8) return 2;
    CALL(library, nvmlShutdown)();
    unlink("/dev/nvidia2");
    mount(node_.state().c_str(), "/dev/nvidia5", nullptr, MS_BIND, nullptr);  // masked
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 3;
    if (Count(library) != 6) return 4;
    nvmlDevice_t device = nullptr;
    unsigned int minor = 99;
    if (CALL(library, nvmlDeviceGetHandleByIndex_v2)(2, &device) != NVML_SUCCESS) return 5;
    CALL(library, nvmlDeviceGetMinorNumber)(device, &minor);
    return minor == 3 ? 0 : 6;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, WithoutTheControlNodeThereIsNoDriver) {
  const int status = WithDev([&](const Library& library) {
    chmod("/dev/nvidiactl", 0600);
    if (seteuid(65534) != 0) return 1;
    if (CALL(library, nvmlInit_v2)() != NVML_ERROR_NO_PERMISSION) return 2;
    if (seteuid(0) != 0) return 3;
    unlink("/dev/nvidiactl");
    return CALL(library, nvmlInit_v2)() == NVML_ERROR_DRIVER_NOT_LOADED ? 0 : 4;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, NoNodesAtAllIsNoGpuAndNoError) {
  const int status = WithDev([&](const Library& library) {
    for (int minor = 0; minor < 8; ++minor) unlink(("/dev/nvidia" + std::to_string(minor)).c_str());
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
    return Count(library) == 0 ? 0 : 2;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

// How many descriptors of this process begin so.
int Open(const std::string& what) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    count +=
        std::filesystem::read_symlink(entry.path(), ignored).string().starts_with(what) ? 1 : 0;
  }
  return count;
}

TEST_F(Visibility, TheNodesAreHeldFromInitToTheLastShutdown) {
  const int status = WithDev([&](const Library& library) {
    const auto holds = Open;
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
    if (holds("/dev/nvidiactl") != 1 || holds("/dev/nvidia-uvm") != 2 ||
        holds("/dev/nvidia7") != 1 || holds("/dev/nvidia-caps/nvidia-cap1") != 1 ||
        holds("/dev/nvidia-caps/nvidia-cap2") != 1) {
      return 2;
    }
    CALL(library, nvmlShutdown)();
    if (holds("/dev/nvidia7") != 1) return 3;
    CALL(library, nvmlShutdown)();
    return holds("/dev/nvidia") == 0 ? 0 : 4;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, AHandleAndARegistrationOpenTheNodeOfTheirGpuAgain) {
  const int status = WithDev([&](const Library& library) {
    nvmlDevice_t gpu = nullptr;
    nvmlEventSet_t sets[2] = {};
    CALL(library, nvmlInit_v2)();
    if (Open("/dev/nvidia3") != 1) return 1;
    for (int i = 0; i < 2; ++i) {
      if (CALL(library, nvmlDeviceGetHandleByIndex_v2)(3, &gpu) != NVML_SUCCESS) return 2;
      if (Open("/dev/nvidia3") != 3 || Open("/dev/nvidia4") != 1) return 3;
    }
    for (int i = 0; i < 2; ++i) {
      if (CALL(library, nvmlEventSetCreate)(&sets[i]) != NVML_SUCCESS) return 4;
      const auto register_for = [&](unsigned long long types) {
        return CALL(library, nvmlDeviceRegisterEvents)(gpu, types, sets[i]);
      };
      if (register_for(0) != NVML_SUCCESS || Open("/dev/nvidia3") != 3 + i) return 5;
      if (register_for(kEventXid) != NVML_SUCCESS || Open("/dev/nvidia3") != 4 + i) return 6;
      if (register_for(0x2) != NVML_SUCCESS || Open("/dev/nvidia3") != 4 + i) return 7;
    }
    for (int i = 0; i < 2; ++i) {
      if (CALL(library, nvmlEventSetFree)(sets[i]) != NVML_SUCCESS) return 8;
      if (Open("/dev/nvidia3") != 4 - i) return 9;
    }
    CALL(library, nvmlShutdown)();
    return Open("/dev/nvidia") == 0 ? 0 : 10;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, ASetThatNobodyFreedKeepsItsNodeOpen) {
  const int status = WithDev([&](const Library& library) {
    nvmlDevice_t gpu = nullptr;
    nvmlEventSet_t set = nullptr;
    CALL(library, nvmlInit_v2)();
    CALL(library, nvmlDeviceGetHandleByIndex_v2)(3, &gpu);
    CALL(library, nvmlEventSetCreate)(&set);
    if (CALL(library, nvmlDeviceRegisterEvents)(gpu, kEventXid, set) != NVML_SUCCESS) return 1;
    if (CALL(library, nvmlShutdown)() != NVML_SUCCESS) return 2;
    if (Open("/dev/nvidia") != 1 || Open("/dev/nvidia3") != 1) return 3;
    CALL(library, nvmlInit_v2)();
    if (CALL(library, nvmlEventSetFree)(set) != NVML_ERROR_INVALID_ARGUMENT) return 4;
    CALL(library, nvmlShutdown)();
    return Open("/dev/nvidia") == 1 ? 0 : 5;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, EventfdsAndPipesStayAndNothingIsAddedToThem) {
  const int status = WithDev([&](const Library& library) {
    const int pipes = Open("pipe:");
    const int eventfds = Open("anon_inode:[eventfd]");
    size_t first = 0;
    for (int i = 0; i < 100; ++i) {
      nvmlDevice_t gpu = nullptr;
      nvmlEventSet_t set = nullptr;
      if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
      CALL(library, nvmlDeviceGetHandleByIndex_v2)(0, &gpu);
      CALL(library, nvmlEventSetCreate)(&set);
      CALL(library, nvmlDeviceRegisterEvents)(gpu, kEventXid, set);
      if (CALL(library, nvmlEventSetFree)(set) != NVML_SUCCESS) return 2;
      if (CALL(library, nvmlShutdown)() != NVML_SUCCESS) return 3;
      if (Open("pipe:") != pipes + 4 || Open("anon_inode:[eventfd]") != eventfds + 2) return 4;
      if (i == 0) first = OpenDescriptors();
    }
    return OpenDescriptors() == first ? 0 : 5;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

TEST_F(Visibility, AMigDeviceNeedsItsCapabilityNodes) {
  node_.Change([&](Slot& slot) {
    const Board& board = node_.machine().boards[0];
    Gpu& gpu = slot.gpus[0];
    gpu.mig_current = gpu.mig_pending = 1;
    for (const uint32_t start : {0U, 1U, 2U}) {
      uint32_t gi = 0, ci = 0;
      CreateGpuInstance(board, gpu, *FindGiProfile(board, 0), start, start + 1, &gi);
      CreateComputeInstance(board, gpu.instances[gi], *FindCiProfile(board, 0, 0), kNone, &ci);
    }
  });
  const int status = WithDev([&](const Library& library) {
    const auto visible = [&] {
      nvmlDevice_t gpu = nullptr, mig = nullptr;
      CALL(library, nvmlDeviceGetHandleByIndex_v2)(0, &gpu);
      int count = 0;
      for (unsigned int i = 0; i < 7; ++i) {
        const auto code = CALL(library, nvmlDeviceGetMigDeviceHandleByIndex)(gpu, i, &mig);
        count += code == NVML_SUCCESS ? 1 : 0;
      }
      return count;
    };
    if (CALL(library, nvmlInit_v2)() != NVML_SUCCESS) return 1;
    // Also of what the library remembers once the folder has been left alone for a while.
    struct stat folder {};
    if (stat("/dev/nvidia-caps", &folder) != 0) return 4;
    const auto rested_ms = [&folder] {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      return (now.tv_sec - folder.st_ctim.tv_sec) * 1000 +
             (now.tv_nsec - folder.st_ctim.tv_nsec) / 1000000;
    };
    while (rested_ms() < 50) {
      if (visible() != 3) return 2;
    }
    if (visible() != 3) return 2;
    // Of the instance at start 1, which is GPU instance 12 of GPU 0.
    unlink(
        ("/dev/nvidia-caps/nvidia-cap" + std::to_string(ComputeInstanceMinor(0, 12, 0))).c_str());
    return visible() == 2 ? 0 : 3;
  });
  SKIP_WITHOUT_ROOT(status);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace partita::sim::nvml
