#include "kube/credentials.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::kube {
namespace {

namespace fs = std::filesystem;

// A folder as kubelet makes it for a pod: files are links through "..data", which is exchanged.
class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "partita-credentials-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Publish("first");
    fs::create_symlink("..data/token", folder_ + "/token");
    fs::create_symlink("..data/ca.crt", folder_ + "/ca.crt");
    Access access;
    access.token_file = folder_ + "/token";
    access.ca_file = folder_ + "/ca.crt";
    access.origin = "the test";
    credentials_.emplace(access);
  }
  void TearDown() override { (void)base::RemoveTree(folder_); }
  void Publish(const std::string& word) {
    const std::string version = folder_ + "/.." + word;
    fs::create_directory(version);
    PARTITA_CHECK(base::WriteFile(version + "/token", word + "\n", 0600).ok());
    PARTITA_CHECK(base::WriteFile(version + "/ca.crt", "ca of " + word, 0600).ok());
    fs::create_symlink(".." + word, folder_ + "/..new");
    fs::rename(folder_ + "/..new", folder_ + "/..data");
  }

  std::string folder_;
  std::optional<Credentials> credentials_;
};

TEST_F(CredentialsTest, AreReadAgainWhenTheFolderIsExchanged) {
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "first");
  EXPECT_EQ(credentials_->server().ca_pem, "ca of first");
  Publish("later");
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "later");
  EXPECT_EQ(credentials_->server().ca_pem, "ca of later");
}

TEST_F(CredentialsTest, StayInForceWhileAFileIsAwayOrEmpty) {
  ASSERT_TRUE(credentials_->Refresh().ok());
  fs::remove(folder_ + "/..data");
  EXPECT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "first");
  Publish("later");
  PARTITA_CHECK(base::WriteFile(folder_ + "/..later/token", " \n", 0600).ok());
  EXPECT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "first");
}

TEST_F(CredentialsTest, ThatWereNeverThereAreAnError) {
  fs::remove(folder_ + "/token");
  const auto refreshed = credentials_->Refresh();
  ASSERT_FALSE(refreshed.ok());
  EXPECT_EQ(refreshed.error().frames().at(0), "credentials of the test");
}

// As `kubectl config` writes one, with the token and a certificate written out, or in files.
class WrittenCredentialsTest : public CredentialsTest {
 protected:
  void Write(const std::string& user, const std::string& server = "https://api:6443") {
    const std::string text =
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: '" +
        server + "', certificate-authority: ca.crt}}]\nusers: [{name: a, user: {" + user + "}}]\n";
    PARTITA_CHECK(base::WriteFile(folder_ + "/config.new", text, 0600).ok());
    fs::rename(folder_ + "/config.new", folder_ + "/config");
  }
  void Begin() {
    const auto access = FindAccess(folder_ + "/config", ProcessEnvironment());
    PARTITA_CHECK(access.ok());
    credentials_.emplace(*access);
    PARTITA_CHECK(credentials_->Refresh().ok());
  }
  std::string Unused() { return credentials_->unused() ? credentials_->unused()->ToString() : ""; }
};

TEST_F(WrittenCredentialsTest, AreThoseOfTheKubeconfigAsItIsNow) {
  Write("token: one");
  Begin();
  EXPECT_EQ(credentials_->token(), "one");
  // "cert" and "key" in base64.
  Write("client-certificate-data: Y2VydA==, client-key-data: a2V5");
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "");
  EXPECT_EQ(credentials_->server().client_cert_pem, "cert");
  EXPECT_EQ(credentials_->server().client_key_pem, "key");
  EXPECT_EQ(credentials_->server().ca_pem, "ca of first");
  // From then on by a file, which is followed too.
  Write("tokenFile: token");
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "first");
  EXPECT_EQ(credentials_->server().client_cert_pem, "");
  Publish("later");
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "later");
  EXPECT_EQ(Unused(), "");
}

TEST_F(WrittenCredentialsTest, StayInForceWhileTheKubeconfigMakesNoSense) {
  Write("token: one");
  Begin();
  const auto stays = [&](const std::string& why) {
    EXPECT_TRUE(credentials_->Refresh().ok());
    EXPECT_EQ(credentials_->token(), "one");
    EXPECT_NE(Unused().find(why), std::string::npos) << Unused();
  };
  Write("token: [");
  stays("/config:");
  fs::remove(folder_ + "/config");
  stays("/config");
  Write("tokenFile: nowhere");
  stays("/nowhere");
  EXPECT_TRUE(credentials_->Refresh().ok());
  Write("token: two", "https://other:6443");
  stays("/config names another server, other:6443");
  Write("", "http://api:6443");
  stays("/config names another server");
  Write("token: two", "https://api:6443/prefix");
  stays("/config names another server");
  Write("token: two");
  EXPECT_TRUE(credentials_->Refresh().ok());
  EXPECT_EQ(credentials_->token(), "two");
  EXPECT_EQ(Unused(), "");
}

TEST_F(WrittenCredentialsTest, AreReadAgainFromTheKubeconfigWhenTheServerRefusesThem) {
  Write("token: one");
  Begin();
  EXPECT_FALSE(credentials_->ReadAgain());
  const auto time = fs::last_write_time(folder_ + "/config");
  auto text = base::ReadRegularFile(folder_ + "/config");
  ASSERT_TRUE(text.ok());
  text->replace(text->find("one"), 3, "two");
  // The same file, length and time: only its bytes say it.
  PARTITA_CHECK(base::WriteFile(folder_ + "/config", *text, 0600).ok());
  fs::last_write_time(folder_ + "/config", time);
  EXPECT_TRUE(credentials_->ReadAgain());
  EXPECT_EQ(credentials_->token(), "two");
}

TEST_F(CredentialsTest, AreReadAgainWhenTheServerRefusesThem) {
  ASSERT_TRUE(credentials_->Refresh().ok());
  EXPECT_FALSE(credentials_->ReadAgain());
  // The same length, file and time: only its bytes say it.
  const auto time = fs::last_write_time(folder_ + "/token");
  PARTITA_CHECK(base::WriteFile(folder_ + "/token", "FIRST\n", 0600).ok());
  fs::last_write_time(folder_ + "/token", time);
  EXPECT_TRUE(credentials_->ReadAgain());
  EXPECT_EQ(credentials_->token(), "FIRST");
}

}  // namespace
}  // namespace partita::kube
