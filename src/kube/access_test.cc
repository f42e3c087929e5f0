#include "kube/access.h"

#include <unistd.h>

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::kube {
namespace {

// What every test has but for its users.
std::string Kubeconfig(const std::string& user, const std::string& cluster = "") {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "current-context: admin\n"
         "preferences: {}\n"
         "contexts:\n"
         "- name: admin\n"
         "  context: {cluster: here, user: me, namespace: gpu}\n"
         "clusters:\n"
         "- name: here\n"
         "  cluster:\n"
         "    server: https://api.example:6443/k8s/\n"
         "    certificate-authority: pki/ca.crt\n" +
         cluster +
         "users:\n"
         "- name: me\n"
         "  user:\n" +
         user;
}

std::string Refusal(const std::string& text, const std::string& context = "") {
  const auto access = ReadKubeconfig(text, "/etc/kube/config", context);
  return access.ok() ? "" : access.error().ToString();
}

TEST(ReadKubeconfig, KnowsServerAuthorityAndToken) {
  const auto access =
      ReadKubeconfig(Kubeconfig("    token: abc\n    tokenFile: /run/token\n"), "/etc/kube/config");
  ASSERT_TRUE(access.ok()) << access.error().ToString();
  EXPECT_EQ(access->server.host, "api.example");
  EXPECT_EQ(access->server.port, 6443);
  EXPECT_TRUE(access->server.tls);
  EXPECT_EQ(access->path_prefix, "/k8s");
  EXPECT_EQ(access->ca_file, "/etc/kube/pki/ca.crt");
  EXPECT_EQ(access->token, "abc");
  EXPECT_EQ(access->token_file, "/run/token");
  EXPECT_EQ(access->namespace_, "gpu");
  EXPECT_EQ(access->origin, "context \"admin\" of /etc/kube/config");
}

TEST(ReadKubeconfig, WhatIsWrittenOutComesBeforeFiles) {
  const auto access = ReadKubeconfig(
      Kubeconfig("    client-certificate-data: Y2VydA==\n    client-certificate: never.crt\n"
                 "    client-key: me.key\n",
                 "    certificate-authority-data: Y2E=\n    tls-server-name: kubernetes\n"),
      "/etc/kube/config");
  ASSERT_TRUE(access.ok()) << access.error().ToString();
  EXPECT_EQ(access->server.ca_pem, "ca");
  EXPECT_EQ(access->ca_file, "");
  EXPECT_EQ(access->server.client_cert_pem, "cert");
  EXPECT_EQ(access->client_cert_file, "");
  EXPECT_EQ(access->client_key_file, "/etc/kube/me.key");
  EXPECT_EQ(access->server.server_name, "kubernetes");
}

TEST(ReadKubeconfig, RefusesByNameWhatItDoesNotDo) {
  EXPECT_EQ(Refusal(Kubeconfig("    exec:\n      command: aws\n")),
            "/etc/kube/config:16:5: \"exec\" is refused: programs that print credentials are not "
            "started; give a token, a tokenFile or a client certificate (a service account's, for "
            "one)");
  for (const std::string key : {"auth-provider: {name: gcp}", "username: x", "as: admin"}) {
    const std::string told = Refusal(Kubeconfig("    " + key + "\n"));
    EXPECT_NE(
        told.find("/etc/kube/config:16:5: \"" + key.substr(0, key.find(':')) + "\" is refused: "),
        std::string::npos)
        << told;
  }
  EXPECT_NE(Refusal(Kubeconfig("    token: x\n", "    proxy-url: http://p\n"))
                .find("\"proxy-url\" is refused: proxies are not gone through"),
            std::string::npos);
}

TEST(ReadKubeconfig, SaysWhatIsMissingAndWhere) {
  EXPECT_NE(Refusal(Kubeconfig("    token: x\n"), "other").find("there is no context \"other\""),
            std::string::npos);
  EXPECT_NE(Refusal("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n")
                .find("/etc/kube/config:2:41: there is no cluster \"c\""),
            std::string::npos);
  EXPECT_NE(Refusal(Kubeconfig("    client-key-data: \"*\"\n"))
                .find(":16:22: \"client-key-data\" is not base64"),
            std::string::npos);
  EXPECT_NE(Refusal("[]").find("the kubeconfig"), std::string::npos);
  EXPECT_NE(Refusal("{}").find("current-context"), std::string::npos);
}

TEST(ReadKubeconfig, RefusesATokenWithoutTls) {
  std::string text = Kubeconfig("    token: secret\n");
  text.replace(text.find("https"), 5, "http");
  EXPECT_EQ(Refusal(text),
            "/etc/kube/config:16:5: a token for a server without TLS is refused: everybody on the "
            "way could use it; give the server as https://");
}

// What is told goes into logs and to /readyz, which anybody may ask.
TEST(ReadKubeconfig, TellsNoSecret) {
  const std::string with_password = Kubeconfig("    token: x\n");
  for (const std::string& text : {
           Kubeconfig("    password: s3cr3t\n"),
           Kubeconfig("    client-key-data: s3cr3t\n"),
           Kubeconfig("    {token: s3cr3t, exec: {command: aws}}\n"),
           Kubeconfig("    token: s3cr3t\n    token: s3cr3t\n"),
           Kubeconfig("    token: !s3cr3t x\n"),
           Kubeconfig("    token: *s3cr3t\n"),
           Kubeconfig("    token: &s3cr3ts x\n    password: *s3cr3t\n"),
           Kubeconfig("    token: \"s3cr3t\n"),
           Kubeconfig("    token: s3cr3t: s3cr3t\n"),
           Kubeconfig("    s3cr3t\n"),
           Kubeconfig("    [token, s3cr3t]\n"),
           Kubeconfig("    token: s3cr3t\n", "    insecure-skip-tls-verify: s3cr3t\n"),
           std::string("s3cr3t\n"),  // somebody named the file of a token
           std::string(with_password).replace(with_password.find("api."), 4, "me:s3cr3t@api."),
           std::string(with_password).replace(with_password.find("/k8s/"), 5, "/?token=s3cr3t"),
       }) {
    const std::string told = Refusal(text);
    EXPECT_TRUE(told.starts_with("/etc/kube/config:")) << text << told;
    EXPECT_EQ(told.find("s3cr3t"), std::string::npos) << told;
    EXPECT_EQ(told.find('\n'), std::string::npos) << told;
  }
}

TEST(ReadServerUrl, TakesHostsPortsAndPrefixes) {
  net::HttpTarget server;
  EXPECT_EQ(*ReadServerUrl("https://10.0.0.1", server), "");
  EXPECT_EQ(net::Authority(server), "10.0.0.1:443");
  EXPECT_EQ(*ReadServerUrl("http://localhost:8001/", server), "");
  EXPECT_EQ(net::Authority(server), "localhost:8001");
  EXPECT_FALSE(server.tls);
  EXPECT_EQ(*ReadServerUrl("https://[fd00::1]:6443/a/b", server), "/a/b");
  EXPECT_EQ(net::Authority(server), "[fd00::1]:6443");
  for (const std::string url :
       {"", "api.example", "ftp://x", "https://", "https://:6443", "https://x:0", "https://x:99999",
        "https://x:y", "https://me@x", "https://x?y", "https://[x]", "https://[::1", "https://a b"})
    EXPECT_FALSE(ReadServerUrl(url, server).ok()) << url;
}

class InClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-access-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { (void)base::RemoveTree(folder_); }
  void Write(const std::string& name, const std::string& text) {
    PARTITA_CHECK(base::WriteFile(folder_ + "/" + name, text, 0600).ok());
  }
  Environment Variables() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
  }

  std::string folder_;
  std::map<std::string, std::string> variables_{{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                {"KUBERNETES_SERVICE_PORT", "443"}};
};

TEST_F(InClusterTest, IsThePodsServiceAccount) {
  Write("token", "t\n");
  Write("ca.crt", "c");
  Write("namespace", "gpu-stack\n");
  const auto access = InCluster(Variables(), folder_);
  ASSERT_TRUE(access.ok()) << access.error().ToString();
  EXPECT_EQ(net::Authority(access->server), "10.96.0.1:443");
  EXPECT_EQ(access->token_file, folder_ + "/token");
  EXPECT_EQ(access->ca_file, folder_ + "/ca.crt");
  EXPECT_EQ(access->namespace_, "gpu-stack");
}

TEST_F(InClusterTest, ElsewhereItSaysWhatToDo) {
  EXPECT_EQ(InCluster(Variables(), folder_).error().ToString(),
            "this is no pod with a service account: " + folder_ + "/token is not there");
  variables_.clear();
  const auto access = FindAccess("", Variables());
  ASSERT_FALSE(access.ok());
  EXPECT_EQ(access.error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(access.error().hint(),
            "outside of a cluster, name a kubeconfig (--kubeconfig or KUBECONFIG)");
}

TEST_F(InClusterTest, AKubeconfigComesFirst) {
  Write("config", Kubeconfig("    token: x\n"));
  variables_["KUBECONFIG"] = folder_ + "/config";
  EXPECT_EQ(FindAccess("", Variables())->server.host, "api.example");
  EXPECT_EQ(FindAccess(folder_ + "/config", Variables())->server.host, "api.example");
  variables_["KUBECONFIG"] = "/a:/b";
  EXPECT_EQ(FindAccess("", Variables()).error().code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace partita::kube
