#include "cdi/testing/f1.h"

#include <utility>

namespace partita::cdi::testing {
namespace {

constexpr const char* kLibraries = "/usr/lib/x86_64-linux-gnu";

DeviceNode Node(const char* path, std::int64_t major, std::int64_t minor) {
  return {.path = path,
          .host_path = {},
          .type = {},
          .major = major,
          .minor = minor,
          .file_mode = 0666,
          .permissions = "rwm",
          .uid = {},
          .gid = {}};
}

Hook MakeHook(std::vector<std::string> args) {
  args.insert(args.begin(), "nvidia-cdi-hook");
  return {.hook_name = "createContainer",
          .path = "/usr/bin/nvidia-cdi-hook",
          .args = std::move(args),
          .env = {"NVIDIA_CTK_DEBUG=false"},
          .timeout = {}};
}

Mount MakeMount(const std::string& path) {
  return {path, path, {"ro", "nosuid", "nodev", "rbind", "rprivate"}, {}};
}

ContainerEdits CommonEdits() {
  const std::string libraries = kLibraries;
  ContainerEdits edits;
  edits.env = {"NVIDIA_CTK_LIBCUDA_DIR=" + libraries, "NVIDIA_VISIBLE_DEVICES=void"};
  edits.device_nodes = {Node("/dev/nvidia-uvm", 511, 0), Node("/dev/nvidia-uvm-tools", 511, 1),
                        Node("/dev/nvidiactl", 195, 255)};
  edits.hooks = {
      MakeHook({"create-symlinks", "--link", "libcuda.so.1::" + libraries + "/libcuda.so", "--link",
                "libcuda.so.550.90.07::" + libraries + "/libcuda.so.1", "--link",
                "libnvidia-ml.so.550.90.07::" + libraries + "/libnvidia-ml.so.1"}),
      MakeHook({"enable-cuda-compat", "--host-driver-version=550.90.07"}),
      MakeHook({"update-ldcache", "--folder", libraries}),
      MakeHook({"disable-device-node-modification"}),
      MakeHook({"update-application-profile"}),
  };
  edits.mounts = {MakeMount("/usr/bin/nvidia-smi"), MakeMount(libraries + "/libcuda.so.550.90.07"),
                  MakeMount(libraries + "/libnvidia-ml.so.550.90.07")};
  return edits;
}

}  // namespace

Spec F1() {
  ContainerEdits gpu;
  gpu.device_nodes = {Node("/dev/nvidia0", 195, 0)};
  return {.version = "0.5.0",
          .kind = "nvidia.com/gpu",
          .annotations = {},
          .devices = {{"0", {}, gpu}, {"all", {}, gpu}},
          .edits = CommonEdits()};
}

}  // namespace partita::cdi::testing
