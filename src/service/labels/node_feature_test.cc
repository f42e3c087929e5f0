#include "service/labels/node_feature.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::service::labels {
namespace {

const std::vector<Owner> kOwners = {{"apps/v1", "DaemonSet", "agent", "u-set", true},
                                    {"v1", "Pod", "agent-x", "u-pod", false}};

base::Value FeatureThere(const std::string& metadata, const std::string& labels) {
  auto object =
      base::ParseJson(R"({"kind":"NodeFeature","metadata":{"name":"x","resourceVersion":"7",)" +
                      metadata + R"(},"spec":{"features":{},"labels":)" + labels + "}}");
  PARTITA_CHECK(object.ok());
  return *object;
}

constexpr const char* kOfN1 = R"("labels":{"nfd.node.kubernetes.io/node-name":"n1","theirs":"1"})";

TEST(NodeFeatureObject, IsWrittenWhereLabelsDiffer) {
  const base::Value wanted = ToNodeFeature({{"a", "1"}, {"b", "2"}}, "n1", "gpu", {});
  EXPECT_TRUE(NodeFeatureDiffers(base::Value(), wanted));
  EXPECT_FALSE(NodeFeatureDiffers(FeatureThere(kOfN1, R"({"b":"2","a":"1"})"), wanted));
  EXPECT_TRUE(NodeFeatureDiffers(FeatureThere(kOfN1, R"({"a":"1"})"), wanted));
  EXPECT_TRUE(NodeFeatureDiffers(FeatureThere(kOfN1, R"({"a":"1","b":"2","c":"3"})"), wanted));
  EXPECT_TRUE(NodeFeatureDiffers(FeatureThere(kOfN1, "null"), wanted));
  EXPECT_TRUE(NodeFeatureDiffers(
      FeatureThere(R"("labels":{"nfd.node.kubernetes.io/node-name":"n2"})", R"({"a":"1","b":"2"})"),
      wanted));
  EXPECT_TRUE(NodeFeatureDiffers(FeatureThere(R"("labels":null)", R"({"a":"1","b":"2"})"), wanted));
}

TEST(NodeFeatureObject, IsWrittenForAnotherPod) {
  const base::Value wanted = ToNodeFeature({}, "n1", "gpu", kOwners);
  const auto owned = [](const std::string& pod) {
    return FeatureThere(
        std::string(kOfN1) + R"(,"ownerReferences":[{"uid":"u-set"},{"uid":")" + pod + "\"}]",
        "{}");
  };
  EXPECT_FALSE(NodeFeatureDiffers(owned("u-pod"), wanted));
  EXPECT_TRUE(NodeFeatureDiffers(owned("u-other"), wanted));
  // Whose pod we are is not known: the owners that are there stay.
  EXPECT_FALSE(NodeFeatureDiffers(owned("u-other"), ToNodeFeature({}, "n1", "gpu", {})));
}

TEST(NodeFeatureObject, KeepsWhatOthersPutThere) {
  const base::Value there =
      FeatureThere(R"("finalizers":["f"],"labels":{"theirs":"1"})", R"({"old":"1"})");
  const base::Value sent = OverNodeFeature(there, ToNodeFeature({{"a", "1"}}, "n1", "gpu", {}));
  EXPECT_EQ(
      ToJsonLine(sent),
      R"({"kind":"NodeFeature","metadata":{"name":"x","resourceVersion":"7","finalizers":["f"],)"
      R"("labels":{"theirs":"1","nfd.node.kubernetes.io/node-name":"n1"}},)"
      R"("spec":{"features":{"flags":{},"attributes":{},"instances":{}},"labels":{"a":"1"}}})");
}

TEST(NodeFeatureObject, IsInOurNamespace) {
  EXPECT_EQ(NodeFeatureFolder("gpu") + "/" + NodeFeatureName("n1"),
            "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures/nvidia-features-for-n1");
}

}  // namespace
}  // namespace partita::service::labels
