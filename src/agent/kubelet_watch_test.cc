#include "agent/kubelet_watch.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "net/testing/fake_loop.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using Change = hw::watch::KubeletSocket::Change;

class KubeletWatchTest : public ::testing::Test {
 protected:
  void Bind() {
    const std::string path = root_.path() + "/var/lib/kubelet/device-plugins/kubelet.sock";
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::remove(path);
    listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path.copy(where.sun_path, path.size());
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
    loop_.RunUntilIdle();
  }

  service::ledger::testing::Scratch root_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  base::UniqueFd listener_;
};

TEST_F(KubeletWatchTest, TellsSubscribersLogAndState) {
  KubeletWatch kubelet(loop_, log_);
  kubelet.Start(root_.path() + "/var/lib/kubelet/device-plugins/kubelet.sock");
  std::vector<Change> heard;
  std::shared_ptr<void> subscription =
      kubelet.Subscribe([&](Change change) { heard.push_back(change); });
  EXPECT_FALSE(kubelet.present());
  EXPECT_FALSE(kubelet.State().Find("present")->AsBool());
  Bind();
  EXPECT_TRUE(kubelet.present());
  EXPECT_NE(lines_.find("kubelet has come"), std::string::npos) << lines_;
  loop_.Advance(std::chrono::seconds(7));
  EXPECT_EQ(kubelet.State().Find("seconds")->AsInteger(), 7);
  Bind();
  EXPECT_NE(lines_.find("kubelet has started anew"), std::string::npos) << lines_;
  EXPECT_EQ(kubelet.State().Find("seconds")->AsInteger(), 0);
  std::filesystem::remove_all(root_.path() + "/var");
  loop_.RunUntilIdle();
  EXPECT_NE(lines_.find("kubelet has gone"), std::string::npos) << lines_;
  EXPECT_EQ(heard, (std::vector{Change::kAppeared, Change::kReplaced, Change::kGone}));
  subscription.reset();
  Bind();
  EXPECT_EQ(heard.size(), 3U);
  kubelet.Stop();
  Bind();
  EXPECT_EQ(kubelet.State(), base::Value());
}

}  // namespace
}  // namespace partita::agent
