#include "agent/cluster/label_publisher.h"

#include <stdlib.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "kube/testing/fake_client.h"
#include "net/testing/fake_loop.h"
#include "service/labels/node_feature.h"
#include "service/labels/node_state.h"
#include "service/labels/testing/mock_node.h"

namespace partita::agent {
namespace {

using base::Value;
using service::labels::FindLabel;
using service::labels::testing::MockNode;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kOurNode = "/api/v1/nodes/node-1";
constexpr const char* kFeature =
    "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures/nvidia-features-for-node-1";

Value Parsed(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

class LabelPublisherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-labels-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    options_.state_directory = directory_;
    options_.file = directory_ + "/gfd";
    facts_.gpus_on_bus = 1;
    cluster_.Start({"", "node-1"});
    api_->Put(kOurNode,
              Parsed(R"({"kind":"Node","metadata":{"name":"node-1","labels":{"theirs":"1"}}})"));
    loop_.RunUntilIdle();
  }
  void TearDown() override {
    labels_.Stop();
    cluster_.Stop();
    (void)base::RemoveTree(directory_);
  }
  static service::inventory::SnapshotPtr Snapshot(model::Inventory inventory) {
    auto snapshot = std::make_shared<service::inventory::Snapshot>();
    snapshot->inventory = std::move(inventory);
    return snapshot;
  }
  static service::inventory::SnapshotPtr WithoutDriver() {
    model::Inventory inventory = MockNode(1);
    inventory.driver.reset();
    return Snapshot(std::move(inventory));
  }
  void Start() {
    labels_.Start(options_, Snapshot(MockNode(1)));
    loop_.RunUntilIdle();
  }
  void Set(const service::inventory::SnapshotPtr& snapshot) {
    labels_.SetNode(snapshot);
    loop_.Advance(LabelPublisher::kSettles);
  }
  void SetBackend(LabelBackend backend) {
    options_.backend = backend;
    labels_.SetOptions(options_);
    loop_.RunUntilIdle();
  }
  // Of the Node; "none".
  std::string Label(const std::string& key) {
    const Value* node = api_->At(kOurNode);
    const std::string* found = node == nullptr ? nullptr : FindLabel(*node, key);
    return found == nullptr ? "none" : *found;
  }
  std::string Count() { return Label("nvidia.com/gpu.count"); }
  // Of the NodeFeature object; "none".
  std::string FeatureCount() {
    const Value* object = api_->At(kFeature);
    if (object == nullptr) return "none";
    return object->Find("spec")->Find("labels")->Find("nvidia.com/gpu.count")->AsString();
  }
  std::uint64_t Requests(const std::string& verb) {
    const auto found = api_->counts().find(verb);
    return found == api_->counts().end() ? 0 : found->second;
  }
  // As somebody with kubectl does.
  void Change(const std::string& patch) {
    api_->Patch(kOurNode, kube::PatchKind::kMerge, Parsed(patch), [](const auto&) {});
    loop_.RunUntilIdle();
  }
  std::string Taints() {
    const Value* spec = api_->At(kOurNode)->Find("spec");
    return spec == nullptr ? "none" : ToJsonLine(*spec->Find("taints"));
  }

  std::string directory_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  kube::testing::FakeClient* api_ = nullptr;
  std::string name_space_ = "gpu";
  Cluster cluster_{loop_, log_,
                   [this](net::Loop& loop, const std::string&) -> base::Result<ClusterConnection> {
                     auto client = std::make_unique<kube::testing::FakeClient>(loop);
                     api_ = client.get();
                     return ClusterConnection{std::move(client), "the test", name_space_};
                   },
                   nullptr, [] { return 0.0; }};
  model::NodeFacts facts_;
  int changes_ = 0;
  LabelOptions options_;
  LabelPublisher labels_{loop_,
                         log_,
                         cluster_,
                         [this] { ++changes_; },
                         [this](const std::string&) { return facts_; },
                         [] { return 0.5; }};
};

TEST_F(LabelPublisherTest, TheNodeIsLabelledAndTheLabelsOfOthersStay) {
  Start();
  EXPECT_EQ(Count(), "1");
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "true");
  EXPECT_EQ(Label("partita.dev/gpu.models"), "1");
  EXPECT_EQ(Label("theirs"), "1");
  EXPECT_EQ(Requests("patch nodes"), 1U);
  // All of them, as `labels show` has them.
  const service::labels::Rendering shown = labels_.Render();
  for (const auto& [key, value] : shown.labels) EXPECT_EQ(Label(key), value) << key;
}

TEST_F(LabelPublisherTest, ChangesThatComeTogetherAreOneWriteAndOldLabelsGo) {
  Start();
  model::Inventory other = MockNode(3);
  for (model::Gpu& gpu : other.gpus) gpu.name = "OTHER";
  other.gpus[2].name = "THIRD";
  labels_.SetNode(Snapshot(MockNode(2)));
  loop_.Advance(milliseconds(100));
  labels_.SetNode(Snapshot(other));
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(Label("nvidia.com/gpu.product"), "OTHER");
  EXPECT_EQ(Label("partita.dev/gpu.1.product"), "THIRD");
  EXPECT_EQ(Requests("patch nodes"), 2U);
  Set(Snapshot(MockNode(1)));
  EXPECT_EQ(Label("nvidia.com/gpu.product"), "MOCKMODEL");
  EXPECT_EQ(Label("partita.dev/gpu.1.product"), "none");
}

TEST_F(LabelPublisherTest, WhatDoesNotChangeIsWrittenOnceInAnHour) {
  Start();
  for (int i = 0; i < 10; ++i) Set(Snapshot(MockNode(1)));
  loop_.Advance(hours(1) - minutes(1));
  EXPECT_EQ(Requests("patch nodes"), 1U);
  loop_.Advance(minutes(1));
  EXPECT_EQ(Requests("patch nodes"), 2U);
  const kube::RequestCounts before = api_->counts();
  loop_.Advance(hours(10));
  EXPECT_EQ(Requests("patch nodes"), 12U);
  EXPECT_EQ(before.at("watch nodes"), Requests("watch nodes"));
}

TEST_F(LabelPublisherTest, WithoutGpusTheNodeSaysFalse) {
  facts_.gpus_on_bus = 0;
  labels_.Start(options_, Snapshot(MockNode(0)));
  loop_.RunUntilIdle();
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "false");
  EXPECT_EQ(Count(), "none");
}

TEST_F(LabelPublisherTest, ADriverThatIsExchangedTakesNoLabelsForAMinute) {
  Start();
  Set(WithoutDriver());
  loop_.Advance(LabelPublisher::kWithoutDriver - seconds(1));
  EXPECT_EQ(Count(), "1");
  Set(Snapshot(MockNode(1)));
  EXPECT_EQ(Requests("patch nodes"), 1U);
  Set(WithoutDriver());
  loop_.Advance(LabelPublisher::kWithoutDriver - seconds(1));
  EXPECT_EQ(Count(), "1");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Count(), "none");
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "true");
}

// Somebody who asks for the status again and again makes a snapshot each time.
TEST_F(LabelPublisherTest, ADriverThatIsBackIsLabelledWhileSnapshotsNeverPause) {
  Start();
  Set(WithoutDriver());
  for (int i = 0; i < 10 && Count() == "1"; ++i) {
    labels_.SetNode(Snapshot(MockNode(2)));
    loop_.Advance(LabelPublisher::kSettles / 2);
  }
  EXPECT_EQ(Count(), "2");
}

TEST_F(LabelPublisherTest, AnAgentWithoutADriverLeavesTheLabelsOfTheOneBeforeForAMinute) {
  Start();
  labels_.Stop();
  labels_.Start(options_, WithoutDriver());
  loop_.Advance(LabelPublisher::kWithoutDriver - seconds(1));
  EXPECT_EQ(Count(), "1");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Count(), "none");
}

TEST_F(LabelPublisherTest, AFreshNodeWithoutADriverIsLabelledAtOnce) {
  labels_.Start(options_, WithoutDriver());
  loop_.RunUntilIdle();
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "true");
}

TEST_F(LabelPublisherTest, ALabelThatSomebodyChangesComesBack) {
  Start();
  Change(R"({"metadata":{"labels":{"nvidia.com/gpu.count":"9","nvidia.com/gpu.present":null}}})");
  EXPECT_EQ(Count(), "9");  // not at once
  loop_.Advance(seconds(1));
  EXPECT_EQ(Count(), "1");
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "true");
}

TEST_F(LabelPublisherTest, WhoWritesTheSameKeysAgainAndAgainIsNotHurried) {
  Start();
  const std::uint64_t before = Requests("patch nodes");
  int theirs = 0;
  for (int i = 0; i < 3600; ++i) {
    if (Count() == "1") {
      Change(R"({"metadata":{"labels":{"nvidia.com/gpu.count":"9"}}})");
      ++theirs;
    }
    loop_.Advance(seconds(1));
  }
  // 1, 2, 4 … then every five minutes, less by chance.
  EXPECT_LT(theirs, 30);
  EXPECT_GT(theirs, 10);
  EXPECT_LT(Requests("patch nodes") - before, 60U);
  EXPECT_NE(lines_.find("somebody else writes our labels"), std::string::npos);
}

TEST_F(LabelPublisherTest, AnEqualLabelOfAnotherIsSharedAndStaysWithIt) {
  api_->Apply(
      kOurNode, "nfd-master", false,
      Parsed(
          R"({"kind":"Node","metadata":{"name":"node-1","labels":{"nvidia.com/gpu.count":"1"}}})"),
      [](const auto&) {});
  Start();
  EXPECT_EQ(Requests("patch nodes"), 2U);
  loop_.Advance(minutes(30));
  EXPECT_EQ(Requests("patch nodes"), 2U);
  SetBackend(LabelBackend::kNone);
  EXPECT_EQ(Count(), "1");  // theirs
  EXPECT_EQ(Label("nvidia.com/gpu.present"), "none");
}

TEST_F(LabelPublisherTest, AnOutageCostsTimeAndNoLabel) {
  Start();
  api_->Fail(base::Error(base::ErrorCode::kUnavailable, "nobody answers"));
  Set(Snapshot(MockNode(2)));
  loop_.Advance(seconds(60));
  EXPECT_EQ(labels_.problem(), "nobody answers");
  EXPECT_EQ(changes_, 1);
  EXPECT_LT(Requests("patch nodes"), 12U);
  api_->Fail(std::nullopt);
  loop_.Advance(seconds(30));
  EXPECT_EQ(Count(), "2");
  EXPECT_EQ(labels_.problem(), "");
}

TEST_F(LabelPublisherTest, ANodeThatIsMadeAnewIsLabelledAnew) {
  Start();
  api_->Remove(kOurNode);
  loop_.RunUntilIdle();
  api_->Put(kOurNode, Parsed(R"({"kind":"Node","metadata":{"name":"node-1"}})"));
  loop_.RunUntilIdle();
  EXPECT_EQ(Count(), "1");
}

TEST_F(LabelPublisherTest, ANodeFeatureIsMadeKeptAndRemoved) {
  options_.backend = LabelBackend::kNodeFeature;
  options_.pod = "agent-x";
  api_->Put("/api/v1/namespaces/gpu/pods/agent-x",
            Parsed(R"({"kind":"Pod","metadata":{"name":"agent-x","uid":"u-pod","ownerReferences":
                [{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"u-set"}]}})"));
  Start();
  EXPECT_EQ(FeatureCount(), "1");
  EXPECT_EQ(api_->At(kFeature)->Find("metadata")->Find("ownerReferences")->items().size(), 2U);
  EXPECT_EQ(Count(), "none");
  Set(Snapshot(MockNode(2)));
  EXPECT_EQ(FeatureCount(), "2");
  api_->Remove(kFeature);
  loop_.Advance(seconds(1));
  EXPECT_EQ(FeatureCount(), "2");
  EXPECT_EQ(Requests("create nodefeatures"), 2U);
  const kube::RequestCounts before = api_->counts();
  loop_.Advance(hours(5));
  EXPECT_EQ(api_->counts(), before);
  SetBackend(LabelBackend::kNode);
  EXPECT_EQ(FeatureCount(), "none");
  EXPECT_EQ(Count(), "2");
}

TEST_F(LabelPublisherTest, TheObjectThatNvidiasProgramMadeIsTakenOver) {
  options_.backend = LabelBackend::kNodeFeature;
  api_->Put(kFeature,
            Parsed(R"({"kind":"NodeFeature","metadata":{"name":"nvidia-features-for-node-1"},
      "spec":{"labels":{"nvidia.com/gpu.count":"7","nvidia.com/mig-1g.5gb.count":"7"}}})"));
  Start();
  EXPECT_EQ(FeatureCount(), "1");
  EXPECT_EQ(api_->At(kFeature)->Find("spec")->Find("labels")->Find("nvidia.com/mig-1g.5gb.count"),
            nullptr);
  EXPECT_EQ(Requests("create nodefeatures"), 0U);
}

TEST_F(LabelPublisherTest, AFileIsWrittenWhereItDiffersAndRemoved) {
  options_.backend = LabelBackend::kFile;
  Start();
  base::Result<std::string> text = base::ReadFile(options_.file);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, service::labels::ToFeatureFile(labels_.Render().labels));
  const std::string first = options_.file;
  options_.file = directory_ + "/other";
  SetBackend(LabelBackend::kFile);
  EXPECT_FALSE(base::Exists(first));
  EXPECT_TRUE(base::Exists(options_.file));
  SetBackend(LabelBackend::kNone);
  EXPECT_FALSE(base::Exists(options_.file));
}

TEST_F(LabelPublisherTest, AFileThatCannotBeWrittenIsTriedAgain) {
  options_.backend = LabelBackend::kFile;
  options_.file = directory_ + "/absent/gfd";
  Start();
  EXPECT_NE(labels_.problem().find("/absent"), std::string::npos) << labels_.problem();
  std::filesystem::create_directory(directory_ + "/absent");
  loop_.Advance(seconds(30));
  EXPECT_TRUE(base::Exists(options_.file));
  EXPECT_EQ(labels_.problem(), "");
}

// Also by an agent that is started with another configuration.
TEST_F(LabelPublisherTest, WhatAnotherBackendWroteIsTakenAway) {
  options_.backend = LabelBackend::kFile;
  Start();
  SetBackend(LabelBackend::kNode);
  EXPECT_FALSE(base::Exists(options_.file));
  EXPECT_EQ(Count(), "1");
  labels_.Stop();
  options_.backend = LabelBackend::kNodeFeature;
  Start();
  EXPECT_EQ(Count(), "none");
  EXPECT_EQ(Label("theirs"), "1");
  EXPECT_EQ(FeatureCount(), "1");
  labels_.Stop();
  options_.backend = LabelBackend::kNone;
  Start();
  EXPECT_EQ(FeatureCount(), "none");
  const kube::RequestCounts before = api_->counts();
  labels_.Stop();
  Start();
  EXPECT_EQ(api_->counts(), before);  // nothing is left to be taken away
}

// Uninstalled and installed again in another namespace, where its roles are now.
TEST_F(LabelPublisherTest, AnObjectInANamespaceThatIsNoMoreOursIsLeftToOthers) {
  options_.backend = LabelBackend::kNodeFeature;
  Start();
  ASSERT_EQ(FeatureCount(), "1");
  labels_.Stop();
  cluster_.Stop();
  name_space_ = "elsewhere";
  cluster_.Start({"", "node-1"});
  loop_.RunUntilIdle();
  api_->Fail(base::Error(base::ErrorCode::kDenied, "no right"));
  options_.backend = LabelBackend::kNone;
  Start();
  loop_.Advance(hours(1));
  EXPECT_EQ(Requests("delete nodefeatures"), 1U);
  EXPECT_EQ(labels_.problem(), "");
  EXPECT_NE(lines_.find("our NodeFeature object of before stays: its namespace is no longer ours"),
            std::string::npos)
      << lines_;
  EXPECT_NE(lines_.find("kubectl delete nodefeature nvidia-features-for-node-1 --namespace=gpu"),
            std::string::npos)
      << lines_;
  EXPECT_EQ(lines_.find("labels of before are taken away"), std::string::npos);
  labels_.Stop();
  Start();
  EXPECT_EQ(Requests("delete nodefeatures"), 1U);
}

// The chart gives the right to remove it: one who took it away gives it back.
TEST_F(LabelPublisherTest, AnObjectInOurNamespaceIsRemovedOnceThatIsAllowed) {
  options_.backend = LabelBackend::kNodeFeature;
  Start();
  api_->Fail(base::Error(base::ErrorCode::kDenied, "no right"));
  SetBackend(LabelBackend::kNone);
  loop_.Advance(minutes(1));
  EXPECT_EQ(labels_.problem(), "no right");
  api_->Fail(std::nullopt);
  loop_.Advance(minutes(10));
  EXPECT_EQ(labels_.problem(), "");
  EXPECT_EQ(FeatureCount(), "none");
}

TEST_F(LabelPublisherTest, SwitchedBackAtOnceItStays) {
  Start();
  options_.backend = LabelBackend::kNone;
  labels_.SetOptions(options_);
  options_.backend = LabelBackend::kNode;
  labels_.SetOptions(options_);
  loop_.RunUntilIdle();
  loop_.Advance(seconds(10));
  EXPECT_EQ(Count(), "1");
}

// Each while its answer is on its way: whoever took it would find nothing there.
TEST_F(LabelPublisherTest, AnAnswerForAnOutputThatIsGoneIsNobodys) {
  labels_.Start(options_, Snapshot(MockNode(1)));
  ASSERT_EQ(Requests("patch nodes"), 1U);
  labels_.Stop();
  loop_.RunUntilIdle();
  api_->Fail(base::Error(base::ErrorCode::kUnavailable, "nobody answers"));
  facts_.gpus_on_bus = 0;
  labels_.Start(options_, Snapshot(MockNode(0)));
  ASSERT_EQ(Requests("patch nodes"), 2U);
  labels_.Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(labels_.problem(), "");
}

TEST_F(LabelPublisherTest, AnAnswerForANodeFeatureThatIsGoneIsNobodys) {
  options_.backend = LabelBackend::kNodeFeature;
  options_.pod = "agent-x";
  // Stops it between a request and its answer.
  const auto stop_at = [this](const std::string& request) {
    api_->OnRequest([=, this](const std::string& asked) {
      if (asked == request) loop_.Post([this] { labels_.Stop(); });
    });
    labels_.Start(options_, Snapshot(MockNode(1)));
    loop_.RunUntilIdle();
    EXPECT_FALSE(labels_.running()) << request;
    api_->OnRequest({});
    EXPECT_EQ(labels_.problem(), "");
  };
  stop_at("get pods");
  stop_at("create nodefeatures");
  options_.backend = LabelBackend::kFile;
  stop_at("delete nodefeatures");
}

// The object may be gone before the watch that comes anew lists: what was seen before counts no
// more.
TEST_F(LabelPublisherTest, ANodeFeatureThatIsWantedAgainIsMadeAnew) {
  options_.backend = LabelBackend::kNodeFeature;
  Start();
  ASSERT_EQ(FeatureCount(), "1");
  options_.backend = LabelBackend::kNone;
  labels_.SetOptions(options_);
  // Wanted again when its removal has been answered, and before anybody has heard of that.
  loop_.Post([this] {
    options_.backend = LabelBackend::kNodeFeature;
    labels_.SetOptions(options_);
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(Requests("delete nodefeatures"), 1U);
  loop_.Advance(seconds(10));
  EXPECT_EQ(FeatureCount(), "1");
}

TEST_F(LabelPublisherTest, OurTaintIsThereWhileThereAreGpus) {
  options_.taint = service::labels::Taint{"nvidia.com/gpu", "present"};
  Change(R"({"spec":{"taints":[{"key":"theirs","effect":"NoExecute"}]}})");
  Start();
  const std::string both = R"([{"key":"theirs","effect":"NoExecute"},)"
                           R"({"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}])";
  EXPECT_EQ(Taints(), both);
  // Taken away by somebody: it comes back.
  Change(R"({"spec":{"taints":[]}})");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Taints(), R"([{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}])");
  facts_.gpus_on_bus = 0;
  Set(Snapshot(MockNode(0)));
  EXPECT_EQ(Taints(), "[]");
}

TEST_F(LabelPublisherTest, ATaintThatIsTurnedOffGoesAlsoWithARestart) {
  options_.taint = service::labels::Taint{"nvidia.com/gpu", "present"};
  Start();
  labels_.Stop();
  options_.taint = service::labels::Taint{"example.com/gpu", ""};
  Start();
  EXPECT_EQ(Taints(), R"([{"key":"example.com/gpu","effect":"NoSchedule"}])");
  options_.taint.reset();
  labels_.SetOptions(options_);
  loop_.RunUntilIdle();
  EXPECT_EQ(Taints(), "[]");
}

TEST_F(LabelPublisherTest, TheTaintOfBeforeTheAgentGoesWhenItServes) {
  const std::string starter = R"([{"key":"partita.dev/agent-not-ready","effect":"NoSchedule"}])";
  Change(R"({"spec":{"taints":)" + starter + "}}");
  Start();
  EXPECT_EQ(Taints(), starter);
  labels_.SetReady();
  loop_.RunUntilIdle();
  EXPECT_EQ(Taints(), "[]");
  const std::uint64_t before = Requests("patch nodes");
  loop_.Advance(minutes(30));
  EXPECT_EQ(Requests("patch nodes"), before);
}

TEST_F(LabelPublisherTest, ATaintThatIsRefusedIsAProblemToo) {
  options_.backend = LabelBackend::kNone;
  options_.taint = service::labels::Taint{"nvidia.com/gpu", "present"};
  api_->Fail(base::Error(base::ErrorCode::kDenied, "no right"));
  Start();
  EXPECT_EQ(labels_.problem(), "no right");
  EXPECT_EQ(changes_, 1);
  api_->Fail(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(labels_.problem(), "");
  EXPECT_EQ(changes_, 2);
}

TEST_F(LabelPublisherTest, WithoutAClusterNothingIsWrong) {
  cluster_.Stop();
  Start();
  EXPECT_EQ(labels_.problem(), "");
  SetBackend(LabelBackend::kNodeFeature);
  EXPECT_EQ(labels_.problem(), "there is no API server to take a NodeFeature object");
}

}  // namespace
}  // namespace partita::agent
