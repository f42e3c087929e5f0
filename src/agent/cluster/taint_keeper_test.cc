#include "agent/cluster/taint_keeper.h"

#include <stdlib.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "kube/testing/fake_client.h"
#include "net/testing/fake_loop.h"

namespace partita::agent {
namespace {

using base::Value;
using service::labels::Taint;
using std::chrono::seconds;

constexpr const char* kTaintedNode = "/api/v1/nodes/node-1";
constexpr const char* kOurTaint =
    R"([{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}])";

Value TaintJson(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

class TaintKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-taints-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    memory_.Open(directory_);
    cluster_.Start({"", "node-1"});
    api_->Put(kTaintedNode, TaintJson(R"({"kind":"Node","metadata":{"name":"node-1"}})"));
    loop_.RunUntilIdle();
    taints_.Start();
  }
  void TearDown() override {
    taints_.Stop();
    cluster_.Stop();
    (void)base::RemoveTree(directory_);
  }
  void Set(std::optional<Taint> taint) {
    taints_.Set(std::move(taint));
    loop_.RunUntilIdle();
  }
  // As somebody with kubectl does.
  void SetTaints(const std::string& taints) {
    api_->Patch(kTaintedNode, kube::PatchKind::kMerge,
                TaintJson(R"({"spec":{"taints":)" + taints + "}}"), [](const auto&) {});
    loop_.RunUntilIdle();
  }
  std::string Taints() {
    const Value* spec = api_->At(kTaintedNode)->Find("spec");
    return spec == nullptr ? "none" : ToJsonLine(*spec->Find("taints"));
  }

  const Taint ours_{"nvidia.com/gpu", "present"};
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
  LabelMemory memory_{log_};
  TaintKeeper taints_{log_, cluster_, memory_, [] { return 0.5; }};
};

TEST_F(TaintKeeperTest, ATaintOfSomebodyElseIsNotOursToTakeAway) {
  SetTaints(kOurTaint);
  Set(ours_);
  Set(std::nullopt);
  EXPECT_EQ(Taints(), kOurTaint);
}

// The Node as it was last seen says nothing of what is on its way there.
TEST_F(TaintKeeperTest, ATaintThatIsOnItsWayIsTakenAwayToo) {
  for (const bool told_first : {false, true}) {
    if (told_first) api_->TellFirst();
    taints_.Set(ours_);
    taints_.Set(std::nullopt);
    loop_.RunUntilIdle();
    EXPECT_EQ(Taints(), "[]");
  }
}

TEST_F(TaintKeeperTest, WhoTakesItAwayAgainAndAgainIsNotHurried) {
  Set(ours_);
  int theirs = 0;
  for (int i = 0; i < 3600; ++i) {
    if (Taints() == kOurTaint) {
      SetTaints("[]");
      ++theirs;
    }
    loop_.Advance(seconds(1));
  }
  // 1, 2, 4 … then every five minutes, less by chance.
  EXPECT_LT(theirs, 30);
  EXPECT_GT(theirs, 10);
  EXPECT_NE(lines_.find("somebody else changes our taints: they are written again, less and less "
                        "often"),
            std::string::npos)
      << lines_;
}

TEST_F(TaintKeeperTest, WhatIsWantedAnewDoesNotWaitForWhoTookTheOtherAway) {
  Set(ours_);
  for (int i = 0; i < 5; ++i) {
    SetTaints("[]");
    loop_.Advance(seconds(16));
    ASSERT_EQ(Taints(), kOurTaint);
  }
  SetTaints("[]");
  EXPECT_EQ(Taints(), "[]");
  Set(Taint{"example.com/gpu", ""});
  EXPECT_EQ(Taints(), R"([{"key":"example.com/gpu","effect":"NoSchedule"}])");
}

TEST_F(TaintKeeperTest, ANodeThatIsMadeAnewIsTaintedAtOnce) {
  Set(ours_);
  api_->Remove(kTaintedNode);
  loop_.RunUntilIdle();
  api_->Put(kTaintedNode, TaintJson(R"({"kind":"Node","metadata":{"name":"node-1"}})"));
  loop_.RunUntilIdle();
  EXPECT_EQ(Taints(), kOurTaint);
}

TEST_F(TaintKeeperTest, WhatSomebodyChangedMeanwhileIsNoProblemAndStays) {
  api_->OnRequest([this](const std::string& asked) {
    if (asked != "patch nodes") return;
    api_->OnRequest({});
    api_->Put(kTaintedNode, TaintJson(R"({"kind":"Node","metadata":{"name":"node-1"},
        "spec":{"taints":[{"key":"theirs","effect":"NoExecute"}]}})"));
  });
  Set(ours_);
  EXPECT_EQ(Taints(), R"([{"key":"theirs","effect":"NoExecute"}])");
  EXPECT_EQ(taints_.problem(), "");
  EXPECT_EQ(lines_.find("taints are not written"), std::string::npos) << lines_;
  loop_.Advance(seconds(1));
  EXPECT_EQ(Taints(), R"([{"key":"theirs","effect":"NoExecute"},)"
                      R"({"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}])");
}

TEST_F(TaintKeeperTest, WhatIsRefusedIsAProblemUntilItIsTaken) {
  api_->Fail(base::Error(base::ErrorCode::kDenied, "no right"));
  Set(ours_);
  EXPECT_EQ(taints_.problem(), "no right");
  EXPECT_NE(lines_.find("taints are not written to the Node: it is tried again"), std::string::npos)
      << lines_;
  api_->Fail(std::nullopt);
  loop_.Advance(seconds(1));
  EXPECT_EQ(taints_.problem(), "");
  EXPECT_EQ(Taints(), kOurTaint);
}

}  // namespace
}  // namespace partita::agent
