#include "service/labels/outputs.h"

#include <gtest/gtest.h>

namespace partita::service::labels {
namespace {

const Labels kSome = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/cuda.driver.rev", ""}};

base::Value Pod(const char* owner) {
  return base::Value::Map().Set(
      "metadata",
      base::Value::Map()
          .Set("name", "agent-x")
          .Set("uid", "u-pod")
          .Set("ownerReferences", base::Value::List().Add(base::Value::Map()
                                                              .Set("apiVersion", "apps/v1")
                                                              .Set("kind", owner)
                                                              .Set("name", "agent")
                                                              .Set("uid", "u-set"))));
}

TEST(LabelOutputs, AFileHasSortedLines) {
  EXPECT_EQ(ToFeatureFile(kSome), "nvidia.com/cuda.driver.rev=\nnvidia.com/gpu.count=8\n");
  EXPECT_EQ(ToFeatureFile({}), "");
}

TEST(LabelOutputs, ANodeFeatureIsNamedAsTheReferenceNamesIt) {
  EXPECT_EQ(base::ToJsonLine(ToNodeFeature(kSome, "n1", "gpu", {})),
            R"({"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature",)"
            R"("metadata":{"name":"nvidia-features-for-n1","namespace":"gpu",)"
            R"("labels":{"nfd.node.kubernetes.io/node-name":"n1"}},)"
            R"("spec":{"features":{"flags":{},"attributes":{},"instances":{}},)"
            R"("labels":{"nvidia.com/cuda.driver.rev":"","nvidia.com/gpu.count":"8"}}})");
}

TEST(LabelOutputs, ANodeFeatureEndsWithItsDaemonSet) {
  const std::vector<Owner> owners = OwnersOf(Pod("DaemonSet"));
  EXPECT_EQ(owners, (std::vector<Owner>{{"apps/v1", "DaemonSet", "agent", "u-set", true},
                                        {"v1", "Pod", "agent-x", "u-pod", false}}));
  const base::Value object = ToNodeFeature({}, "n1", "gpu", owners);
  EXPECT_EQ(base::ToJsonLine(*object.Find("metadata")->Find("ownerReferences")),
            R"([{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"u-set",)"
            R"("controller":true},)"
            R"({"apiVersion":"v1","kind":"Pod","name":"agent-x","uid":"u-pod"}])");
}

TEST(LabelOutputs, OtherPodsOwnNothing) {
  EXPECT_TRUE(OwnersOf(Pod("ReplicaSet")).empty());
  EXPECT_TRUE(OwnersOf(base::Value::Map().Set("metadata", base::Value::Map())).empty());
  EXPECT_TRUE(OwnersOf(base::Value()).empty());
}

TEST(LabelOutputs, ADocumentReadsBack) {
  Rendering rendering{kSome, {{"a", "b"}}, {}, {"some GPU has no name"}};
  for (const auto& [key, unused] : kSome) rendering.sources[key] = "the driver";
  const auto read = FromDocument(ToDocument(rendering, true));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(ToJsonLine(ToDocument(*read, true)), ToJsonLine(ToDocument(rendering, true)));
  EXPECT_EQ(FromDocument(ToDocument(rendering, false)).error().ToString(),
            "sources is no map of texts");
  EXPECT_EQ(FromDocument(base::Value()).error().ToString(), "labels is no map of texts");
  rendering.sources.clear();
  EXPECT_EQ(FromDocument(ToDocument(rendering, true)).error().ToString(),
            "nvidia.com/cuda.driver.rev has no source");
}

TEST(LabelOutputs, AnApplyHasOursAndNothingElse) {
  EXPECT_EQ(base::ToJsonLine(ToNodeApply(kSome, {}, "n1")),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":)"
            R"({"nvidia.com/cuda.driver.rev":"","nvidia.com/gpu.count":"8"}}})");
  EXPECT_EQ(base::ToJsonLine(ToNodeApply({}, {}, "n1")),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})");
  EXPECT_EQ(base::ToJsonLine(*ToNodeApply({}, {{"partita.dev/gpu.0.product", "NVIDIA H200"}}, "n1")
                                  .Find("metadata")
                                  ->Find("annotations")),
            R"({"partita.dev/gpu.0.product":"NVIDIA H200"})");
}

}  // namespace
}  // namespace partita::service::labels
