#include "agent/cluster/cluster.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kube/testing/fake_client.h"
#include "net/http_server.h"
#include "net/testing/fake_loop.h"

namespace partita::agent {
namespace {

using base::Value;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kNode = "/api/v1/nodes/node-1";

Value NodeNamed(const std::string& name, const std::string& label = "x") {
  auto node = base::ParseJson(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
                              R"(","labels":{"a":")" + label + R"("}}})");
  PARTITA_CHECK(node.ok());
  return *node;
}

std::string Label(const Value& node) {
  return node.IsNull() ? "gone" : node.Find("metadata")->Find("labels")->Find("a")->AsString();
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

class ClusterTest : public ::testing::Test {
 protected:
  void Start() {
    cluster_.Start({"", "node-1"});
    loop_.RunUntilIdle();
  }
  void SetFine() {
    cluster_.SetCondition("partita.dev/T", Cluster::Status::kTrue, "Fine", "well");
    loop_.RunUntilIdle();
  }
  std::string Conditions() {
    const Value* node = api_->At(kNode);
    const Value* status = node == nullptr ? nullptr : node->Find("status");
    return status == nullptr ? "none" : ToJsonLine(*status->Find("conditions"));
  }
  std::uint64_t Patches() {
    const auto found = api_->counts().find("patch nodes/status");
    return found == api_->counts().end() ? 0 : found->second;
  }

  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  kube::testing::FakeClient* api_ = nullptr;  // while the cluster is started
  std::optional<base::Error> no_access_;
  int changes_ = 0;
  Cluster cluster_{loop_, log_,
                   [this](net::Loop& loop, const std::string&) -> base::Result<ClusterConnection> {
                     if (no_access_) return *no_access_;
                     auto client = std::make_unique<kube::testing::FakeClient>(loop);
                     api_ = client.get();
                     api_->Put("/api/v1/nodes/other", NodeNamed("other"));
                     return ClusterConnection{std::move(client), "the test", "default"};
                   },
                   [this] { ++changes_; }, [] { return 0.0; }};
};

TEST_F(ClusterTest, WithoutAnApiServerNothingIsWrong) {
  no_access_ = base::Error(base::ErrorCode::kNotFound, "this is no pod");
  Start();
  cluster_.SetCondition("partita.dev/T", Cluster::Status::kTrue, "Fine", "well");
  cluster_.Tell(kube::EventType::kNormal, "Reason", "note");
  EXPECT_EQ(cluster_.client(), nullptr);
  EXPECT_EQ(cluster_.why_off(), "this is no pod");
  EXPECT_TRUE(cluster_.absent());
  EXPECT_EQ(cluster_.problem(), "");
  EXPECT_EQ(changes_, 0);
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  EXPECT_EQ(lines_,
            "2026-01-01T00:00:00.000Z info  no API server: nothing is written to a cluster "
            "err=\"this is no pod\"\n");
}

TEST_F(ClusterTest, AWrongKubeconfigIsAProblemToldOnce) {
  no_access_ = base::Error(base::ErrorCode::kInvalid, "/k:1:1: no kubeconfig");
  Start();
  EXPECT_EQ(cluster_.problem(), "/k:1:1: no kubeconfig");
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(
      ToJsonLine(cluster_.State()),
      R"({"server":null,"node":"node-1","seen":false,"problem":"/k:1:1: no kubeconfig","requests":{}})");
}

TEST_F(ClusterTest, ANamedKubeconfigThatIsAbsentIsAProblem) {
  no_access_ = base::Error(base::ErrorCode::kNotFound, "/k: no such file");
  cluster_.Start({"/k", "node-1"});
  EXPECT_EQ(cluster_.problem(), "/k: no such file");
}

TEST_F(ClusterTest, WhereTheKubeconfigIsNamedIsSaid) {
  no_access_ = base::Error(base::ErrorCode::kNotFound, "open /a: No such file or directory");
  cluster_.Start({"/a", "node-1"});
  EXPECT_NE(lines_.find("node.kubeconfig names the file: write one that is there, or leave it out, "
                        "and the pod's own account counts"),
            std::string::npos)
      << lines_;
  cluster_.Stop();
  no_access_ = base::Error(base::ErrorCode::kInvalid, "/a:1:1: no YAML").WithHint("write YAML");
  cluster_.Start({"/a", "node-1"});
  EXPECT_NE(lines_.find("write YAML"), std::string::npos) << lines_;
}

// kubelet.conf is written when a node joins, and nobody writes it at once.
TEST_F(ClusterTest, AKubeconfigThatComesLaterIsTakenThen) {
  int connected = 0;
  cluster_.OnConnected([&] { ++connected; });
  no_access_ = base::Error(base::ErrorCode::kNotFound, "/k: no such file");
  SetFine();
  cluster_.Start({"/k", "node-1"});
  EXPECT_FALSE(cluster_.absent());
  loop_.Advance(Cluster::kConnectAgain * 3);
  EXPECT_EQ(CountOf(lines_, "no API server is reached"), 1U) << lines_;
  no_access_ = base::Error(base::ErrorCode::kInvalid, "/k:1:1: no YAML");
  loop_.Advance(Cluster::kConnectAgain * 3);
  EXPECT_EQ(CountOf(lines_, "no API server is reached"), 2U) << lines_;
  EXPECT_EQ(cluster_.problem(), "/k:1:1: no YAML");
  EXPECT_EQ(cluster_.why_off(), "/k:1:1: no YAML");
  EXPECT_EQ(connected, 0);
  no_access_.reset();
  loop_.Advance(Cluster::kConnectAgain);
  EXPECT_EQ(connected, 1);
  ASSERT_NE(cluster_.client(), nullptr);
  EXPECT_EQ(cluster_.why_off(), "");
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  EXPECT_EQ(cluster_.problem(), "");
  EXPECT_NE(Conditions().find("\"Fine\""), std::string::npos) << Conditions();
  EXPECT_EQ(CountOf(lines_, "it is tried again: over, it works again"), 1U) << lines_;
  const kube::testing::FakeClient* once = api_;
  loop_.Advance(Cluster::kConnectAgain * 3);
  EXPECT_EQ(api_, once);
  EXPECT_EQ(connected, 1);
}

TEST_F(ClusterTest, WhatIsFoundAtOnceIsNotToldAsFoundLater) {
  int connected = 0;
  cluster_.OnConnected([&] { ++connected; });
  Start();
  EXPECT_FALSE(cluster_.absent());
  EXPECT_EQ(connected, 0);
}

TEST_F(ClusterTest, StoppedItAwaitsNoKubeconfig) {
  no_access_ = base::Error(base::ErrorCode::kNotFound, "/k: no such file");
  cluster_.Start({"/k", "node-1"});
  cluster_.Stop();
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(ClusterTest, TheNodeIsToldWhenItComesChangesAndGoes) {
  std::vector<std::string> told;
  auto hearing = cluster_.OnNode([&](const Value& node) { told.push_back(Label(node)); });
  Start();
  EXPECT_EQ(cluster_.problem(), "the cluster has no node \"node-1\"");
  api_->Put(kNode, NodeNamed("node-1", "one"));
  loop_.RunUntilIdle();
  EXPECT_EQ(cluster_.problem(), "");
  api_->Put(kNode, NodeNamed("node-1", "two"));
  loop_.RunUntilIdle();
  EXPECT_EQ(Label(cluster_.node()), "two");
  api_->Remove(kNode);
  loop_.RunUntilIdle();
  EXPECT_EQ(told, (std::vector<std::string>{"one", "two", "gone"}));
  hearing.reset();
  api_->Put(kNode, NodeNamed("node-1", "three"));
  loop_.RunUntilIdle();
  EXPECT_EQ(told.size(), 3U);
}

TEST_F(ClusterTest, AnOutageIsAProblemAndOver) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  changes_ = 0;
  api_->Fail(base::Error(base::ErrorCode::kUnavailable, "nobody answers"));
  loop_.RunUntilIdle();
  EXPECT_EQ(cluster_.problem(), "nobody answers");
  EXPECT_EQ(Label(cluster_.node()), "x");  // as it was last seen
  api_->Fail(std::nullopt);
  loop_.RunUntilIdle();
  EXPECT_EQ(cluster_.problem(), "");
  EXPECT_EQ(changes_, 2);
}

// Nothing is listed then: that it lasts is all that says so.
TEST_F(ClusterTest, AnOutageIsOverWhereTheWatchGoesOnForAWhile) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  api_->ResumeWatches();
  const auto fail = [this] {
    api_->Fail(base::Error(base::ErrorCode::kUnavailable, "nobody answers"));
    loop_.RunUntilIdle();
    api_->Fail(std::nullopt);
    loop_.RunUntilIdle();
    EXPECT_EQ(cluster_.problem(), "nobody answers");
  };
  fail();
  // What comes by a stream that may be cut at once says nothing.
  api_->Put(kNode, NodeNamed("node-1", "y"));
  loop_.Advance(Cluster::kWell - seconds(1));
  EXPECT_EQ(cluster_.problem(), "nobody answers");
  fail();
  loop_.Advance(Cluster::kWell - seconds(1));
  EXPECT_EQ(cluster_.problem(), "nobody answers");
  loop_.Advance(seconds(1));
  EXPECT_EQ(cluster_.problem(), "");
  EXPECT_NE(lines_.find("our Node is not seen: it is tried again: over"), std::string::npos)
      << lines_;
}

TEST_F(ClusterTest, AConditionWaitsForTheNode) {
  SetFine();
  Start();
  EXPECT_EQ(Patches(), 0U);
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  EXPECT_EQ(
      Conditions(),
      R"([{"type":"partita.dev/T","status":"True","reason":"Fine","message":"well",)"
      R"("lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}])");
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(ClusterTest, AConditionIsWrittenWhenItDiffersAndConfirmedEveryFiveMinutes) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  SetFine();
  SetFine();
  EXPECT_EQ(Patches(), 1U);
  loop_.Advance(minutes(5) - seconds(1));
  EXPECT_EQ(Patches(), 1U);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Patches(), 2U);
  EXPECT_EQ(
      Conditions(),
      R"([{"type":"partita.dev/T","status":"True","reason":"Fine","message":"well",)"
      R"("lastHeartbeatTime":"2026-01-01T00:05:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}])");
  cluster_.SetCondition("partita.dev/T", Cluster::Status::kFalse, "Bad", "ill");
  loop_.RunUntilIdle();
  EXPECT_EQ(Patches(), 3U);
  EXPECT_EQ(
      Conditions(),
      R"([{"type":"partita.dev/T","status":"False","reason":"Bad","message":"ill",)"
      R"("lastHeartbeatTime":"2026-01-01T00:05:00Z","lastTransitionTime":"2026-01-01T00:05:00Z"}])");
}

// Its predecessor wrote it: nothing differs, and still somebody has to confirm it.
TEST_F(ClusterTest, AConditionThatIsThereAlreadyIsConfirmedToo) {
  Start();
  Value node = NodeNamed("node-1");
  node.Set(
      "status",
      *base::ParseJson(R"({"conditions":[{"type":"partita.dev/T","status":"True","reason":"Fine",)"
                       R"("message":"well","lastTransitionTime":"2025-01-01T00:00:00Z"}]})"));
  api_->Put(kNode, node);
  loop_.RunUntilIdle();
  SetFine();
  EXPECT_EQ(Patches(), 0U);
  loop_.Advance(minutes(5));
  EXPECT_EQ(Patches(), 1U);
  EXPECT_NE(Conditions().find("2025-01-01"), std::string::npos) << Conditions();
}

TEST_F(ClusterTest, AConditionThatSomebodyTakesAwayIsWrittenAgainAndOthersStay) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  SetFine();
  Value node = NodeNamed("node-1");
  node.Set("status", *base::ParseJson(R"({"conditions":[{"type":"Ready","status":"True"}]})"));
  api_->Put(kNode, node);
  loop_.Advance(seconds(1));
  EXPECT_TRUE(
      Conditions().starts_with(R"([{"type":"Ready","status":"True"},{"type":"partita.dev/T",)"))
      << Conditions();
}

// The Node as it was last seen says nothing of what is on its way there.
TEST_F(ClusterTest, AConditionThatIsAgainAsBeforeWhileAnotherIsWrittenIsWrittenToo) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  SetFine();
  api_->TellFirst();
  cluster_.SetCondition("partita.dev/T", Cluster::Status::kFalse, "Bad", "ill");
  SetFine();
  EXPECT_NE(Conditions().find("\"Fine\""), std::string::npos) << Conditions();
  EXPECT_EQ(Patches(), 3U);
}

TEST_F(ClusterTest, WhoTakesAConditionAwayAgainAndAgainIsNotHurried) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  SetFine();
  int theirs = 0;
  for (int i = 0; i < 240; ++i) {
    if (Conditions().find("Fine") != std::string::npos) {
      api_->Put(kNode, NodeNamed("node-1"));
      ++theirs;
    }
    loop_.Advance(seconds(1));
  }
  // After 0.5, 1, 2, 4 s …
  EXPECT_GT(theirs, 5);
  EXPECT_LT(theirs, 12);
  EXPECT_NE(lines_.find("somebody else changes our conditions: they are written again, less and "
                        "less often"),
            std::string::npos)
      << lines_;
  // What is new does not wait for that.
  cluster_.SetCondition("partita.dev/T", Cluster::Status::kFalse, "Bad", "ill");
  loop_.RunUntilIdle();
  EXPECT_NE(Conditions().find("\"Bad\""), std::string::npos) << Conditions();
}

TEST_F(ClusterTest, AConditionThatIsRefusedIsTriedAgainLaterAndLater) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  api_->Fail(base::Error(base::ErrorCode::kUnavailable, "nobody answers"));
  SetFine();
  EXPECT_EQ(Patches(), 1U);
  loop_.Advance(seconds(60));
  // After 0.5, 1, 2, 4, 8 and then every 15 s.
  EXPECT_EQ(Patches(), 8U);
  api_->Fail(std::nullopt);
  loop_.Advance(seconds(15));
  EXPECT_NE(Conditions().find("\"Fine\""), std::string::npos);
  EXPECT_NE(lines_.find("conditions are not written: they are tried again: over"),
            std::string::npos)
      << lines_;
}

TEST_F(ClusterTest, AnEventIsOnOurNode) {
  Start();
  cluster_.Tell(kube::EventType::kWarning, "ConfigRejected", "a.yaml:3:1: no such key");
  loop_.RunUntilIdle();
  EXPECT_EQ(api_->counts().at("create events"), 1U);
}

TEST_F(ClusterTest, EventsThatAreRefusedAreAProblemToldOnce) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  lines_.clear();
  int before = changes_;
  const auto refuse = [this](const std::string& reason) {
    cluster_.Tell(kube::EventType::kWarning, reason, "it happened");
    api_->Fail(base::Error(base::ErrorCode::kDenied, "the API server answers 403: no"));
    loop_.RunUntilIdle();
    api_->Fail(std::nullopt);
    loop_.RunUntilIdle();
  };
  refuse("First");
  refuse("Second");
  EXPECT_EQ(cluster_.problem(), "Events of node node-1: the API server answers 403: no");
  EXPECT_EQ(cluster_.State().Find("problem")->AsString(), cluster_.problem());
  EXPECT_GT(changes_, before);
  const std::string told = "Events are refused: what they say is in this log alone";
  EXPECT_EQ(CountOf(lines_, told), 1U) << lines_;
  EXPECT_NE(lines_.find("allow the agent's account to create and patch events of events.k8s.io in "
                        "the namespace \\\"default\\\", as the chart does"),
            std::string::npos)
      << lines_;
  before = changes_;
  cluster_.Tell(kube::EventType::kNormal, "Third", "it is over");
  loop_.RunUntilIdle();
  EXPECT_EQ(cluster_.problem(), "");
  EXPECT_GT(changes_, before);
  EXPECT_EQ(CountOf(lines_, told + ": over, it works again"), 1U) << lines_;
}

TEST_F(ClusterTest, NothingHappensWhereNothingChanges) {
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  const kube::RequestCounts before = api_->counts();
  loop_.Advance(std::chrono::hours(24));
  EXPECT_EQ(api_->counts(), before);
  EXPECT_EQ(ToJsonLine(cluster_.State()),
            R"({"server":"the test","node":"node-1","seen":true,"problem":"",)"
            R"("requests":{"list nodes":1,"watch nodes":1}})");
}

TEST_F(ClusterTest, StoppedItTellsNothingAndStartsAnew) {
  int told = 0;
  auto hearing = cluster_.OnNode([&](const Value&) { ++told; });
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  SetFine();
  EXPECT_EQ(told, 2);  // it came, and its status changed
  cluster_.Stop();
  EXPECT_TRUE(cluster_.State().IsNull());
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  Start();
  api_->Put(kNode, NodeNamed("node-1"));
  loop_.RunUntilIdle();
  EXPECT_EQ(Patches(), 1U);  // what was to be said stays so
}

// A thousand nodes that saw the same server go do not ask it at once, nor do their watches end at
// once. Four that live equally long by chance: once in 27 million runs.
TEST(ConnectApiServer, LeavesToChanceHowLongAWatchLives) {
  net::testing::FakeLoop loop;
  net::HttpServer server(loop);
  std::vector<std::string> lives;
  server.Serve("/api/v1/nodes", [&](const net::HttpRequest& request) {
    const std::size_t at = request.query.find("timeoutSeconds=");
    if (at != std::string::npos) lives.push_back(request.query.substr(at));
    return net::HttpResponse{.body = R"({"metadata":{"resourceVersion":"1"},"items":[]})"};
  });
  auto listener =
      net::Listener::Open({.kind = base::ListenAddress::Kind::kTcp, .host = "127.0.0.1"});
  ASSERT_TRUE(listener.ok()) << listener.error().ToString();
  server.Listen(*std::move(listener));
  std::string file = std::filesystem::temp_directory_path() / "partita-kubeconfig-XXXXXX";
  const base::UniqueFd made(mkstemp(file.data()));
  ASSERT_TRUE(base::WriteFile(file,
                              "current-context: a\n"
                              "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
                              "clusters: [{name: a, cluster: {server: \"http://" +
                                  ToString(server.address()) +
                                  "\"}}]\n"
                                  "users: [{name: a, user: {}}]\n",
                              0600)
                  .ok());
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto connection = ConnectApiServer("1")(loop, file);
    ASSERT_TRUE(connection.ok()) << connection.error().ToString();
    const auto watching = connection->client->Watch("/api/v1/nodes", "", {});
    loop.RunUntil([&] { return lives.size() == i; });
  }
  std::filesystem::remove(file);
  EXPECT_GT(std::set(lives.begin(), lives.end()).size(), 1U) << lives.front();
}

TEST(NodeName, IsWhatIsConfiguredOrTheMachines) {
  EXPECT_EQ(NodeName("Gpu-1"), "Gpu-1");
  EXPECT_EQ(NodeName(""), base::ToLower(NodeName("")));
  EXPECT_NE(NodeName(""), "");
}

}  // namespace
}  // namespace partita::agent
