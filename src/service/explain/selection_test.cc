#include "service/explain/selection.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::explain {
namespace {

NodeView Labelled() {
  NodeView view;
  view.labels = {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
                 {"nvidia.com/gpu.memory", "40960"},
                 {"nvidia.com/cuda.driver.major", "580"},
                 {"nvidia.com/cuda.runtime-version.full", "13.0"},
                 {"nvidia.com/mig.capable", "true"}};
  return view;
}

PodAnswer Checked(const NodeView& view, const std::string& rest) {
  const auto file = config::ManifestFile::Parse(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
      "  containers: [{name: c, image: i}]\n" +
          rest,
      "pod.yaml");
  EXPECT_TRUE(file.ok()) << file.error().ToString();
  PodAnswer answer;
  CheckLabels(file->pods().front(), view, answer);
  CheckTaint(file->pods().front(), view, answer);
  return answer;
}

std::string WhyNot(const PodAnswer& answer) {
  std::vector<std::string> lines;
  for (const Reason& reason : answer.reasons)
    lines.push_back(fmt::format("{}:{} {} > {}", reason.place.line, reason.place.column,
                                reason.text, reason.change));
  return base::Join(lines, "\n");
}

PodAnswer Selected(const std::string& key, const std::string& value) {
  return Checked(Labelled(), "  nodeSelector: {" + key + ": \"" + value + "\"}\n");
}

TEST(CheckLabels, ComparesWithWhatTheNodeHas) {
  EXPECT_EQ(WhyNot(Selected("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")), "");
  EXPECT_EQ(WhyNot(Selected("nvidia.com/gpu.product", "NVIDIA-H200")),
            "6:42 it wants nvidia.com/gpu.product to be NVIDIA-H200; here it is "
            "NVIDIA-A100-SXM4-40GB > choose another node, or write NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(WhyNot(Selected("nvidia.com/gpu.product", "A100-SXM4-40GB")),
            "6:42 it wants nvidia.com/gpu.product to be A100-SXM4-40GB; here it is "
            "NVIDIA-A100-SXM4-40GB > write NVIDIA-A100-SXM4-40GB: drivers of today say NVIDIA in "
            "front");
  EXPECT_EQ(WhyNot(Selected("nvidia.com/gpu.clique", "x")),
            "6:41 it wants nvidia.com/gpu.clique to be x; this node has no such label > choose "
            "another node");
}

TEST(CheckLabels, SaysWhatReplacedAnOldName) {
  EXPECT_EQ(WhyNot(Selected("nvidia.com/cuda.runtime", "11.4")),
            "6:43 it wants nvidia.com/cuda.runtime to be 11.4; this node has no such label > write "
            "nvidia.com/cuda.runtime-version.full, which replaced it; here it is 13.0");
  EXPECT_EQ(WhyNot(Selected("nvidia.com/cuda.driver", "470.161.03")),
            "6:42 it wants nvidia.com/cuda.driver to be 470.161.03; this node has no such label > "
            "write nvidia.com/cuda.driver-version.full, which replaced it");
  const PodAnswer older = Selected("nvidia.com/cuda.driver.major", "580");
  EXPECT_TRUE(older.runs());
  EXPECT_EQ(older.notes,
            std::vector<std::string>{"nvidia.com/cuda.driver.major is an older name of "
                                     "nvidia.com/cuda.driver-version.major"});
}

TEST(CheckLabels, LeavesLabelsOfOthersToThem) {
  const PodAnswer answer = Selected("kubernetes.io/hostname", "n1");
  EXPECT_TRUE(answer.runs());
  EXPECT_EQ(answer.notes, std::vector<std::string>{
                              "it wants kubernetes.io/hostname to be n1: that is not known here"});
  EXPECT_TRUE(Selected("nvidia.com/mig.config", "all-1g.5gb").runs()) << "the operator's";
}

TEST(CheckLabels, KnowsThatAModelHasNoDriver) {
  NodeView view = Labelled();
  view.model = true;
  const std::string wish = "  nodeSelector: {nvidia.com/cuda.driver-version.major: \"580\"}\n";
  EXPECT_TRUE(Checked(view, wish).runs());
  EXPECT_FALSE(Checked(Labelled(), wish).runs());
}

TEST(CheckLabels, NeedsOneTermOfAnAffinity) {
  const auto affinity = [](const std::string& terms) {
    return Checked(Labelled(),
                   "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                   "{nodeSelectorTerms: [" +
                       terms + "]}}}\n");
  };
  const std::string hopper =
      "{matchExpressions: [{key: nvidia.com/gpu.family, operator: In, values: [hopper, x]}]}";
  const std::string large =
      "{matchExpressions: [{key: nvidia.com/gpu.memory, operator: Gt, values: ['40000']}, "
      "{key: nvidia.com/mig.capable, operator: Exists}]}";
  const std::string small =
      "{matchExpressions: [{key: nvidia.com/gpu.memory, operator: Lt, values: ['40000']}]}";
  const std::string not_this =
      "{matchExpressions: [{key: nvidia.com/mig.capable, operator: NotIn, values: ['true']}]}";
  const std::string absent =
      "{matchExpressions: [{key: nvidia.com/gpu.family, operator: DoesNotExist}]}";
  EXPECT_TRUE(affinity(hopper + ", " + large).runs());
  EXPECT_TRUE(affinity(absent).runs());
  EXPECT_FALSE(affinity(not_this).runs());
  const PodAnswer neither = affinity(hopper + ", " + small);
  ASSERT_EQ(neither.reasons.size(), 2U);
  EXPECT_EQ(neither.reasons[0].text,
            "it wants nvidia.com/gpu.family to be hopper or x; this node has no such label");
  EXPECT_EQ(neither.reasons[1].text,
            "it wants nvidia.com/gpu.memory below 40000; here it is 40960");
  EXPECT_TRUE(affinity("{}, " + large).runs());
  EXPECT_EQ(
      WhyNot(affinity("{}")),
      "6:98 a nodeSelectorTerm without rules is met by no node > write what the node's labels "
      "must be, or leave the term out");
}

TEST(CheckTaint, NeedsATolerationOfItsKeyValueAndEffect) {
  NodeView view = Labelled();
  EXPECT_TRUE(Checked(view, "").runs()) << "no taint";
  view.taint = labels::Taint{"nvidia.com/gpu", "present"};
  EXPECT_EQ(WhyNot(Checked(view, "")),
            "2:1 it would not be scheduled: the node's taint nvidia.com/gpu=present:NoSchedule is "
            "not tolerated > add to the pod's tolerations: {key: nvidia.com/gpu, operator: Exists, "
            "effect: NoSchedule}");
  const auto tolerated = [&](const std::string& tolerations) {
    return Checked(view, "  tolerations: [" + tolerations + "]\n").runs();
  };
  EXPECT_TRUE(tolerated("{operator: Exists}"));
  EXPECT_TRUE(tolerated("{operator: Exists, effect: NoSchedule}"));
  EXPECT_TRUE(tolerated("{key: nvidia.com/gpu, operator: Exists}"));
  EXPECT_TRUE(tolerated("{key: nvidia.com/gpu, value: present}"));
  EXPECT_TRUE(
      tolerated("{key: other, operator: Exists}, {key: nvidia.com/gpu, operator: Equal, "
                "value: present, effect: NoSchedule}"));
  EXPECT_FALSE(tolerated("{key: nvidia.com/gpu, value: absent}"));
  EXPECT_FALSE(tolerated("{key: nvidia.com/gpu}")) << "another value: none";
  EXPECT_FALSE(tolerated("{key: nvidia.com, operator: Exists}"));
  EXPECT_FALSE(tolerated("{key: nvidia.com/gpu, operator: Exists, effect: NoExecute}"));
  EXPECT_FALSE(tolerated("{operator: Exists, effect: PreferNoSchedule}"));
  view.taint->value.clear();
  EXPECT_TRUE(tolerated("{key: nvidia.com/gpu}"));
}

TEST(CheckTaint, IsNothingToAPodThatTheSchedulerDoesNotSee) {
  NodeView view = Labelled();
  view.taint = labels::Taint{"nvidia.com/gpu", "present"};
  EXPECT_TRUE(Checked(view, "  nodeName: n1\n").runs());
  view.taint->effect = "NoExecute";
  EXPECT_FALSE(Checked(view, "  nodeName: n1\n").runs());
}

}  // namespace
}  // namespace partita::service::explain
