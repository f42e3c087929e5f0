#include "agent/cluster/label_output.h"

#include <stdlib.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "kube/testing/fake_client.h"
#include "net/testing/fake_loop.h"
#include "service/labels/node_state.h"

namespace partita::agent {
namespace {

using base::Value;
using service::labels::Rendering;
using std::chrono::seconds;

constexpr const char* kLabelledNode = "/api/v1/nodes/node-1";
constexpr const char* kFeatureObject =
    "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures/nvidia-features-for-node-1";

Value OutputJson(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

Rendering Counted(const std::string& count) {
  return {.labels = {{"nvidia.com/gpu.count", count}}};
}

class LabelOutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-output-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    cluster_.Start({"", "node-1"});
    api_->Put(kLabelledNode, OutputJson(R"({"kind":"Node","metadata":{"name":"node-1"}})"));
    loop_.RunUntilIdle();
  }
  void TearDown() override {
    output_.reset();
    cluster_.Stop();
    (void)base::RemoveTree(directory_);
  }
  LabelOutputParts Parts() {
    return {cluster_, log_, [] { return 0.5; },
            LabelOutput::Events{[this] { ++removed_; }, [] {},
                                [this](const std::string& problem) { problem_ = problem; }}};
  }
  void MakeNodeFeature() { output_ = NewNodeFeature(Parts(), "gpu", ""); }
  void Set(std::optional<Rendering> wanted) {
    output_->Set(std::move(wanted));
    loop_.RunUntilIdle();
  }
  // Of the Node; "none".
  std::string Label() {
    const std::string* found =
        service::labels::FindLabel(*api_->At(kLabelledNode), "nvidia.com/gpu.count");
    return found == nullptr ? "none" : *found;
  }
  // Of the NodeFeature object; "none".
  std::string Feature() {
    const Value* object = api_->At(kFeatureObject);
    if (object == nullptr) return "none";
    return object->Find("spec")->Find("labels")->Find("nvidia.com/gpu.count")->AsString();
  }
  std::uint64_t Requests(const std::string& verb) {
    const auto found = api_->counts().find(verb);
    return found == api_->counts().end() ? 0 : found->second;
  }

  std::string directory_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  kube::testing::FakeClient* api_ = nullptr;
  Cluster cluster_{loop_, log_,
                   [this](net::Loop& loop, const std::string&) -> base::Result<ClusterConnection> {
                     auto client = std::make_unique<kube::testing::FakeClient>(loop);
                     api_ = client.get();
                     return ClusterConnection{std::move(client), "the test", "gpu"};
                   },
                   nullptr, [] { return 0.0; }};
  int removed_ = 0;
  std::string problem_;
  std::unique_ptr<LabelOutput> output_;
};

// The Node as it was last seen says nothing of what is on its way there.
TEST_F(LabelOutputTest, LabelsThatAreOnTheirWayAreTakenAwayToo) {
  for (const bool told_first : {false, true}) {
    if (told_first) api_->TellFirst();
    removed_ = 0;
    output_ = NewNodeLabels(Parts());
    output_->Set(Counted("1"));
    output_->Set(std::nullopt);
    EXPECT_EQ(removed_, 0);
    loop_.RunUntilIdle();
    EXPECT_EQ(Label(), "none");
    EXPECT_GE(removed_, 1);
  }
}

// Nor is what was on its way somebody else's doing when it is seen at last.
TEST_F(LabelOutputTest, LabelsThatAreAgainAsBeforeWhileOthersAreOnTheirWayAreWrittenAtOnce) {
  for (const bool told_first : {false, true}) {
    if (told_first) api_->TellFirst();
    output_ = NewNodeLabels(Parts());
    for (int i = 0; i < 4; ++i) {
      Set(Counted("1"));
      output_->Set(Counted("2"));
      Set(Counted("1"));
      EXPECT_EQ(Label(), "1");
    }
    EXPECT_EQ(lines_.find("somebody else writes our labels"), std::string::npos) << lines_;
  }
}

TEST_F(LabelOutputTest, LabelsThatWereNeverThereAreGoneAtOnce) {
  output_ = NewNodeLabels(Parts());
  Set(std::nullopt);
  EXPECT_EQ(removed_, 1);
  EXPECT_EQ(Requests("patch nodes"), 0U);
}

TEST_F(LabelOutputTest, AnObjectThatSomebodyMadeMeanwhileIsNoProblemAndTakenOver) {
  MakeNodeFeature();
  api_->OnRequest([this](const std::string& asked) {
    if (asked != "create nodefeatures") return;
    api_->OnRequest({});
    api_->Put(kFeatureObject,
              OutputJson(R"({"kind":"NodeFeature","metadata":{"name":"nvidia-features-for-node-1"},
        "spec":{"labels":{"nvidia.com/gpu.count":"7"}}})"));
  });
  Set(Counted("1"));
  EXPECT_EQ(Feature(), "7");
  EXPECT_EQ(problem_, "");
  EXPECT_EQ(lines_.find("the NodeFeature object is not written"), std::string::npos) << lines_;
  loop_.Advance(seconds(1));
  EXPECT_EQ(Feature(), "1");
}

TEST_F(LabelOutputTest, AnObjectThatIsRefusedIsAProblemUntilItIsTaken) {
  MakeNodeFeature();
  api_->OnRequest([this](const std::string& asked) {
    if (asked == "create nodefeatures")
      api_->Fail(base::Error(base::ErrorCode::kDenied, "no right"));
  });
  Set(Counted("1"));
  EXPECT_EQ(problem_, "no right");
  EXPECT_NE(lines_.find("the NodeFeature object is not written"), std::string::npos) << lines_;
  api_->OnRequest({});
  api_->Fail(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Feature(), "1");
  EXPECT_EQ(problem_, "");
}

// Who owns the object is asked once in the agent's life: no moment's outage decides it.
TEST_F(LabelOutputTest, TheOwnerIsAskedForUntilTheServerSays) {
  struct Row {
    base::ErrorCode refused;
    bool owned;
  };
  for (const Row row : {Row{base::ErrorCode::kUnavailable, true},
                        {base::ErrorCode::kTimeout, true},
                        {base::ErrorCode::kDenied, false}}) {
    api_->Put("/api/v1/namespaces/gpu/pods/agent-1",
              OutputJson(R"({"kind":"Pod","metadata":{"name":"agent-1","ownerReferences":[
                  {"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"u-1"}]}})"));
    output_ = NewNodeFeature(Parts(), "gpu", "agent-1");
    api_->OnRequest([this, row](const std::string& asked) {
      if (asked == "get pods")
        api_->Fail(base::Error(row.refused, "not now"));
      else
        api_->Fail(std::nullopt);
    });
    Set(Counted("1"));
    EXPECT_EQ(Feature(), row.owned ? "none" : "1");
    EXPECT_EQ(problem_, row.owned ? "not now" : "");
    api_->OnRequest({});
    api_->Fail(std::nullopt);
    loop_.Advance(seconds(1));
    ASSERT_EQ(Feature(), "1");
    const Value* owners = api_->At(kFeatureObject)->Find("metadata")->Find("ownerReferences");
    EXPECT_EQ(owners != nullptr, row.owned);
    output_.reset();
    api_->Remove(kFeatureObject);
    loop_.RunUntilIdle();
  }
}

TEST_F(LabelOutputTest, AnObjectThatIsAgainAsBeforeWhileAnotherIsOnItsWayIsWrittenAtOnce) {
  for (const bool told_first : {false, true}) {
    if (told_first) api_->TellFirst();
    MakeNodeFeature();
    for (int i = 0; i < 4; ++i) {
      Set(Counted("1"));
      output_->Set(Counted("2"));
      Set(Counted("1"));
      EXPECT_EQ(Feature(), "1");
    }
    EXPECT_EQ(lines_.find("somebody else changes our NodeFeature"), std::string::npos) << lines_;
  }
}

TEST_F(LabelOutputTest, WhoRemovesTheObjectAgainAndAgainIsNotHurried) {
  MakeNodeFeature();
  Set(Counted("1"));
  int theirs = 0;
  for (int i = 0; i < 3600; ++i) {
    if (Feature() == "1") {
      api_->Remove(kFeatureObject);
      loop_.RunUntilIdle();
      ++theirs;
    }
    loop_.Advance(seconds(1));
  }
  EXPECT_LT(theirs, 30);
  EXPECT_GT(theirs, 10);
  EXPECT_NE(lines_.find("somebody else changes our NodeFeature object: it is written again, less "
                        "and less often"),
            std::string::npos)
      << lines_;
  // What is new does not wait for that.
  Set(Counted("2"));
  EXPECT_EQ(Feature(), "2");
}

// As after an upgrade of the chart to another backend: the folder is mounted no more.
TEST_F(LabelOutputTest, AFileThatOnlyTheHostSeesIsNotTakenForRemoved) {
  const std::string root = directory_ + "/host", path = "/features.d-of-nobody/gfd";
  std::filesystem::create_directories(root + "/features.d-of-nobody");
  PARTITA_CHECK(base::WriteFile(root + path, "a=b\n", 0644).ok());
  output_ = NewLabelFile(Parts(), path, root);
  Set(std::nullopt);
  EXPECT_EQ(removed_, 0);
  EXPECT_EQ(problem_,
            "remove /features.d-of-nobody/gfd: the host has it, and its folder is not mounted here "
            "any more");
  EXPECT_NE(lines_.find("remove it on the host"), std::string::npos) << lines_;
  // By hand.
  std::filesystem::remove(root + path);
  loop_.Advance(seconds(30));
  EXPECT_EQ(removed_, 1);
  EXPECT_EQ(problem_, "");
}

TEST_F(LabelOutputTest, AFileThatNobodySeesIsRemoved) {
  output_ = NewLabelFile(Parts(), "/features.d-of-nobody/gfd", directory_);
  Set(std::nullopt);
  EXPECT_EQ(removed_, 1);
  EXPECT_EQ(problem_, "");
}

}  // namespace
}  // namespace partita::agent
