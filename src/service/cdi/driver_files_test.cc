#include "service/cdi/driver_files.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "service/cdi/testing/driver_tree.h"

namespace partita::service::cdi {
namespace {

using partita::cdi::Capability;
using partita::cdi::DriverFile;
using partita::cdi::FileKind;
using testing::DriverTree;
using Paths = std::vector<std::string>;

constexpr const char* kDebian = "/usr/lib/x86_64-linux-gnu";

base::Result<DriverFiles> ReadFiles(const DriverTree& tree,
                                    const FileOptions& options = {},
                                    const std::string& version = "550.90.07") {
  return ReadDriverFiles(tree.Open(), {}, version, options);
}

Paths PathsOf(const std::vector<DriverFile>& files, std::optional<FileKind> kind = std::nullopt) {
  Paths paths;
  for (const DriverFile& file : files) {
    if (!kind || file.kind == *kind) paths.push_back(file.container_path);
  }
  return paths;
}

Paths ShownLinks(const std::vector<Link>& links) {
  Paths shown;
  for (const Link& link : links) shown.push_back(link.target + "::" + link.link);
  return shown;
}

TEST(DriverFiles, FindsF1) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->version, "550.90.07");
  EXPECT_EQ(files->library_directories, Paths{kDebian});
  EXPECT_EQ(PathsOf(files->driver),
            (Paths{"/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07",
                   "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07", "/usr/bin/nvidia-smi"}));
  EXPECT_EQ(ShownLinks(files->driver_links),
            (Paths{"libcuda.so.1::/usr/lib/x86_64-linux-gnu/libcuda.so",
                   "libcuda.so.550.90.07::/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                   "libnvidia-ml.so.550.90.07::/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"}));
  EXPECT_EQ(files->driver[0].soname, "libcuda.so.1");
  EXPECT_EQ(files->driver[0].of, std::vector<Capability>{Capability::kCompute});
  EXPECT_EQ(files->driver[2].of, std::vector<Capability>{Capability::kUtility});
  EXPECT_TRUE(files->graphics.empty());
  EXPECT_TRUE(files->warnings.empty());
}

TEST(DriverFiles, ReadsTheVersionFromTheLibraries) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  const auto files = ReadFiles(tree, {}, "");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->version, "550.90.07");
}

TEST(DriverFiles, OnlyInTheCache) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree, "/var/lib/nvidia/lib64");
  tree.File("/etc/ld.so.cache",
            testing::LdCache({{"libcuda.so.1", "/var/lib/nvidia/lib64/libcuda.so.1", true}}));
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->library_directories, Paths{"/var/lib/nvidia/lib64"});
  // Beside it is what the cache does not list.
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary),
            (Paths{"/var/lib/nvidia/lib64/libcuda.so.550.90.07",
                   "/var/lib/nvidia/lib64/libnvidia-ml.so.550.90.07"}));
}

TEST(DriverFiles, TwoDirectories) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.Library("/usr/lib64/libnvidia-cfg.so.550.90.07", "libnvidia-cfg.so.1");
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->library_directories, (Paths{"/usr/lib64", kDebian}));
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary).size(), 3U);
}

TEST(DriverFiles, Vdpau) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.Library(std::string(kDebian) + "/vdpau/libvdpau_nvidia.so.550.90.07",
               "libvdpau_nvidia.so.1");
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary).back(),
            "/usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.550.90.07");
}

TEST(DriverFiles, VersionMismatch) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree, kDebian, "535.104.05");
  const auto files = ReadFiles(tree);
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(files.error().ToString(),
            "the driver is 550.90.07, but its libraries below / are of 535.104.05");
}

TEST(DriverFiles, SaysThatThereIsNoDriver) {
  const DriverTree tree;
  EXPECT_EQ(ReadFiles(tree).error().ToString(), "no libcuda.so.* or libnvidia-ml.so.* below /");
}

// A container gets what the driver root has, under the path that it has in there.
TEST(DriverFiles, HaveTheRootOnTheHostAlone) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree, "/usr/lib64");
  tree.Link("/usr/local/bin/nvidia-debugdump", "/usr/bin/nvidia-smi");
  const DriverRoot driver = tree.Open("/run/nvidia/driver");
  const auto files = ReadDriverFiles(driver, {}, "550.90.07", {});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->driver[0].host_path, "/run/nvidia/driver/usr/lib64/libcuda.so.550.90.07");
  EXPECT_EQ(files->driver[0].container_path, "/usr/lib64/libcuda.so.550.90.07");
  const DriverFile& linked = files->driver.back();
  EXPECT_EQ(linked.container_path, "/usr/local/bin/nvidia-debugdump");
  EXPECT_EQ(linked.host_path, "/run/nvidia/driver/usr/bin/nvidia-smi");
}

TEST(DriverFiles, FirmwareUcodesToo) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.File("/lib/firmware/nvidia/550.90.07/gsp_ga10x.bin");
  tree.File("/lib/firmware/nvidia/550.90.07/ucodes_x.bin");
  tree.File("/lib/firmware/nvidia/535.1/gsp_ga10x.bin");
  tree.File("/opt/firmware/nvidia/550.90.07/gsp_tu10x.bin");
  Search search;
  search.firmware_class_path = "/opt/firmware";
  search.kernel_release = "6.1.0";
  const auto files = ReadDriverFiles(tree.Open(), search, "550.90.07", {});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(PathsOf(files->driver, FileKind::kFirmware),
            (Paths{"/opt/firmware/nvidia/550.90.07/gsp_tu10x.bin",
                   "/lib/firmware/nvidia/550.90.07/gsp_ga10x.bin",
                   "/lib/firmware/nvidia/550.90.07/ucodes_x.bin"}));
}

TEST(DriverFiles, SocketsAndTheMpsDirectory) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.File("/var/run/nvidia-persistenced/socket");
  tree.File("/run/nvidia-fabricmanager/socket");
  tree.Folder("/tmp/nvidia-mps");
  const Paths sockets = {"/var/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket"};
  EXPECT_EQ(PathsOf(ReadFiles(tree, {.mps_directory = false})->driver, FileKind::kSocket), sockets);
  EXPECT_EQ(PathsOf(ReadFiles(tree)->driver, FileKind::kSocket),
            (Paths{sockets[0], sockets[1], "/tmp/nvidia-mps"}));
  EXPECT_EQ(PathsOf(ReadFiles(tree, {.ipc = false})->driver, FileKind::kSocket), Paths());
}

TEST(DriverFiles, LibrariesWithoutTheVersionWhenAsked) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  const std::string folder = kDebian;
  tree.Library(folder + "/libnvidia-nvvm70.so.4", "libnvidia-nvvm70.so.4");
  tree.Library(folder + "/libEGL.so.1.1.0", "libEGL.so.1", {"libEGL.so.1", "libEGL.so"});
  EXPECT_EQ(PathsOf(ReadFiles(tree)->driver, FileKind::kLibrary).back(),
            folder + "/libnvidia-nvvm70.so.4");
  const auto files = ReadFiles(tree, {.explicit_libraries = true});
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary).back(), folder + "/libEGL.so.1.1.0");
  EXPECT_EQ(ShownLinks(files->driver_links).back(), "libEGL.so.1::" + folder + "/libEGL.so");
}

TEST(DriverFiles, LinksThatProgramsExpect) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  const std::string folder = kDebian;
  tree.Library(folder + "/libGLX_nvidia.so.550.90.07", "libGLX_nvidia.so.0");
  tree.Library(folder + "/libnvidia-opticalflow.so.550.90.07", "libnvidia-opticalflow.so.1");
  tree.Library(folder + "/libnvidia-tls.so.550.90.07", "", {"libnvidia-tls.so"});
  const Paths links = ShownLinks(ReadFiles(tree)->driver_links);
  const auto has = [&](const std::string& link) {
    return std::find(links.begin(), links.end(), link) != links.end();
  };
  EXPECT_TRUE(has("libGLX_nvidia.so.550.90.07::" + folder + "/libGLX_indirect.so.0"));
  EXPECT_TRUE(has("libnvidia-opticalflow.so.1::" + folder + "/libnvidia-opticalflow.so"));
  // Without a SONAME the file's own name is it.
  EXPECT_TRUE(has("libnvidia-tls.so.550.90.07::" + folder + "/libnvidia-tls.so"));
  // The host has no libGLX_nvidia.so.0: only ldconfig makes it.
  EXPECT_FALSE(has("libGLX_nvidia.so.550.90.07::" + folder + "/libGLX_nvidia.so.0"));
}

TEST(DriverFiles, ALibraryThatCannotBeReadIsAWarning) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.File("/usr/lib/x86_64-linux-gnu/libnvidia-cfg.so.550.90.07", "no ELF");
  tree.Library("/usr/lib/x86_64-linux-gnu/libnvidia-fbc.so.550.90.07", "../../../tmp/x");
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->warnings.size(), 1U);
  EXPECT_TRUE(
      files->warnings[0].starts_with("/usr/lib/x86_64-linux-gnu/libnvidia-cfg.so.550.90.07"))
      << files->warnings[0];
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary).size(), 4U);
  for (const Link& link : files->driver_links) EXPECT_EQ(link.link.find(".."), std::string::npos);
}

TEST(DriverFiles, ThirtyTwoBitsAreForThePrestartHookAlone) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  tree.File("/usr/lib/i386-linux-gnu/libcuda.so.550.90.07");
  tree.Link("/usr/lib/i386-linux-gnu/libcuda.so.1", "libcuda.so.550.90.07");
  tree.Program("/usr/bin/nv-fabricmanager");
  tree.File("/etc/ld.so.cache",
            testing::LdCache({{"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", false},
                              {"libc.so.6", "/usr/lib/i386-linux-gnu/libc.so.6", false}}));
  const auto files = ReadFiles(tree);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(PathsOf(files->driver, FileKind::kLibrary).size(), 2U);
  ASSERT_EQ(PathsOf(files->legacy),
            (Paths{"/usr/lib/i386-linux-gnu/libcuda.so.550.90.07", "/usr/bin/nv-fabricmanager"}));
  EXPECT_TRUE(files->legacy[0].elf32);
}

// The capture says which names there are; links are as a driver's installer makes them.
void MakeH200(const DriverTree& tree) {
  const std::string version = "580.159.04", real = "/usr/local/nvidia/lib64/";
  const base::Result<std::string> text = base::ReadFile("data/captures/h200/libs.txt");
  ASSERT_TRUE(text.ok()) << text.error().ToString();
  std::vector<CachedLibrary> cached;
  std::set<std::string> names;
  for (const std::string_view line : base::SplitLines(*text)) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string_view::npos) {
      names.emplace(line);
      continue;
    }
    const std::vector<std::string_view> words = base::SplitWords(line);
    cached.push_back({std::string(words[0]), std::string(line.substr(arrow + 4)), true});
  }
  tree.File("/etc/ld.so.cache", testing::LdCache(cached));
  tree.Link("/lib", "usr/lib");
  for (const std::string& name : names) {
    const std::string file(NameOf(name));
    const bool library = file.find(".so") != std::string::npos;
    if (name.starts_with("/usr/lib/")) {
      tree.Link(name, real + file);
    } else if (name.starts_with("/usr/bin/")) {
      tree.Link(name, "/usr/local/nvidia/bin/" + file);
    } else if (name.starts_with("/usr/local/nvidia/bin/")) {
      tree.Program(name);
    } else if (library && name.ends_with(version)) {
      const std::string stem = file.substr(0, file.size() - version.size());
      std::string soname = file;
      for (const std::string& other : names) {
        if (other.starts_with(real + stem) && other.size() == real.size() + stem.size() + 1)
          soname = NameOf(other);
      }
      tree.Library(name, soname);
    } else if (name.starts_with(real)) {
      tree.Link(name, file.substr(0, file.find(".so") + 3) + "." + version);
    } else if (library || name.ends_with(".bin")) {
      tree.File(name, testing::SharedObject(file));
    }
  }
}

TEST(DriverFiles, H200Layout) {
  const DriverTree tree;
  MakeH200(tree);
  Search search;
  search.firmware_class_path = "/usr/local/nvidia/firmware";
  const auto files = ReadDriverFiles(tree.Open(), search, "580.159.04", {});
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->library_directories, Paths{"/usr/local/nvidia/lib64"});
  const Paths libraries = PathsOf(files->driver, FileKind::kLibrary);
  EXPECT_EQ(libraries.size(), 26U);
  for (const std::string& path : libraries) {
    EXPECT_TRUE(path.starts_with("/usr/local/nvidia/lib64/lib")) << path;
    EXPECT_TRUE(path.ends_with(".so.580.159.04")) << path;
  }
  EXPECT_EQ(PathsOf(files->driver, FileKind::kFirmware),
            (Paths{"/usr/local/nvidia/firmware/nvidia/580.159.04/gsp_ga10x.bin",
                   "/usr/local/nvidia/firmware/nvidia/580.159.04/gsp_tu10x.bin"}));
  EXPECT_EQ(PathsOf(files->driver, FileKind::kBinary),
            (Paths{"/usr/bin/nvidia-smi", "/usr/bin/nvidia-persistenced",
                   "/usr/bin/nvidia-cuda-mps-control", "/usr/bin/nvidia-cuda-mps-server"}));
  EXPECT_TRUE(files->warnings.empty()) << files->warnings[0];
}

}  // namespace
}  // namespace partita::service::cdi
