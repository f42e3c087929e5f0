#include "service/toolkit/diagnose.h"

#include <gtest/gtest.h>

namespace partita::service::toolkit {
namespace {

// A host on which everything is as it should be.
HostFacts Healthy() {
  HostFacts facts;
  facts.bus.resize(1);
  facts.bus[0].driver = "nvidia";
  facts.driver = hw::procfs::KernelModule{"580.65.06", true};
  facts.gpus.resize(1);
  facts.gpus[0].minor = model::DeviceMinor(0);
  facts.nodes = {{"/dev/nvidia-uvm", 240, 0, 0666},
                 {"/dev/nvidia0", 195, 0, 0666},
                 {"/dev/nvidiactl", 195, 255, 0666}};
  facts.majors = {{"nvidia", 195}, {"nvidia-uvm", 240}};
  facts.library = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
  facts.library_version = "580.65.06";
  facts.specs = {{"/var/run/cdi/nvidia.yaml", "nvidia.com/gpu", "0.5.0", {"0", "all"}, {}}};
  facts.hooks = {{"/usr/bin/partita-hook", true, true, false}};
  facts.engines = {
      {Engine::kDocker, "/usr/sbin/dockerd", "27.1.0", R"({"runtimes": {"nvidia": {}}})"},
      {Engine::kContainerd, "/usr/bin/containerd", "2.1.0",
       "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\n"}};
  facts.has_runtime = facts.has_docker_hook = true;
  return facts;
}

// Everything that is not good, one a line: "level id: what [mend]".
std::string Wrong(const HostFacts& facts) {
  std::string text;
  for (const Finding& each : Diagnose(facts)) {
    if (each.level != Level::kGood)
      text += fmt::format("{} {}: {} [{}]\n", ToString(each.level), each.id, each.what, each.mend);
  }
  return text;
}

TEST(Diagnose, FindsNothingWrongWithAHealthyHost) {
  EXPECT_EQ(Wrong(Healthy()), "");
  EXPECT_FALSE(LacksDriver(Healthy()));
}

TEST(Diagnose, GoesFromTheBusToTheEngines) {
  std::vector<std::string> ids;
  for (const Finding& each : Diagnose(Healthy())) ids.push_back(each.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"gpu", "module", "nodes", "library", "cdi", "hook",
                                           "docker", "containerd"}));
}

TEST(Diagnose, NoDriver) {
  HostFacts facts = Healthy();
  facts.driver.reset();
  facts.library_error = "cannot load";
  EXPECT_TRUE(LacksDriver(facts));
  EXPECT_EQ(Wrong(facts),
            "bad module: the kernel module nvidia is not loaded [modprobe nvidia]\n"
            "not-checked nodes: device nodes are known once the module is loaded []\n"
            "bad library: cannot load []\n");
}

TEST(Diagnose, NouveauHasTheGpu) {
  HostFacts facts = Healthy();
  facts.bus[0].driver = "nouveau";
  EXPECT_NE(Wrong(facts).find("nouveau has 0000:00:00.0, so NVIDIA's cannot [modprobe -r nouveau"),
            std::string::npos)
      << Wrong(facts);
  facts.bus.clear();
  EXPECT_EQ(Wrong(facts), "warning gpu: no NVIDIA GPU is on the PCI bus []\n");
}

TEST(Diagnose, ModuleForCudaIsMissing) {
  HostFacts facts = Healthy();
  facts.majors.erase("nvidia-uvm");
  EXPECT_EQ(Wrong(facts),
            "bad uvm: the kernel module nvidia-uvm is not loaded: CUDA finds no device [modprobe "
            "nvidia-uvm]\n");
}

TEST(Diagnose, NodesMissingOrOfAnotherMajor) {
  HostFacts facts = Healthy();
  facts.nodes.erase(facts.nodes.begin());
  facts.nodes[0].major = 511;
  EXPECT_EQ(Wrong(facts),
            "bad node-major: /dev/nvidia0 has major 511, but the driver registered 195 [rm "
            "/dev/nvidia0 && nvidia-modprobe -u -c 0]\n"
            "bad nodes: device nodes are missing: /dev/nvidia-uvm [nvidia-modprobe -u -c 0]\n");
}

TEST(Diagnose, LibraryOfAnotherDriver) {
  HostFacts facts = Healthy();
  facts.library_version = "575.57.08";
  EXPECT_EQ(
      Wrong(facts),
      "bad library: the library is of driver 575.57.08 and the loaded kernel module of "
      "580.65.06: the driver was replaced and the old module still runs [systemctl reboot]\n");
}

TEST(Diagnose, CdiAbsentStaleOrDamaged) {
  HostFacts facts = Healthy();
  facts.specs[0].missing = {"/a", "/b", "/c", "/d", "/e"};
  facts.spec_problems = {"/etc/cdi/x.json: no valid JSON"};
  facts.open_spec_directories = {"/etc/cdi"};
  facts.misnamed_specs = {"/etc/cdi/gpu.yml"};
  EXPECT_EQ(
      Wrong(facts),
      "bad cdi-directory: others than root may write in /etc/cdi, and so choose what runs as "
      "root [chown root:root /etc/cdi && chmod go-w /etc/cdi]\n"
      "warning cdi-name: nobody reads /etc/cdi/gpu.yml: CDI files end in .yaml or .json [mv -n "
      "/etc/cdi/gpu.yml /etc/cdi/gpu.yaml]\n"
      "bad cdi-file: /etc/cdi/x.json: no valid JSON []\n"
      "bad cdi-stale: /var/run/cdi/nvidia.yaml names what this host has not: /a, /b, /c and 2 "
      "more [partita cdi generate /var/run/cdi/nvidia.yaml]\n");
  facts = Healthy();
  facts.specs.clear();
  EXPECT_EQ(Wrong(facts),
            "warning cdi: no CDI file has devices of nvidia.com/gpu [partita cdi generate "
            "/var/run/cdi/nvidia.yaml]\n");
}

TEST(Diagnose, PodmanAndTheVersionOfCdi) {
  HostFacts facts = Healthy();
  facts.engines.push_back({Engine::kPodman, "/usr/bin/podman", "4.9.4"});
  EXPECT_EQ(Wrong(facts), "");
  facts.specs[0].version = "0.7.0";
  EXPECT_EQ(Wrong(facts),
            "bad cdi-version: podman 4.9.4 reads CDI up to 0.6.0, and /var/run/cdi/nvidia.yaml has "
            "0.7.0 [partita cdi generate --cdi-version-max 0.6.0 "
            "/var/run/cdi/nvidia.yaml]\n");
  facts.engines.back().version = "5.5.0";
  EXPECT_EQ(Wrong(facts),
            "warning cdi-podman: podman 5.5.0 may not look into /var/run/cdi, where "
            "/var/run/cdi/nvidia.yaml is [partita cdi generate /etc/cdi/nvidia.yaml]\n");
  facts.engines.back().version = "";
  EXPECT_EQ(Wrong(facts), "");
  facts.engines.back().version = "3.4.4";
  facts.specs[0].version = "0.5.0";
  EXPECT_EQ(Wrong(facts),
            "warning podman: podman 3.4.4 has no CDI: it needs the hook file [partita runtime "
            "configure --runtime podman]\n");
}

TEST(Diagnose, HooksThatAreMissingOrOpen) {
  HostFacts facts = Healthy();
  facts.hooks = {{"/opt/a", false, false, false, "/etc/cdi/x.yaml"},
                 {"/opt/b", true, false, false},
                 {"/opt/c", true, true, true}};
  EXPECT_EQ(
      Wrong(facts),
      "bad hook: /opt/a is named as a hook and is not there: no container with it starts "
      "[partita cdi generate /etc/cdi/x.yaml]\n"
      "bad hook: /opt/b is named as a hook and cannot be executed: no container with it "
      "starts [chmod 0755 /opt/b]\n"
      "bad hook-mode: others than root may change /opt/c, which runs as root [chown root:root "
      "/opt/c /opt && chmod go-w /opt/c /opt]\n");
}

TEST(Diagnose, AHookFileBesideCdiIsTwice) {
  HostFacts facts = Healthy();
  facts.hook_files = {"/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"};
  EXPECT_TRUE(Wrong(facts).starts_with("warning hooks.d: ")) << Wrong(facts);
  facts.engines.push_back({Engine::kPodman, "/usr/bin/podman", "4.3.1"});
  EXPECT_EQ(Wrong(facts),
            "bad hooks.d: /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json injects devices "
            "into every container, and CDI files do it too: with both, a container gets them twice "
            "[rm /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json]\n");
  facts.specs.clear();
  EXPECT_EQ(Wrong(facts).find("hooks.d"), std::string::npos);
}

TEST(Diagnose, OldPodmanPassesOverTheHookFileBelowEtc) {
  HostFacts facts = Healthy();
  facts.specs.clear();
  facts.hook_files = {"/etc/containers/oci/hooks.d/oci-nvidia-hook.json"};
  facts.engines = {{Engine::kPodman, "/usr/bin/podman", "4.3.1"}};
  EXPECT_NE(
      Wrong(facts).find("warning hooks.d: podman 4.3.1 reads "
                        "/etc/containers/oci/hooks.d/oci-nvidia-hook.json only where hooks_dir of "
                        "containers.conf names its folder [mv "
                        "/etc/containers/oci/hooks.d/oci-nvidia-hook.json "
                        "/usr/share/containers/oci/hooks.d/]\n"),
      std::string::npos)
      << Wrong(facts);
  facts.engines[0].version = "5.0.0";
  EXPECT_EQ(Wrong(facts).find("hooks.d"), std::string::npos);
  facts.engines[0].version = "4.3.1";
  facts.hook_files = {"/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"};
  EXPECT_EQ(Wrong(facts).find("hooks.d"), std::string::npos);
}

TEST(Diagnose, WhatSystemdTakesFromDocker) {
  HostFacts facts = Healthy();
  facts.has_systemd = true;
  EXPECT_EQ(Wrong(facts), "") << "cgroups of version 1 are docker's own";
  facts.unified_cgroups = true;
  const std::string gpus =
      "warning docker-cgroups: docker keeps containers in systemd's cgroups: a container with "
      "--gpus, but not one with --device nvidia.com/gpu=all, loses its GPUs with systemctl "
      "daemon-reload [partita runtime configure --runtime docker --enable-cdi]\n";
  EXPECT_EQ(Wrong(facts), gpus);
  facts.engines[0].version = "28.2.0";
  EXPECT_NE(Wrong(facts).find("daemon-reload []"), std::string::npos) << Wrong(facts);
  facts.engines[0].version = "20.10.24";
  EXPECT_NE(Wrong(facts).find("not one with --runtime nvidia, loses its GPUs with systemctl "
                              "daemon-reload [partita runtime configure --runtime docker]"),
            std::string::npos)
      << Wrong(facts);

  const char own[] = R"({"runtimes": {"nvidia": {}}, "exec-opts": ["native.cgroupdriver=)";
  facts.engines[0].config = std::string(own) + "cgroupfs\"]}";
  EXPECT_EQ(Wrong(facts), "");
  facts.unified_cgroups = facts.has_docker_hook = false;
  facts.engines[0].config = std::string(own) + "systemd\"]}";
  facts.runtime_mode = "legacy";
  EXPECT_NE(Wrong(facts).find(
                "warning docker-cgroups: docker keeps containers in systemd's cgroups: a container "
                "of the runtime nvidia loses its GPUs with systemctl daemon-reload [nvidia-ctk "
                "config --in-place --set nvidia-container-runtime.mode=auto]\n"),
            std::string::npos)
      << Wrong(facts);
}

TEST(Diagnose, WhatSystemdTakesFromContainerd) {
  HostFacts facts = Healthy();
  *facts.engines[1].config += "options.SystemdCgroup = true\n";
  EXPECT_EQ(Wrong(facts), "");
  facts.runtime_mode = "legacy";
  EXPECT_EQ(Wrong(facts),
            "warning containerd-cgroups: containerd keeps containers in systemd's cgroups: a pod "
            "of the runtime nvidia loses its GPUs with systemctl daemon-reload [nvidia-ctk config "
            "--in-place --set nvidia-container-runtime.mode=auto]\n");
}

TEST(Diagnose, EnginesThatDoNotKnowTheRuntime) {
  HostFacts facts = Healthy();
  facts.engines[0].config = "";
  facts.engines[1].config = "version = 2\n";
  facts.engines[1].version = "1.7.24";
  facts.has_runtime = facts.has_docker_hook = false;
  EXPECT_EQ(
      Wrong(facts),
      "warning runtime: nvidia-container-runtime is not installed [apt install "
      "partita-toolkit]\n"
      "warning docker: docker knows no runtime nvidia: --runtime nvidia is refused [partita "
      "runtime configure --runtime docker]\n"
      "warning docker-gpus: nvidia-container-runtime-hook is not installed: docker run --gpus "
      "is refused [apt install partita-toolkit && systemctl restart docker]\n"
      "warning containerd: containerd knows no runtime nvidia: pods of that class do not "
      "start [partita runtime configure --runtime containerd]\n"
      "warning containerd-cdi: containerd 1.7.24 has CDI switched off [partita runtime "
      "configure --runtime containerd --enable-cdi]\n");
  facts.engines[1].drop_in =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = true\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\n";
  EXPECT_EQ(Wrong(facts).find("containerd"), std::string::npos);
  facts.engines[0].config = "{";
  facts.engines[1].config = "version =";
  EXPECT_NE(Wrong(facts).find("bad docker: /etc/docker/daemon.json: no valid JSON"),
            std::string::npos);
  EXPECT_NE(Wrong(facts).find("bad containerd: /etc/containerd/config.toml:1:10:"),
            std::string::npos);
  facts.engines.clear();
  EXPECT_NE(Wrong(facts).find("not-checked engines: no docker, containerd or podman"),
            std::string::npos);
}

TEST(VersionIn, FindsTheNumber) {
  EXPECT_EQ(VersionIn("podman version 4.3.1\n"), "4.3.1");
  EXPECT_EQ(VersionIn("Docker version 20.10.24+dfsg1, build 297e128\n"), "20.10.24");
  EXPECT_EQ(VersionIn("containerd github.com/containerd/containerd v1.7.24 88bf19b\n"), "1.7.24");
  EXPECT_EQ(VersionIn("no\n1.2"), "");
}

}  // namespace
}  // namespace partita::service::toolkit
