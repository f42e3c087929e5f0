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
