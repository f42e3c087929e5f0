#include "hw/procfs/containers.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::procfs {
namespace {

using model::Container;
using model::Pid;

const std::string kId = "3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708";
const std::string kOther = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kUid = "6f0cd0a4-90a1-4f3c-8f4f-2b1a6c7d8e9f";
const std::string kSlice = "kubepods-burstable-pod6f0cd0a4_90a1_4f3c_8f4f_2b1a6c7d8e9f.slice";
// Of a pod from a file below /etc/kubernetes/manifests.
const std::string kStatic = "d41d8cd98f00b204e9800998ecf8427e";

Container InPod(std::string id, std::string uid) {
  Container container;
  container.id = std::move(id);
  container.pod_uid = std::move(uid);
  return container;
}

TEST(ParseCgroup, KnowsEverySpellingOfAPodsContainer) {
  const std::string paths[] = {
      "0::/kubepods/burstable/pod" + kUid + "/" + kId,
      "0::/kubepods/besteffort/pod" + kUid + "/" + kId + "\n",
      "0::/kubepods/pod" + kUid + "/" + kId,
      "0::/kubepods/pod" + kUid + "/crio-" + kId,
      "0::/kubepods.slice/kubepods-burstable.slice/" + kSlice + "/cri-containerd-" + kId + ".scope",
      "0::/kubepods.slice/kubepods-burstable.slice/" + kSlice + "/crio-" + kId + ".scope/container",
      "0::/kubepods.slice/kubepods-burstable.slice/" + kSlice + "/docker-" + kId + ".scope",
      // A pod that is guaranteed its resources has no class of service above it.
      "0::/kubepods.slice/kubepods-pod6f0cd0a4_90a1_4f3c_8f4f_2b1a6c7d8e9f.slice/crio-" + kId +
          ".scope",
      // Seen from a container with a cgroup namespace of its own.
      "0::/../../kubepods-besteffort.slice/" + kSlice + "/cri-containerd-" + kId + ".scope",
      // containerd under systemd, told to manage cgroups itself.
      "0::/system.slice/containerd.service/" + kSlice + ":cri-containerd:" + kId,
      // A node that is a container itself.
      "0::/docker/" + kOther + "/kubelet/kubepods/burstable/pod" + kUid + "/" + kId,
      "0::/docker/" + kOther + "/kubelet.slice/kubelet-kubepods.slice/kubelet-" + kSlice +
          "/cri-containerd-" + kId + ".scope",
      // A node within a pod: the pod out here is the one that holds.
      "0::/kubepods/pod" + kUid + "/" + kId + "/kubelet/kubepods/podabc/" + kOther,
      "0::/kubepods/burstable/pod" + kUid + "/" + kId + " (deleted)",
  };
  for (const std::string& text : paths) {
    EXPECT_EQ(ParseCgroup(text), InPod(kId, kUid)) << text;
  }
}

TEST(ParseCgroup, TakesTheHierarchyThatKnowsMost) {
  const std::string v1 = "12:devices:/\n11:memory:/process/" + kOther +
                         "\n4:cpu,cpuacct:/kubepods/pod" + kUid + "\n1:name=systemd:/kubepods/pod" +
                         kUid + "/" + kId + "\n0::/\n";
  EXPECT_EQ(ParseCgroup(v1), InPod(kId, kUid));
}

TEST(ParseCgroup, KnowsPodsFromFilesAndContainersWithoutPods) {
  EXPECT_EQ(ParseCgroup("0::/kubepods/burstable/pod" + kStatic + "/" + kId), InPod(kId, kStatic));
  EXPECT_EQ(ParseCgroup("0::/kubepods/burstable/pod" + kUid), InPod("", kUid));
  EXPECT_EQ(ParseCgroup("5:pids:/docker/" + kId), InPod(kId, ""));
  EXPECT_EQ(ParseCgroup("0::/system.slice/docker-" + kId + ".scope"), InPod(kId, ""));
  EXPECT_EQ(ParseCgroup("0::/machine.slice/libpod-" + kId + ".scope/container"), InPod(kId, ""));
}

TEST(ParseCgroup, RefusesWhatIsNoContainer) {
  for (const std::string& text :
       {std::string(), std::string("0::/"), std::string("0::"), std::string("0"),
        std::string(":::::"), std::string("0::/user.slice/user-0.slice/session-1.scope"),
        std::string("0::/podcast/pod"), "0::/podman/pod" + kUid,
        "0::/kubepods/pod\x1b[31m/" + kId.substr(1), "0::/kubepods/pod" + std::string(65, 'a'),
        "0::/" + kId + "0", "0::/" + kId.substr(1) + "G", "0::/x-pod" + kUid + ".slice"}) {
    EXPECT_EQ(ParseCgroup(text), std::nullopt) << text;
  }
}

TEST(ParsePodFolder, TakesOnlyNamesThatKubernetesGives) {
  EXPECT_EQ(ParsePodFolder("kube-system_etcd-node.1_" + kStatic),
            (Container{"", "", kStatic, "kube-system", "etcd-node.1"}));
  for (const std::string& name :
       {std::string(), std::string("default_train"), "default_train_" + kUid + "_more",
        "_train_" + kUid, "default__" + kUid, std::string("default_train_"),
        "de\x1b[31mfault_train_" + kUid, "default_tr\nain_" + kUid, "default_../../etc_" + kUid,
        "default_" + std::string(254, 'a') + "_" + kUid}) {
    EXPECT_EQ(ParsePodFolder(name), std::nullopt) << name;
  }
}

TEST(ParseContainerLog, TakesOnlyNamesThatTheKubeletGives) {
  EXPECT_EQ(ParseContainerLog("train-0_default_side-car-" + kId + ".log"),
            (Container{kId, "side-car", "", "default", "train-0"}));
  EXPECT_EQ(ParseContainerLog("train_default_main-" + kId.substr(0, 20) + ".log"),
            (Container{kId.substr(0, 20), "main", "", "default", "train"}));
  for (const std::string& name :
       {std::string(), std::string(".log"), "train_default_main-" + kId,
        "train_default_" + kId + ".log", "train_default_-" + kId + ".log",
        "train_main-" + kId + ".log", "train_default_main-" + kId.substr(0, 11) + ".log",
        "train_default_main-" + kId + "0.log", "train_default_m\tain-" + kId + ".log",
        "train_default_main-" + std::string(20, 'x') + ".log"}) {
    EXPECT_EQ(ParseContainerLog(name), std::nullopt) << name;
  }
}

void MakeProcess(const testing::Tree& tree, const std::string& pid) {
  tree.File("proc/" + pid + "/cgroup", "0::/kubepods/burstable/pod" + kUid + "/" + kId + "\n");
}

TEST(ContainerReader, NamesPodAndContainerAfterTheKubeletsLogs) {
  const testing::Tree tree;
  MakeProcess(tree, "42");
  tree.File("var/log/pods/default_train_" + kUid + "/main/0.log", "");
  tree.File("var/log/pods/default_train_" + kUid + "/side-car/0.log", "");
  tree.File("var/log/pods/other_idle_" + kStatic + "/main/0.log", "");
  tree.Link("var/log/containers/train_default_main-" + kId + ".log", "/nowhere");
  tree.Link("var/log/containers/train_default_side-car-" + kOther + ".log", "/nowhere");
  ContainerReader reader(tree.root());
  const Container train{kId, "main", kUid, "default", "train"};
  EXPECT_EQ(reader.Of(Pid(42)), train);
  EXPECT_EQ(reader.Of(Pid(42)), train) << "what was read once serves all";
  EXPECT_EQ(reader.Of(Pid(43)), std::nullopt) << "it is gone";
  EXPECT_EQ(reader.Of(Pid(0)), std::nullopt);
}

TEST(ContainerReader, MakesDoWithWhatIsThere) {
  const testing::Tree nothing;
  MakeProcess(nothing, "42");
  EXPECT_EQ(ContainerReader(nothing.root()).Of(Pid(42)), InPod(kId, kUid));

  const testing::Tree links;
  MakeProcess(links, "42");
  links.Link("var/log/containers/train_default_main-" + kId + ".log", "/nowhere");
  EXPECT_EQ(ContainerReader(links.root()).Of(Pid(42)),
            (Container{kId, "main", kUid, "default", "train"}));

  const testing::Tree folders;
  MakeProcess(folders, "42");
  folders.File("var/log/pods/default_train_" + kUid + "/main/0.log", "");
  EXPECT_EQ(ContainerReader(folders.root()).Of(Pid(42)),
            (Container{kId, "main", kUid, "default", "train"}));
  folders.File("var/log/pods/default_train_" + kUid + "/set-up/0.log", "");
  EXPECT_EQ(ContainerReader(folders.root()).Of(Pid(42)),
            (Container{kId, "", kUid, "default", "train"}))
      << "nothing says which of two it is";
}

TEST(ContainerReader, FindsALogWhoseNameTheKubeletCut) {
  const testing::Tree tree;
  MakeProcess(tree, "42");
  tree.Link("var/log/containers/train_default_main-" + kId.substr(0, 30) + ".log", "/nowhere");
  tree.Link("var/log/containers/train_default_other-" + kOther + ".log", "/nowhere");
  EXPECT_EQ(ContainerReader(tree.root()).Of(Pid(42)),
            (Container{kId, "main", kUid, "default", "train"}));
}

}  // namespace
}  // namespace partita::hw::procfs
