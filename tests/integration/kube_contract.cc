// What partita needs of an API server, said once and held against three: the fake in memory that
// unit tests use (no variable), the one in Python (tests/support/fake_api.py) and the real one
// (e2e/scenarios/kube_contract.py), both by the kubeconfig that PARTITA_CONTRACT_KUBECONFIG names.
// Objects are named after the process, and gone when it ends.
//
// Suite Faults needs the fake in Python, which is told how to go wrong.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/testing/fake_client.h"
#include "kube/watch_lines.h"
#include "net/loop.h"
#include "tests/integration/wait_for.h"

namespace partita {
namespace {

using base::ErrorCode;
using base::Value;
using kube::PatchKind;

Value Json(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

std::string At(const Value& value, const std::vector<std::string>& path) {
  const Value* at = &value;
  for (const std::string& key : path) {
    at = at->Find(key);
    if (at == nullptr) return "none";
  }
  return at->kind() == Value::Kind::kString ? at->AsString() : ToJsonLine(*at);
}

class KubeContract : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = Kubeconfig();
    if (!file) {
      client_ = std::make_unique<kube::testing::FakeClient>(*loop_);
    } else {
      auto access = kube::FindAccess(*file, kube::ProcessEnvironment());
      ASSERT_TRUE(access.ok()) << access.error().ToString();
      space_ = access->namespace_;
      client_ = kube::NewClient(*loop_, "api", *access, kube::SystemRandom(), "partita/contract");
    }
    static int made = 0;
    name_ = fmt::format("contract-{}-{}", getpid(), ++made);
  }
  void TearDown() override {
    watching_.clear();
    for (const std::string& path : made_)
      (void)Ask([&](auto answer) { client_->Delete(path, answer); });
  }

  [[nodiscard]] virtual std::optional<std::string> Kubeconfig() const {
    return base::ReadVariable("PARTITA_CONTRACT_KUBECONFIG");
  }

  // Runs the loop until it holds, at most a minute.
  void Until(const std::function<bool()>& condition, int line = __builtin_LINE()) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const auto look = loop_->NewTimer("look");
    bool holds = false;
    look->Every(std::chrono::milliseconds(2), [&] {
      holds = condition();
      if (holds || std::chrono::steady_clock::now() > limit) loop_->Stop();
    });
    loop_->Run();
    if (!holds) ADD_FAILURE_AT(__FILE__, line) << "what is waited for here never came";
  }
  base::Result<Value> Ask(const std::function<void(kube::Client::Answer)>& ask) {
    // It may come after nobody waits for it any more.
    const auto answered = std::make_shared<std::optional<base::Result<Value>>>();
    ask([answered](base::Result<Value> object) { *answered = std::move(object); });
    EXPECT_FALSE(*answered) << "answered from within";
    Until([&] { return answered->has_value(); });
    if (!*answered) return base::MakeError(ErrorCode::kTimeout, "no answer came");
    return **answered;
  }
  base::Result<Value> Get(const std::string& path) {
    return Ask([&](auto answer) { client_->Get(path, answer); });
  }
  base::Result<Value> Create(const std::string& folder, const Value& object) {
    auto made = Ask([&](auto answer) { client_->Create(folder, object, answer); });
    if (made.ok()) made_.push_back(folder + "/" + kube::NameOf(*made).name);
    return made;
  }
  base::Result<Value> Patch(const std::string& path, PatchKind kind, const std::string& patch) {
    return Ask([&](auto answer) { client_->Patch(path, kind, Json(patch), answer); });
  }
  base::Result<Value> Apply(const std::string& path,
                            const std::string& manager,
                            const std::string& labels,
                            bool force = false) {
    const Value object = Json(
        fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{}}}}})",
                    name_, labels));
    return Ask([&](auto answer) { client_->Apply(path, manager, force, object, answer); });
  }
  std::string Nodes() const { return "/api/v1/nodes"; }
  std::string ConfigMaps() const { return "/api/v1/namespaces/" + space_ + "/configmaps"; }
  // A node that nobody runs, and a ConfigMap.
  std::string MakeNode() {
    const auto made = Create(
        Nodes(), Json(fmt::format(
                     R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name_)));
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return Nodes() + "/" + name_;
  }
  Value ConfigMap(const std::string& name, const std::string& text) const {
    return Json(fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"a":"{}"}}}})",
        name, text));
  }
  std::string MakeConfigMap(const std::string& text) {
    const auto made = Create(ConfigMaps(), ConfigMap(name_, text));
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return ConfigMaps() + "/" + name_;
  }
  // What a watch of ConfigMaps told of ours: "seen text", "gone", "synced".
  std::vector<std::string>& Watch(const std::string& selector) {
    auto told = std::make_shared<std::vector<std::string>>();
    kube::WatchEvents events;
    events.seen = [this, told](const Value& object) {
      if (kube::NameOf(object).name.starts_with(name_))
        told->push_back("seen " + At(object, {"data", "a"}));
    };
    events.gone = [this, told](const kube::ObjectName& name) {
      if (name.name.starts_with(name_)) told->emplace_back("gone");
    };
    events.synced = [told] { told->emplace_back("synced"); };
    events.failed = [this](const base::Error& error) { failures_.push_back(error.ToString()); };
    watching_.push_back(client_->Watch(ConfigMaps(), selector, events));
    told_.push_back(told);
    return *told;
  }
  static bool Last(const std::vector<std::string>& told, const std::string& word) {
    return !told.empty() && told.back() == word;
  }

  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  std::unique_ptr<kube::Client> client_;
  std::string space_ = "default", name_;
  std::vector<std::string> made_, failures_;
  std::vector<std::shared_ptr<std::vector<std::string>>> told_;
  std::vector<std::unique_ptr<kube::Watching>> watching_;
};

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
    integration::WaitFor("a change of " + path,
                         [&] { return Patch(path, PatchKind::kMerge, patch).ok(); });
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

// A server that knows its clients by their certificates alone. Files are exchanged one by one, each
// by a rename.
class Certificates : public Faults {
 protected:
  void SetUp() override {
    Install("authority.pem", "ca.pem");
    Show("first");
    Faults::SetUp();
  }
  void TearDown() override {
    Set("{}");
    Install("authority.pem", "ca.pem");
    Faults::TearDown();
  }
  [[nodiscard]] std::optional<std::string> Kubeconfig() const override {
    return Folder() + "/mutual";
  }
  [[nodiscard]] static std::string Folder() {
    return base::ReadVariable("PARTITA_CONTRACT_CERTIFICATES").value_or("");
  }
  static void Install(const std::string& from, const std::string& to) {
    const auto text = base::ReadFile(Folder() + "/" + from);
    PARTITA_CHECK(text.ok());
    PARTITA_CHECK(base::ReplaceRegularFile(Folder() + "/" + to, *text, 0600).ok());
  }
  static void Show(const std::string& name) {
    Install(name + ".pem", "client.pem");
    Install(name + ".key", "client.key");
  }
  // Who began the last watch.
  std::string Watcher() {
    const auto tally = Get("/fake");
    return tally.ok() ? At(*tally, {"watcher"}) : tally.error().ToString();
  }
  void UntilWatchedBy(const std::string& name) {
    integration::WaitFor("a watch by " + name, [&] { return Watcher() == name; });
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
  Show("second");
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
  Install("second.pem", "client.pem");
  recorder.Record({.kind = "Node", .name = name_}, kube::EventType::kNormal, "Tested", "note");
  const auto half = Get(path);
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code(), ErrorCode::kUnavailable) << half.error().ToString();
  EXPECT_EQ(half.error().message().substr(0, 53),
            "the client key does not belong to the certificate: ke");
  EXPECT_EQ(recorder.waiting(), 1U);
  Install("second.key", "client.key");
  Until([&] { return !ends.empty(); });
  EXPECT_EQ(ends, std::vector<std::string>{"sent"});
  EXPECT_TRUE(Get(path).ok());
}

TEST_F(Certificates, AnotherAuthorityIsTrustedFromThenOn) {
  const std::string path = MakeConfigMap("one");
  auto& told = Watch("");
  Until([&] { return Last(told, "synced"); });
  UntilWatchedBy("first");
  const std::string other = Folder() + "/other-server";
  Set(fmt::format(R"({{"certificate":["{0}.pem","{0}.key"],"cut_after":0}})", other));
  const auto refused = [&] {
    return !failures_.empty() && failures_.back().find("is refused: ") != std::string::npos;
  };
  Until(refused);
  Install("other-authority.pem", "ca.pem");
  Set(fmt::format(R"({{"certificate":["{0}.pem","{0}.key"]}})", other));
  ExpectSeen(path, told, "two");
  EXPECT_EQ(client_->counts().at("list configmaps"), 1U);
}

}  // namespace
}  // namespace partita
