// The contract of an API server where the server goes wrong or its certificates change. Needs the
// fake in Python, which is told how.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "kube/events.h"
#include "tests/integration/kube_contract_fixture.h"
#include "tests/integration/wait_for.h"

namespace partita::integration {
namespace {

using base::ErrorCode;
using base::Value;
using kube::PatchKind;

class Faults : public KubeContract {
 protected:
  void Set(const std::string& document) {
    ASSERT_TRUE(Ask([&](auto answer) { client_->Create("/fake", Json(document), answer); }).ok());
  }
  void TearDown() override {
    Set("{}");
    KubeContract::TearDown();
  }
  // Seen by a watch, whatever happens to it.
  void ExpectSeen(const std::string& path,
                  std::vector<std::string>& told,
                  const std::string& text) {
    const std::string patch = fmt::format(R"({{"data":{{"a":"{}"}}}})", text);
    WaitFor("a change of " + path, [&] { return Patch(path, PatchKind::kMerge, patch).ok(); });
    Until([&] { return std::find(told.begin(), told.end(), "seen " + text) != told.end(); });
  }
};

TEST_F(Faults, APostponedRequestIsAnsweredInTheEnd) {
  const std::string path = MakeConfigMap("one");
  Set(R"({"status":429,"times":2,"retry_after":0,"only":"get"})");
  EXPECT_TRUE(Get(path).ok());
  EXPECT_EQ(client_->counts().at("get configmaps"), 3U);
}

TEST_F(Faults, AListThatFailsIsAskedForAgain) {
  const std::string path = MakeConfigMap("one");
  Set(R"({"status":500,"times":2,"only":"list"})");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  EXPECT_EQ(failures_.size(), 2U);
  EXPECT_EQ(failures_[0], "watch " + ConfigMaps() + ": the API server answers 500: as asked for");
}

TEST_F(Faults, WhatHappenedWhileTheServerForgotIsListed) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced") && client_->counts().contains("watch configmaps"); });
  ExpectSeen(path, told, "two");
  Set(R"({"forget":true})");
  ExpectSeen(path, told, "three");
}

TEST_F(Faults, AWatchThatIsCutAgainAndAgainLosesNothing) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  Set(R"({"cut_after":0.1})");
  for (const std::string text : {"two", "three"}) {
    const std::size_t before = failures_.size();
    Until([&] { return failures_.size() > before; });
    ExpectSeen(path, told, text);
  }
  // No list for it, and not more watches than cuts.
  EXPECT_EQ(client_->counts().at("list configmaps"), 1U);
  EXPECT_LE(client_->counts().at("watch configmaps"), failures_.size() + 1);
}

TEST_F(Faults, AnOutageLosesNothing) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  Set(R"({"outage":0.3})");
  Until([&] { return !failures_.empty(); });
  ExpectSeen(path, told, "two");
}

TEST_F(Faults, ASlowServerIsWaitedFor) {
  const std::string path = MakeConfigMap("one");
  Set(R"({"slow":0.2})");
  auto& told = Watch("");
  ExpectSeen(path, told, "two");
  EXPECT_TRUE(failures_.empty());
}

TEST_F(Faults, AnExchangedTokenIsTakenUp) {
  const std::string path = MakeConfigMap("one");
  const auto file = base::ReadVariable("PARTITA_CONTRACT_TOKEN_FILE");
  ASSERT_TRUE(file);
  const auto old = base::ReadFile(*file);
  ASSERT_TRUE(old.ok());
  Set(R"({"token":"exchanged"})");
  EXPECT_EQ(Get(path).error().code(), ErrorCode::kUnavailable);
  ASSERT_TRUE(base::WriteFile(*file, "exchanged\n", 0600).ok());
  EXPECT_TRUE(Get(path).ok());
  Set(fmt::format(R"({{"token":"{}"}})", std::string(base::Trim(*old))));
  ASSERT_TRUE(base::WriteFile(*file, *old, 0600).ok());
}

class Certificates : public Faults {
 protected:
  void SetUp() override {
    InstallCertificate("authority.pem", "ca.pem");
    ShowCertificate("first");
    Faults::SetUp();
  }
  void TearDown() override {
    Set("{}");
    InstallCertificate("authority.pem", "ca.pem");
    Faults::TearDown();
  }
  [[nodiscard]] std::optional<std::string> Kubeconfig() const override {
    return CertificatesFolder() + "/mutual";
  }
  // Who began the last watch.
  std::string Watcher() {
    const auto tally = Get("/fake");
    return tally.ok() ? At(*tally, {"watcher"}) : tally.error().ToString();
  }
  void UntilWatchedBy(const std::string& name) {
    WaitFor("a watch by " + name, [&] { return Watcher() == name; });
  }
  // Once.
  void Cut() {
    const std::size_t before = failures_.size();
    Set(R"({"cut_after":0})");
    Until([&] { return failures_.size() > before; });
    Set("{}");
  }
};

TEST_F(Certificates, AWatchBeginsAnewWithTheCertificateThatIsThereByThen) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  UntilWatchedBy("first");
  ShowCertificate("second");
  // What is open stays.
  ExpectSeen(path, told, "two");
  EXPECT_EQ(Watcher(), "first");
  Cut();
  UntilWatchedBy("second");
  ExpectSeen(path, told, "three");
  EXPECT_EQ(client_->counts().at("list configmaps"), 1U);
}

TEST_F(Certificates, HalfOfANewPairIsWaitedFor) {
  const std::string path = MakeConfigMap("one");
  kube::EventRecorder recorder(*loop_, *client_, kube::SystemRandom(), name_);
  std::vector<std::string> ends;
  recorder.OnEnd([&](const base::Result<void>& how) {
    ends.push_back(how.ok() ? "sent" : how.error().ToString());
  });
  InstallCertificate("second.pem", "client.pem");
  recorder.Record({.kind = "Node", .name = name_}, kube::EventType::kNormal, "Tested", "note");
  const auto half = Get(path);
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code(), ErrorCode::kUnavailable) << half.error().ToString();
  EXPECT_EQ(half.error().message().substr(0, 53),
            "the client key does not belong to the certificate: ke");
  EXPECT_EQ(recorder.waiting(), 1U);
  InstallCertificate("second.key", "client.key");
  Until([&] { return !ends.empty(); });
  EXPECT_EQ(ends, std::vector<std::string>{"sent"});
  EXPECT_TRUE(Get(path).ok());
}

TEST_F(Certificates, AnotherAuthorityIsTrustedFromThenOn) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  UntilWatchedBy("first");
  const std::string other = CertificatesFolder() + "/other-server";
  Set(fmt::format(R"({{"certificate":["{0}.pem","{0}.key"],"cut_after":0}})", other));
  const auto refused = [&] {
    return !failures_.empty() && failures_.back().find("is refused: ") != std::string::npos;
  };
  Until(refused);
  InstallCertificate("other-authority.pem", "ca.pem");
  Set(fmt::format(R"({{"certificate":["{0}.pem","{0}.key"]}})", other));
  ExpectSeen(path, told, "two");
  EXPECT_EQ(client_->counts().at("list configmaps"), 1U);
}

}  // namespace
}  // namespace partita::integration
