// What partita needs of an API server, said once and held against three: the fake in memory that
// unit tests use (no variable), the one in Python (tests/support/fake_api.py) and the real one
// (e2e/scenarios/kube_contract.py), both by the kubeconfig that PARTITA_CONTRACT_KUBECONFIG names.
// Objects are named after the process, and gone when it ends. Suites KubeCertificates and
// KubeTokens ask the last two by certificates, and by tokens of the service account "contract".
//
// Suite Faults (kube_contract_faults.cc) needs the fake in Python, which is told how to go wrong.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/events.h"
#include "kube/watch_lines.h"
#include "tests/integration/kube_contract_fixture.h"

namespace partita::integration {
namespace {

using base::ErrorCode;
using base::Value;
using kube::PatchKind;

TEST_F(KubeContract, AnObjectIsMadeReadChangedAndRemoved) {
  const std::string path = MakeConfigMap("one");
  const auto made = Get(path);
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  EXPECT_EQ(At(*made, {"data", "a"}), "one");
  EXPECT_EQ(Create(ConfigMaps(), ConfigMap(name_, "x")).error().code(), ErrorCode::kConflict);

  Value changed = *made;
  changed.Set("data", Json(R"({"a":"two"})"));
  const auto updated = Ask([&](auto answer) { client_->Update(path, changed, answer); });
  ASSERT_TRUE(updated.ok()) << updated.error().ToString();
  EXPECT_NE(At(*updated, {"metadata", "resourceVersion"}),
            At(*made, {"metadata", "resourceVersion"}));
  // From what is no longer the newest.
  changed.Set("data", Json(R"({"a":"three"})"));
  const auto late = Ask([&](auto answer) { client_->Update(path, changed, answer); });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), ErrorCode::kConflict);

  EXPECT_TRUE(Ask([&](auto answer) { client_->Delete(path, answer); }).ok());
  EXPECT_EQ(Get(path).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Ask([&](auto answer) { client_->Delete(path, answer); }).error().code(),
            ErrorCode::kNotFound);
  made_.clear();
}

TEST_F(KubeContract, APatchChangesWhatItNames) {
  const std::string path = MakeConfigMap("one");
  auto patched = Patch(path, PatchKind::kMerge, R"({"data":{"b":"two"}})");
  ASSERT_TRUE(patched.ok()) << patched.error().ToString();
  EXPECT_EQ(At(*patched, {"data"}), R"({"a":"one","b":"two"})");
  patched = Patch(path, PatchKind::kMerge, R"({"data":{"a":null}})");
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ(At(*patched, {"data"}), R"({"b":"two"})");
  EXPECT_EQ(Patch(path + "x", PatchKind::kMerge, "{}").error().code(), ErrorCode::kNotFound);
}

// Lists that are one value (a node's taints) can only be changed by whoever saw them as they are.
TEST_F(KubeContract, APatchOfWhatHasChangedSinceIsRefused) {
  const std::string path = MakeConfigMap("one");
  const std::string seen = At(*Get(path), {"metadata", "resourceVersion"});
  const auto patch = [&](const std::string& text) {
    return Patch(path, PatchKind::kMerge,
                 fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"data":{{"a":"{}"}}}})",
                             seen, text));
  };
  EXPECT_TRUE(patch("two").ok());
  const auto late = patch("three");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), ErrorCode::kConflict) << late.error().ToString();
  EXPECT_EQ(At(*Get(path), {"data", "a"}), "two");
}

TEST_F(KubeContract, ConditionsAreMergedByType) {
  const std::string path = MakeNode() + "/status";
  for (const std::string type : {"partita.test/A", "partita.test/B"}) {
    const auto patched = Patch(
        path, PatchKind::kStrategic,
        fmt::format(
            R"({{"status":{{"conditions":[{{"type":"{}","status":"True","reason":"R","message":"m"}}]}}}})",
            type));
    ASSERT_TRUE(patched.ok()) << patched.error().ToString();
  }
  const std::string conditions = At(*Get(path), {"status", "conditions"});
  EXPECT_NE(conditions.find("partita.test/A"), std::string::npos) << conditions;
  EXPECT_NE(conditions.find("partita.test/B"), std::string::npos) << conditions;
}

TEST_F(KubeContract, ApplyOwnsItsLabelsAndNobodyElses) {
  const std::string path = MakeNode();
  const auto labels = [&] {
    const auto node = Get(path);
    return std::array{At(*node, {"metadata", "labels", "partita.test/a"}),
                      At(*node, {"metadata", "labels", "partita.test/b"}),
                      At(*node, {"metadata", "labels", "partita.test/c"})};
  };
  using Three = std::array<std::string, 3>;
  ASSERT_TRUE(Apply(path, "others", R"({"partita.test/c":"theirs"})").ok());
  auto applied = Apply(path, "ours", R"({"partita.test/a":"1","partita.test/b":"2"})");
  ASSERT_TRUE(applied.ok()) << applied.error().ToString();
  EXPECT_EQ(labels(), (Three{"1", "2", "theirs"}));
  // What is not said any more goes, and only that.
  ASSERT_TRUE(Apply(path, "ours", R"({"partita.test/a":"3"})").ok());
  EXPECT_EQ(labels(), (Three{"3", "none", "theirs"}));
  // Another's field with another value.
  applied = Apply(path, "ours", R"({"partita.test/a":"3","partita.test/c":"mine"})");
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(labels(), (Three{"3", "none", "theirs"}));
  ASSERT_TRUE(Apply(path, "ours", R"({"partita.test/c":"mine"})", true).ok());
  EXPECT_EQ(labels(), (Three{"none", "none", "mine"}));
}

TEST_F(KubeContract, WhatIsAppliedIsToldToBeOurs) {
  const std::string path = MakeNode();
  ASSERT_TRUE(Apply(path, "others", R"({"partita.test/a":"1","partita.test/c":"3"})").ok());
  ASSERT_TRUE(Apply(path, "ours", R"({"partita.test/a":"1","partita.test/b":"2"})").ok());
  const auto fields = [&](const std::string& manager) {
    const Value node = *Get(path);
    for (const Value& entry : node.Find("metadata")->Find("managedFields")->items())
      if (At(entry, {"manager"}) == manager && At(entry, {"operation"}) == "Apply")
        return At(entry, {"fieldsV1", "f:metadata", "f:labels"});
    return std::string("none");
  };
  EXPECT_EQ(fields("ours"), R"({"f:partita.test/a":{},"f:partita.test/b":{}})");
  EXPECT_EQ(fields("others"), R"({"f:partita.test/a":{},"f:partita.test/c":{}})");
  // Nothing any more.
  const Value nothing =
      Json(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name_));
  ASSERT_TRUE(Ask([&](auto answer) { client_->Apply(path, "ours", true, nothing, answer); }).ok());
  EXPECT_EQ(fields("ours"), "none");
  EXPECT_EQ(At(*Get(path), {"metadata", "labels", "partita.test/a"}), "1");
  EXPECT_EQ(At(*Get(path), {"metadata", "labels", "partita.test/b"}), "none");
}

// Of a ConfigMap: a node has others who write to it.
TEST_F(KubeContract, WhatIsAppliedTwiceIsChangedOnce) {
  const std::string path = ConfigMaps() + "/" + name_;
  made_.push_back(path);
  const auto apply = [&](const std::string& text) {
    const auto applied = Ask(
        [&](auto answer) { client_->Apply(path, "ours", false, ConfigMap(name_, text), answer); });
    EXPECT_TRUE(applied.ok()) << applied.error().ToString();
    return applied.ok() ? At(*applied, {"metadata", "resourceVersion"}) : "";
  };
  const std::string first = apply("one");
  EXPECT_EQ(apply("one"), first);
  EXPECT_NE(apply("two"), first);
}

TEST_F(KubeContract, AWatchTellsWhatIsThereAndWhatChanges) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch(kube::FieldSelector("metadata.name", name_));
  Until([&] { return Last(told, "synced"); });
  EXPECT_EQ(told, (std::vector<std::string>{"seen one", "synced"}));
  ASSERT_TRUE(Patch(path, PatchKind::kMerge, R"({"data":{"a":"two"}})").ok());
  Until([&] { return Last(told, "seen two"); });
  // One that is not selected.
  ASSERT_TRUE(Create(ConfigMaps(), ConfigMap(name_ + "-other", "other")).ok());
  ASSERT_TRUE(Ask([&](auto answer) { client_->Delete(path, answer); }).ok());
  Until([&] { return Last(told, "gone"); });
  ASSERT_TRUE(Create(ConfigMaps(), ConfigMap(name_, "three")).ok());
  Until([&] { return Last(told, "seen three"); });
  EXPECT_EQ(told,
            (std::vector<std::string>{"seen one", "synced", "seen two", "gone", "seen three"}));
  EXPECT_TRUE(failures_.empty()) << failures_.front();
}

TEST_F(KubeContract, WhoDoesNothingAsksNothing) {
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  const kube::RequestCounts before = client_->counts();
  MakeConfigMap("one");
  Until([&] { return Last(told, "seen one"); });
  kube::RequestCounts after = client_->counts();
  EXPECT_EQ(after["create configmaps"], 1U);
  after.erase("create configmaps");
  kube::RequestCounts expected = before;
  // The stream may have been opened since.
  expected["watch configmaps"] = after["watch configmaps"];
  EXPECT_LE(after["watch configmaps"], 1U);
  EXPECT_EQ(after, expected);
}

TEST_F(KubeContract, EventsAreTaken) {
  const std::string folder = "/apis/events.k8s.io/v1/namespaces/default/events";
  std::string seen;
  kube::WatchEvents events;
  events.seen = [&](const Value& object) {
    if (At(object, {"regarding", "name"}) == name_) seen = kube::NameOf(object).name;
  };
  watching_.push_back(client_->Watch(folder, "", events));
  kube::EventRecorder recorder(*loop_, *client_, kube::SystemRandom(), name_);
  recorder.Record({.kind = "Node", .name = name_}, kube::EventType::kWarning, "ContractTested",
                  "größer als 100 %");
  Until([&] { return !seen.empty() && recorder.waiting() == 0; });
  made_.push_back(folder + "/" + seen);
  const auto event = Get(made_.back());
  ASSERT_TRUE(event.ok()) << event.error().ToString();
  EXPECT_EQ(At(*event, {"note"}), "größer als 100 %");
  const auto series =
      Patch(made_.back(), PatchKind::kMerge,
            R"({"series":{"count":3,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}})");
  EXPECT_TRUE(series.ok()) << series.error().ToString();
}

// What the fake in memory has not: rules about values and rights.
class KubeServerContract : public KubeContract {};

class KubeCertificates : public KubeContract {
 protected:
  void SetUp() override {
    InstallCertificate("authority.pem", "ca.pem");
    ShowCertificate("first");
    KubeContract::SetUp();
  }
  [[nodiscard]] std::optional<std::string> Kubeconfig() const override {
    return CertificatesFolder() + "/mutual";
  }
  // Who we are to the server.
  std::string Us() {
    const Value question =
        Json(R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
    const auto review = Ask([&](auto answer) {
      client_->Create("/apis/authentication.k8s.io/v1/selfsubjectreviews", question, answer);
    });
    return review.ok() ? At(*review, {"status", "userInfo", "username"})
                       : review.error().ToString();
  }
};

TEST_F(KubeCertificates, AnExchangedOneIsTheNextRequestsAndAWatchGoesOn) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  EXPECT_EQ(Us(), "first");
  ShowCertificate("second");
  EXPECT_EQ(Us(), "second");
  EXPECT_TRUE(Patch(path, PatchKind::kMerge, R"({"data":{"a":"two"}})").ok());
  Until([&] { return Last(told, "seen two"); });
  auto& later = Watch("");
  Until([&] { return Last(later, "synced"); });
  EXPECT_EQ(failures_, std::vector<std::string>{});
}

// By tokens that the server makes, each bound to a Node and no longer good when that has gone.
class KubeTokens : public KubeContract {
 protected:
  void SetUp() override {
    KubeContract::SetUp();
    if (HasFatalFailure()) return;
    file_ = ::testing::TempDir() + "/" + name_ + ".token";
    first_ = MakeToken("-first"), second_ = MakeToken("-second");
    path_ = MakeConfigMap("one");
    Write(first_);
    client_.swap(maker_);
    client_ = ByToken({.token_file = file_});
  }
  void TearDown() override {
    client_.swap(maker_);
    KubeContract::TearDown();
    (void)std::remove(file_.c_str());
  }
  void Write(const std::string& token) {
    PARTITA_CHECK(base::ReplaceRegularFile(file_, token + "\n", 0600).ok());
  }
  struct Token {
    std::string token = {}, token_file = {};
  };
  std::unique_ptr<kube::Client> ByToken(const Token& token) {
    auto access = kube::FindAccess(Kubeconfig().value_or(""), kube::ProcessEnvironment());
    PARTITA_CHECK(access.ok());
    access->kubeconfig.clear();
    access->token = token.token;
    access->token_file = token.token_file;
    return kube::NewClient(*loop_, "token", *access, kube::SystemRandom(), "partita/contract");
  }
  std::string MakeToken(const std::string& end) {
    const Value node = Json(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name_ + end));
    EXPECT_TRUE(Create(Nodes(), node).ok());
    const Value request = Json(
        fmt::format(R"({{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":)"
                    R"({{"boundObjectRef":{{"apiVersion":"v1","kind":"Node","name":"{}"}}}}}})",
                    name_ + end));
    const auto made = Ask([&](auto answer) {
      client_->Create("/api/v1/namespaces/" + space_ + "/serviceaccounts/contract/token", request,
                      answer);
    });
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return made.ok() ? At(*made, {"status", "token"}) : "";
  }
  // The first is not good any more; a server remembers for some seconds that one was.
  void EndFirst() {
    const std::string node = Nodes() + "/" + name_ + "-first";
    ASSERT_TRUE(Ask([&](auto answer) { maker_->Delete(node, answer); }).ok());
    const std::unique_ptr<kube::Client> asks = ByToken({.token = first_});
    const std::unique_ptr<net::Timer> again = loop_->NewTimer("again");
    bool refused = false, asked = false;
    Until([&] {
      if (!std::exchange(asked, true))
        asks->Get(path_, [&](const base::Result<Value>& answer) {
          refused = !answer.ok() && answer.error().code() == ErrorCode::kUnavailable;
          again->After(std::chrono::milliseconds(100), [&] { asked = false; });
        });
      return refused;
    });
  }
  // A watch from before, a write, and a watch from now on.
  void ExpectAllGoesOn(const std::vector<std::string>& told) {
    const auto patched = Patch(path_, PatchKind::kMerge, R"({"data":{"a":"two"}})");
    EXPECT_TRUE(patched.ok()) << patched.error().ToString();
    Until([&] { return Last(told, "seen two"); });
    auto& later = Watch("");
    Until([&] { return Last(later, "synced"); });
  }

  std::string file_, first_, second_, path_;
  std::unique_ptr<kube::Client> maker_;
};

TEST_F(KubeTokens, AnExchangedOneIsTheNextRequestsAndAWatchGoesOn) {
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  // Its stream is begun after it is synced, and with the first token: it is there when it tells of
  // something.
  ASSERT_TRUE(Patch(path_, PatchKind::kMerge, R"({"data":{"a":"between"}})").ok());
  Until([&] { return Last(told, "seen between"); });
  Write(second_);
  EndFirst();
  ExpectAllGoesOn(told);
  EXPECT_EQ(failures_, std::vector<std::string>{});
}

TEST_F(KubeTokens, OneThatEndsBeforeItIsExchangedIsToldAndNothingIsLost) {
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  EndFirst();
  const auto refused = Get(path_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().hint().find("no longer, good"), std::string::npos)
      << refused.error().hint();
  auto& begun = Watch("");
  Until([&] { return !failures_.empty(); });
  EXPECT_NE(failures_.front().find("401"), std::string::npos) << failures_.front();
  Write(second_);
  Until([&] { return Last(begun, "synced"); });
  ExpectAllGoesOn(told);
}

TEST_F(KubeServerContract, RefusalsSayWhatTheyMean) {
  const std::string path = MakeNode();
  auto refused = Apply(path, "ours", R"({"partita.test/a":"not a value!"})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid) << refused.error().ToString();
  refused = Get("/api/v1/namespaces/kube-system/secrets");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kDenied) << refused.error().ToString();
  // What is not there is refused before it is missed, to whoever has no right to it.
  EXPECT_EQ(Get("/apis/partita.test/v1/nothing").error().code(), ErrorCode::kDenied);
}

TEST_F(KubeServerContract, AListComesInPagesWhereALimitIsGiven) {
  for (const char* end : {"-a", "-b", "-c"})
    ASSERT_TRUE(Create(ConfigMaps(), ConfigMap(name_ + end, "x")).ok());
  std::vector<std::string> ours, versions;
  std::string rest;
  do {
    const auto page = Get(ConfigMaps() + "?limit=1" + (rest.empty() ? "" : "&continue=" + rest));
    ASSERT_TRUE(page.ok()) << page.error().ToString();
    const auto& items = page->Find("items")->items();
    ASSERT_LE(items.size(), 1U);
    for (const Value& each : items)
      if (kube::NameOf(each).name.starts_with(name_)) ours.push_back(kube::NameOf(each).name);
    versions.push_back(kube::MetadataOf(*page, "resourceVersion"));
    rest = kube::PercentEncoded(kube::MetadataOf(*page, "continue"));
  } while (!rest.empty());
  EXPECT_EQ(ours, (std::vector<std::string>{name_ + "-a", name_ + "-b", name_ + "-c"}));
  EXPECT_EQ(versions, std::vector<std::string>(versions.size(), versions[0])) << "one moment";
  EXPECT_EQ(Get(ConfigMaps() + "?limit=1&continue=rubbish").error().code(), ErrorCode::kInvalid);
}

TEST_F(KubeServerContract, ANodeFeatureIsAppliedLikeALabel) {
  const std::string folder =
      "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/" + space_ + "/nodefeatures";
  const std::string path = folder + "/" + name_;
  const Value object = Json(fmt::format(
      R"({{"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":{{"name":"{}"}},)"
      R"("spec":{{"labels":{{"nvidia.com/gpu.count":"8"}}}}}})",
      name_));
  const auto made = Ask([&](auto answer) { client_->Apply(path, "ours", false, object, answer); });
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  made_.push_back(path);
  EXPECT_EQ(At(*Get(path), {"spec", "labels"}), R"({"nvidia.com/gpu.count":"8"})");
}

}  // namespace
}  // namespace partita::integration
