// What the tests of the contract of an API server share (kube_contract.cc): a client, questions
// whose answers are waited for, objects that are gone when a test ends.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/testing/fake_client.h"
#include "net/loop.h"

namespace partita::integration {

inline base::Value Json(const std::string& text) {
  auto value = base::ParseJson(text);
  PARTITA_CHECK(value.ok());
  return *value;
}

inline std::string At(const base::Value& value, const std::vector<std::string>& path) {
  const base::Value* at = &value;
  for (const std::string& key : path) {
    at = at->Find(key);
    if (at == nullptr) return "none";
  }
  return at->kind() == base::Value::Kind::kString ? at->AsString() : base::ToJsonLine(*at);
}

// Of a server that knows its clients by their certificates alone. In PARTITA_CONTRACT_CERTIFICATES
// are authority.pem, first.pem, first.key, second.pem, second.key, and a kubeconfig "mutual" of
// ca.pem, client.pem and client.key, which tests put there one by one, each by a rename.
inline std::string CertificatesFolder() {
  return base::ReadVariable("PARTITA_CONTRACT_CERTIFICATES").value_or("");
}
inline void InstallCertificate(const std::string& from, const std::string& to) {
  const auto text = base::ReadFile(CertificatesFolder() + "/" + from);
  PARTITA_CHECK(text.ok());
  PARTITA_CHECK(base::ReplaceRegularFile(CertificatesFolder() + "/" + to, *text, 0600).ok());
}
inline void ShowCertificate(const std::string& name) {
  InstallCertificate(name + ".pem", "client.pem");
  InstallCertificate(name + ".key", "client.key");
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
  void Until(const std::function<bool()>& condition,
             const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const auto look = loop_->NewTimer("look");
    bool holds = false;
    look->Every(std::chrono::milliseconds(2), [&] {
      holds = condition();
      if (holds || std::chrono::steady_clock::now() > limit) loop_->Stop();
    });
    loop_->Run();
    if (!holds) ADD_FAILURE_AT(file, line) << "what is waited for here never came";
  }
  base::Result<base::Value> Ask(const std::function<void(kube::Client::Answer)>& ask) {
    // It may come after nobody waits for it any more.
    const auto answered = std::make_shared<std::optional<base::Result<base::Value>>>();
    ask([answered](base::Result<base::Value> object) { *answered = std::move(object); });
    EXPECT_FALSE(*answered) << "answered from within";
    Until([&] { return answered->has_value(); });
    if (!*answered) return base::MakeError(base::ErrorCode::kTimeout, "no answer came");
    return **answered;
  }
  base::Result<base::Value> Get(const std::string& path) {
    return Ask([&](auto answer) { client_->Get(path, answer); });
  }
  base::Result<base::Value> Create(const std::string& folder, const base::Value& object) {
    auto made = Ask([&](auto answer) { client_->Create(folder, object, answer); });
    if (made.ok()) made_.push_back(folder + "/" + kube::NameOf(*made).name);
    return made;
  }
  base::Result<base::Value> Patch(const std::string& path,
                                  kube::PatchKind kind,
                                  const std::string& patch) {
    return Ask([&](auto answer) { client_->Patch(path, kind, Json(patch), answer); });
  }
  base::Result<base::Value> Apply(const std::string& path,
                                  const std::string& manager,
                                  const std::string& labels,
                                  bool force = false) {
    const base::Value object = Json(
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
  base::Value ConfigMap(const std::string& name, const std::string& text) const {
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
    events.seen = [this, told](const base::Value& object) {
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

}  // namespace partita::integration
