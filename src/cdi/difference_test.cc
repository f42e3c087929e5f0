#include "cdi/difference.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cdi/testing/f1.h"

namespace partita::cdi {

void PrintTo(const Difference& difference, std::ostream* out) {
  *out << difference.where << ": [" << difference.before << "] [" << difference.after << "]";
}

namespace {

using testing::F1;
using Found = std::vector<Difference>;

TEST(CdiDifference, NamesDeviceAndNode) {
  Spec before = F1();
  before.devices[0].name = "0:1";
  Spec after = before;
  after.devices[0].edits.device_nodes.push_back(
      {.path = "/dev/nvidia-caps/nvidia-cap12", .type = "c", .major = 241, .minor = 12});
  EXPECT_EQ(Differences(before, after),
            (Found{{"device 0:1: node /dev/nvidia-caps/nvidia-cap12", "", "c 241:12"}}));
  EXPECT_EQ(Differences(after, before),
            (Found{{"device 0:1: node /dev/nvidia-caps/nvidia-cap12", "c 241:12", ""}}));
}

TEST(CdiDifference, IsNothingWhereTheEffectIsTheSame) {
  const Spec before = F1();
  EXPECT_EQ(Differences(before, before), Found{});
  Spec after = before;
  DeviceNode& node = after.devices[0].edits.device_nodes[0];
  node.permissions = "";
  node.host_path = node.path;
  node.type = "c";
  std::reverse(after.devices.begin(), after.devices.end());
  std::reverse(after.edits.device_nodes.begin(), after.edits.device_nodes.end());
  std::reverse(after.edits.mounts.begin(), after.edits.mounts.end());
  // What comes later is what a container gets.
  after.edits.mounts.insert(after.edits.mounts.begin(), after.edits.mounts[0]);
  after.edits.mounts[0].host_path = "/x";
  std::reverse(after.edits.mounts[1].options.begin(), after.edits.mounts[1].options.end());
  EXPECT_EQ(Differences(before, after), Found{});
}

TEST(CdiDifference, ShowsNodesAndMountsInFull) {
  const Spec before = F1();
  Spec after = before;
  after.devices[0].edits.device_nodes[0] = {.path = "/dev/nvidia0",
                                            .host_path = "/run/nvidia/driver/dev/nvidia0",
                                            .type = {},
                                            .major = 195,
                                            .minor = 3,
                                            .file_mode = 0660,
                                            .permissions = "wr",
                                            .uid = 1,
                                            .gid = 44};
  after.edits.mounts[0].host_path = "/opt/nvidia-smi";
  after.edits.mounts[0].options = {"bind", "ro"};
  after.edits.mounts[0].type = "bind";
  EXPECT_EQ(Differences(before, after),
            (Found{{"device 0: node /dev/nvidia0", "195:0, mode 0666",
                    "195:3, mode 0660, access rw, uid 1, gid 44, from "
                    "/run/nvidia/driver/dev/nvidia0"},
                   {"common edits: mount /usr/bin/nvidia-smi",
                    "/usr/bin/nvidia-smi (nodev,nosuid,rbind,ro,rprivate)",
                    "/opt/nvidia-smi, type bind (bind,ro)"}}));
}

TEST(CdiDifference, NamesDevicesThatCameAndWent) {
  const Spec before = F1();
  Spec after = before;
  after.version = "0.6.0";
  after.kind = "nvidia.com/mig";
  after.annotations = {{"a", "b"}};
  after.devices[0].name = "1";
  after.edits.additional_gids = {109, 44, 44};
  after.edits.net_devices = {{"eth0", "net1"}};
  EXPECT_EQ(Differences(before, after), (Found{{"cdiVersion", "0.5.0", "0.6.0"},
                                               {"kind", "nvidia.com/gpu", "nvidia.com/mig"},
                                               {"annotation a", "", "b"},
                                               {"device 0", "there", ""},
                                               {"device 1", "", "there"},
                                               {"common edits: net device eth0", "", "net1"},
                                               {"common edits: additionalGids", "", "44, 109"}}));
}

TEST(CdiDifference, FindsTheLinkThatIsMissing) {
  const Spec before = F1();
  Spec after = before;
  std::vector<std::string>& args = after.edits.hooks[0].args;
  args.erase(args.begin() + 4, args.begin() + 6);
  EXPECT_EQ(Differences(before, after),
            (Found{{"common edits: hook createContainer create-symlinks",
                    "--link libcuda.so.550.90.07::/usr/lib/x86_64-linux-gnu/libcuda.so.1", ""}}));
}

TEST(CdiDifference, ComparesHooksByWhatTheyDo) {
  const Spec before = F1();
  Spec after = before;
  std::swap(after.edits.hooks[1], after.edits.hooks[2]);
  after.edits.hooks.pop_back();
  after.edits.hooks[0].path = "/usr/bin/nvidia-ctk";
  after.edits.hooks[0].args[0] = "nvidia-ctk";
  after.edits.hooks[0].args.insert(after.edits.hooks[0].args.begin() + 1, "hook");
  after.edits.hooks.push_back({"poststop", "/bin/x", {}, {"A=b"}, 3});
  EXPECT_EQ(
      Differences(before, after),
      (Found{
          {"common edits: hook createContainer create-symlinks", "path /usr/bin/nvidia-cdi-hook",
           "path /usr/bin/nvidia-ctk"},
          {"common edits: hook createContainer create-symlinks", "nvidia-cdi-hook", "nvidia-ctk"},
          {"common edits: hook createContainer create-symlinks", "", "hook"},
          {"common edits: hook createContainer update-application-profile",
           "path /usr/bin/nvidia-cdi-hook nvidia-cdi-hook update-application-profile env "
           "NVIDIA_CTK_DEBUG=false",
           ""},
          {"common edits: hook poststop", "", "path /bin/x env A=b timeout 3 s"},
          {"common edits: order of hooks",
           "createContainer create-symlinks, createContainer enable-cuda-compat, "
           "createContainer update-ldcache, createContainer disable-device-node-modification",
           "createContainer create-symlinks, createContainer update-ldcache, "
           "createContainer enable-cuda-compat, "
           "createContainer disable-device-node-modification"}}));
}

TEST(CdiDifference, ComparesEnvInOrder) {
  const Spec before = F1();
  Spec after = before;
  after.edits.env = {"NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64", "NVIDIA_VISIBLE_DEVICES=void", "A=b"};
  EXPECT_EQ(Differences(before, after),
            (Found{{"common edits: env", "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu",
                    "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64"},
                   {"common edits: env", "", "A=b"}}));
}

TEST(CdiDifference, OfVeryLongListsTakesNoMoreThanTheirLength) {
  Spec before = F1(), after = F1();
  for (int i = 0; i < 50'000; ++i) {
    before.edits.env.push_back("A" + std::to_string(i) + "=x");
    after.edits.env.push_back("B" + std::to_string(i) + "=x");
  }
  EXPECT_EQ(Differences(before, after).size(), 50'000u);
}

}  // namespace
}  // namespace partita::cdi
