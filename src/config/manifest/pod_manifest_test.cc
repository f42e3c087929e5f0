#include "config/manifest/pod_manifest.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

constexpr const char* kPodHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n";

ManifestFile ReadManifest(const std::string& text) {
  base::Result<ManifestFile> file = ManifestFile::Parse(text, "pod.yaml");
  EXPECT_TRUE(file.ok()) << file.error().ToString();
  return *std::move(file);
}

PodManifest PodOf(const std::string& spec) {
  const ManifestFile file = ReadManifest(kPodHead + spec);
  EXPECT_EQ(file.pods().size(), 1U);
  return file.pods().front();
}

// One container, whose resources are given.
PodManifest PodWith(const std::string& resources) {
  return PodOf("  containers:\n  - name: c\n    image: i\n    resources: {" + resources + "}\n");
}

std::string Shown(const PodManifest& pod, const ManifestFile& file) {
  std::string text;
  for (const ManifestFlaw& flaw : pod.flaws)
    text += file.Show(flaw.place, flaw.message, flaw.hint) + "\n";
  return text;
}

std::string FlawsOf(const std::string& spec) {
  const ManifestFile file = ReadManifest(kPodHead + spec);
  return Shown(file.pods().front(), file);
}

std::string ErrorOf(const std::string& text) {
  const base::Result<ManifestFile> file = ManifestFile::Parse(text, "pod.yaml");
  return file.ok() ? "" : file.error().ToString();
}

TEST(ManifestFile, ReadsWhatAPodAsksFor) {
  const PodManifest pod =
      PodWith("limits: {nvidia.com/mig-1g.5gb: 2, cpu: 1, nvidia.com/gpu: '1'}");
  EXPECT_EQ(pod.kind, "Pod");
  EXPECT_EQ(pod.name, "p");
  EXPECT_TRUE(pod.flaws.empty());
  ASSERT_EQ(pod.containers.size(), 1U);
  ASSERT_EQ(pod.containers[0].resources.size(), 2U) << "in the order of the file, without cpu";
  EXPECT_EQ(pod.containers[0].resources[0].name, "nvidia.com/mig-1g.5gb");
  EXPECT_EQ(pod.containers[0].resources[0].count, 2U);
  EXPECT_EQ(pod.containers[0].resources[1].name, "nvidia.com/gpu");
  EXPECT_EQ(pod.containers[0].resources[1].place.line, 8);
}

TEST(ManifestFile, FindsPodsInTemplatesAndLists) {
  const std::string spec = "spec: {containers: [{name: c, image: i}]}";
  struct Row {
    const char *api, *kind;
    std::string rest;
    std::uint64_t replicas;
  };
  const Row rows[] = {
      {"apps/v1", "Deployment", "spec: {replicas: 3, template: {" + spec + "}}", 3},
      {"apps/v1", "StatefulSet", "spec: {template: {" + spec + "}}", 1},
      {"apps/v1", "DaemonSet", "spec: {template: {" + spec + "}}", 1},
      {"apps/v1", "ReplicaSet", "spec: {replicas: 0, template: {" + spec + "}}", 0},
      {"batch/v1", "Job", "spec: {parallelism: 4, template: {" + spec + "}}", 4},
      {"batch/v1", "CronJob", "spec: {jobTemplate: {spec: {template: {" + spec + "}}}}", 1},
      {"v1", "ReplicationController", "spec: {replicas: 2, template: {" + spec + "}}", 2},
      {"v1", "PodTemplate", "template: {" + spec + "}", 1},
      {"v1", "List",
       "items: [{apiVersion: v1, kind: Pod, metadata: {name: n}, " + spec +
           "}, {apiVersion: v1, kind: Service}]",
       1},
  };
  for (const Row& row : rows) {
    const ManifestFile file =
        ReadManifest("apiVersion: " + std::string(row.api) + "\nkind: " + row.kind +
                     "\nmetadata: {name: n}\n" + row.rest);
    ASSERT_EQ(file.pods().size(), 1U) << row.kind;
    EXPECT_EQ(file.pods()[0].containers.size(), 1U) << row.kind;
    EXPECT_EQ(file.pods()[0].replicas, row.replicas) << row.kind;
    EXPECT_EQ(file.pods()[0].name, "n") << row.kind;
  }
}

TEST(ManifestFile, ReadsSeveralDocumentsWithTheirOwnAnchors) {
  const ManifestFile file = ReadManifest(std::string("---\n# nothing\n---\n") + kPodHead +
                                         "  containers: [&c {name: c, image: i}]\n---\n" +
                                         kPodHead + "  containers: [{name: d, image: i}]\n---\n" +
                                         "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
  EXPECT_EQ(file.pods().size(), 2U);
  ASSERT_EQ(file.others().size(), 1U);
  EXPECT_EQ(file.others()[0].kind, "Service");
  EXPECT_EQ(file.others()[0].name, "s");
  EXPECT_EQ(ErrorOf("a: &x 1\n---\nb: *x\n"),
            "pod.yaml:3:4: unknown anchor \"x\"\n    3 | b: *x\n      |    ^^");
}

TEST(ManifestFile, KnowsInOrderWhatRunsBeforeWhat) {
  const PodManifest pod = PodOf(
      "  initContainers:\n  - {name: a, image: i, resources: {limits: {nvidia.com/gpu: 2}}}\n"
      "  - {name: b, image: i, restartPolicy: Always}\n  containers:\n  - {name: c, image: i}\n");
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].role, ContainerRole::kInit);
  EXPECT_EQ(pod.containers[1].role, ContainerRole::kSidecar);
  EXPECT_EQ(pod.containers[2].role, ContainerRole::kMain);
}

TEST(ManifestFile, TellsWhatTheApiServerRefusesOfDevices) {
  const std::string begin = "  containers:\n  - name: c\n    image: i\n    resources:\n";
  EXPECT_EQ(FlawsOf(begin + "      requests: {nvidia.com/gpu: 1}\n"),
            "pod.yaml:9:34: a request of nvidia.com/gpu without a limit\n"
            "    9 |       requests: {nvidia.com/gpu: 1}\n"
            "      |                                  ^ write it under limits: requests follow\n");
  EXPECT_EQ(
      FlawsOf(begin + "      requests: {nvidia.com/gpu: 1}\n      limits: {nvidia.com/gpu: 2}\n"),
      "pod.yaml:9:34: the request of nvidia.com/gpu differs from its limit of 2\n"
      "    9 |       requests: {nvidia.com/gpu: 1}\n"
      "      |                                  ^ devices are not overcommitted: both must be the "
      "same; leave the request out\n");
  EXPECT_EQ(FlawsOf(begin + "      limits: {nvidia.com/gpu: 500m}\n"),
            "pod.yaml:9:32: 500m of nvidia.com/gpu is no whole number\n"
            "    9 |       limits: {nvidia.com/gpu: 500m}\n"
            "      |                                ^^^^ a part of a GPU is a MIG device "
            "(nvidia.com/mig-…) or a share of its own\n");
  EXPECT_EQ(FlawsOf(begin + "      limits: {nvidia.com/gpu: one}\n"),
            "pod.yaml:9:32: \"one\" is no amount of nvidia.com/gpu\n"
            "    9 |       limits: {nvidia.com/gpu: one}\n"
            "      |                                ^^^ write a whole number\n");
  EXPECT_EQ(FlawsOf(begin + "      limits: {gpu: 1}\n"),
            "pod.yaml:9:16: \"gpu\" is no resource\n"
            "    9 |       limits: {gpu: 1}\n"
            "      |                ^^^ devices have a domain in front: nvidia.com/gpu\n");
  EXPECT_TRUE(
      PodWith("limits: {nvidia.com/gpu: 1000m}, requests: {nvidia.com/gpu: '1'}").flaws.empty())
      << "the same amount, written otherwise";
}

TEST(ManifestFile, TellsWhatIsNoLabel) {
  const std::string begin = "  containers: [{name: c, image: i}]\n  nodeSelector:\n";
  EXPECT_EQ(FlawsOf(begin + "    nvidia.com/cuda.runtime: 11.4\n"),
            "pod.yaml:7:30: 11.4 is no text to YAML, and labels are texts\n"
            "    7 |     nvidia.com/cuda.runtime: 11.4\n"
            "      |                              ^^^^ write \"11.4\"\n");
  EXPECT_EQ(FlawsOf(begin + "    nvidia.com/gpu.product: A100-PCIE-40GB MIG 1g.5gb\n"),
            "pod.yaml:7:29: \"A100-PCIE-40GB MIG 1g.5gb\" is no value of a label\n"
            "    7 |     nvidia.com/gpu.product: A100-PCIE-40GB MIG 1g.5gb\n"
            "      |                             ^^^^^^^^^^^^^^^^^^^^^^^^^ labels have dashes: "
            "A100-PCIE-40GB-MIG-1g.5gb\n");
  const PodManifest pod = PodOf(begin + "    a: 470.161.03\n    b: '11.4'\n    c: e1\n    d: ''\n");
  EXPECT_TRUE(pod.flaws.empty());
  ASSERT_EQ(pod.selector.size(), 4U);
  EXPECT_EQ(pod.selector[0].values, std::vector<std::string>{"470.161.03"});
  for (const char* word : {"1", "1.0", ".5", "-1", "0x1F", "1_000", "1e3", "true", "No", "OFF"})
    EXPECT_EQ(PodOf(begin + "    a: " + word + "\n").flaws.size(), 1U) << word;
}

TEST(ManifestFile, ReadsASelectorThatWasIndentedTooFar) {
  const std::string spec = "  containers:\n  - name: c\n    image: i\n    nodeSelector: {a: b}\n";
  EXPECT_EQ(FlawsOf(spec),
            "pod.yaml:8:5: nodeSelector is a field of the pod, not of a container\n"
            "    8 |     nodeSelector: {a: b}\n"
            "      |     ^^^^^^^^^^^^ write it beside containers\n");
  EXPECT_EQ(PodOf(spec).selector.size(), 1U);
}

TEST(ManifestFile, ReadsRequiredAffinity) {
  const PodManifest pod = PodOf(
      "  containers: [{name: c, image: i}]\n"
      "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:\n"
      "    {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [x, y]},\n"
      "      {key: b, operator: Exists}]}, {},\n"
      "      {matchExpressions: [{key: m, operator: Gt, values: ['4']}]}]}}}\n");
  ASSERT_EQ(pod.affinity.size(), 3U);
  ASSERT_EQ(pod.affinity[0].rules.size(), 2U);
  EXPECT_EQ(pod.affinity[0].rules[0].values, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(pod.affinity[0].rules[1].op, LabelOperator::kExists);
  EXPECT_TRUE(pod.affinity[1].rules.empty());
  EXPECT_EQ(pod.affinity[2].rules[0].op, LabelOperator::kGt);
}

TEST(ManifestFile, RefusesAnAffinityWithoutTerms) {
  const std::string begin =
      "  containers: [{name: c, image: i}]\n"
      "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:\n"
      "    {nodeSelectorTerms: ";
  EXPECT_EQ(PodOf(begin + "[]}}}\n").flaws.size(), 1U);
  // The operator has its flaw; that nothing is left of the term is no other one.
  const PodManifest pod = PodOf(begin + "[{matchExpressions: [{key: a, operator: Is}]}]}}}\n");
  EXPECT_EQ(pod.flaws.size(), 1U);
  EXPECT_TRUE(pod.affinity.empty());
}

TEST(ManifestFile, ReadsTolerations) {
  const std::string begin = "  containers: [{name: c, image: i}]\n  tolerations:\n";
  const PodManifest pod = PodOf(begin +
                                "  - {operator: Exists}\n"
                                "  - {key: a, value: '1', effect: NoSchedule}\n"
                                "  - {key: b, operator: Equal, value: x}\n");
  EXPECT_TRUE(pod.flaws.empty());
  ASSERT_EQ(pod.tolerations.size(), 3U);
  EXPECT_TRUE(pod.tolerations[0].exists);
  EXPECT_EQ(pod.tolerations[0].key, "");
  EXPECT_FALSE(pod.tolerations[1].exists);
  EXPECT_EQ(pod.tolerations[1].value, "1");
  EXPECT_EQ(pod.tolerations[1].effect, "NoSchedule");
  EXPECT_EQ(pod.tolerations[2].effect, "");
  for (const char* wrong :
       {"{key: a, operator: Is}", "{key: a, value: true}", "{key: a, operator: Exists, value: x}",
        "{value: x}", "{key: a, operator: Exists, effect: Never}"})
    EXPECT_EQ(PodOf(begin + "  - " + wrong + "\n").flaws.size(), 1U) << wrong;
  EXPECT_EQ(
      FlawsOf(begin + "  - {key: a, operator: Exists, effect: Never}\n"),
      "pod.yaml:7:40: \"Never\" is no effect of a taint\n"
      "    7 |   - {key: a, operator: Exists, effect: Never}\n"
      "      |                                        ^^^^^ use NoSchedule, PreferNoSchedule or "
      "NoExecute, or leave it out\n");
}

TEST(ManifestFile, ReadsClaimsRuntimeNodeAndVariables) {
  const PodManifest pod = PodOf(
      "  runtimeClassName: nvidia\n  nodeName: n1\n  resourceClaims:\n  - name: gpu\n"
      "    resourceClaimName: shared\n  containers:\n  - name: c\n    image: i\n"
      "    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]\n");
  ASSERT_EQ(pod.claims.size(), 1U);
  EXPECT_EQ(pod.claims[0].text, "gpu");
  EXPECT_EQ(pod.claims[0].place.line, 8);
  ASSERT_TRUE(pod.runtime_class && pod.node_name && pod.containers[0].visible_devices);
  EXPECT_EQ(pod.runtime_class->text, "nvidia");
  EXPECT_EQ(pod.containers[0].visible_devices->text, "all");
}

TEST(ManifestFile, ReportsEveryPlaceThatItCannotRead) {
  EXPECT_EQ(ErrorOf("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: 5\n"
                    "  nodeSelector: [a]\n"),
            "pod.yaml:5:15: expected the containers, not \"5\"\n"
            "    5 |   containers: 5\n"
            "      |               ^ write it as \"- item\" lines or [a, b]\n"
            "pod.yaml:6:17: expected the nodeSelector, not a list\n"
            "    6 |   nodeSelector: [a]\n"
            "      |                 ^ write it as \"key: value\" lines");
  EXPECT_EQ(ErrorOf("apiVersion: v1\nkind: Service\n"), "pod.yaml: no Pod comes of \"Service\"");
  EXPECT_EQ(ErrorOf("# empty\n"), "pod.yaml: there is nothing in it");
  EXPECT_EQ(ErrorOf("kind: Pod\n"),
            "pod.yaml:1:1: missing key \"apiVersion\"\n    1 | kind: Pod\n      | ^");
  EXPECT_EQ(ErrorOf("- a\n"),
            "pod.yaml:1:1: expected a Kubernetes object, not a list\n"
            "    1 | - a\n      | ^ write it as \"key: value\" lines");
}

}  // namespace
}  // namespace partita::config
