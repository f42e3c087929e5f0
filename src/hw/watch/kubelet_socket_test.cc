#include "hw/watch/kubelet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "hw/testing/tree.h"

namespace partita::hw::watch {
namespace {

using Change = KubeletSocket::Change;

class KubeletSocketTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Directory() const {
    return tree_.root() + "/var/lib/kubelet/device-plugins";
  }
  // As kubelet does when it starts.
  void Bind() {
    std::filesystem::create_directories(Directory());
    std::filesystem::remove(Directory() + "/kubelet.sock");
    listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    const std::string path = Directory() + "/kubelet.sock";
    ASSERT_LT(path.size(), sizeof(where.sun_path));
    path.copy(where.sun_path, path.size());
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  }

  testing::Tree tree_;
  base::UniqueFd listener_;
};

TEST_F(KubeletSocketTest, TellsOfEachLifeOfIt) {
  std::filesystem::create_directories(Directory());
  KubeletSocket socket = *KubeletSocket::Open(Directory() + "/kubelet.sock");
  EXPECT_EQ(socket.path(), Directory() + "/kubelet.sock");
  EXPECT_FALSE(socket.present());
  Bind();
  EXPECT_EQ(socket.Read(), Change::kAppeared);
  EXPECT_TRUE(socket.present());
  EXPECT_EQ(socket.Read(), Change::kNone);
  Bind();
  EXPECT_EQ(socket.Read(), Change::kReplaced) << "also where it was away for no look";
  std::filesystem::remove(socket.path());
  EXPECT_EQ(socket.Read(), Change::kGone);
  EXPECT_FALSE(socket.present());
}

TEST_F(KubeletSocketTest, WaitsForAKubeletThatWasNeverThere) {
  KubeletSocket socket = *KubeletSocket::Open(Directory() + "/kubelet.sock");
  tree_.File("var/lib/other/file", "");
  EXPECT_EQ(socket.Read(), Change::kNone);
  Bind();
  EXPECT_EQ(socket.Read(), Change::kAppeared);
  std::filesystem::remove_all(tree_.root() + "/var/lib/kubelet");
  EXPECT_EQ(socket.Read(), Change::kGone);
  Bind();
  EXPECT_EQ(socket.Read(), Change::kAppeared);
}

// Who has a socket in a directory, or is in it, keeps the kernel from telling that it was removed.
TEST_F(KubeletSocketTest, SeesADirectoryMadeAnewThatSomebodyIsStillIn) {
  Bind();
  KubeletSocket socket = *KubeletSocket::Open(Directory() + "/kubelet.sock");
  const base::UniqueFd inside(open(Directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const base::UniqueFd above(
      open((tree_.root() + "/var/lib/kubelet").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::filesystem::remove(socket.path());
  EXPECT_EQ(socket.Read(), Change::kGone);
  std::filesystem::remove_all(tree_.root() + "/var/lib/kubelet");
  Bind();
  EXPECT_EQ(socket.Read(), Change::kAppeared);
  Bind();
  EXPECT_EQ(socket.Read(), Change::kReplaced);
}

TEST_F(KubeletSocketTest, KnowsTheOneThatIsThere) {
  Bind();
  KubeletSocket socket = *KubeletSocket::Open(Directory() + "/kubelet.sock");
  EXPECT_TRUE(socket.present());
  // Neither a plugin's socket nor other rights are another kubelet.
  tree_.File("var/lib/kubelet/device-plugins/nvidia-gpu.sock", "");
  EXPECT_EQ(socket.Read(), Change::kNone);
  chmod(socket.path().c_str(), 0600);
  EXPECT_EQ(socket.Read(), Change::kNone);
}

TEST_F(KubeletSocketTest, TakesNoFileForASocket) {
  std::filesystem::create_directories(Directory());
  KubeletSocket socket = *KubeletSocket::Open(Directory() + "/kubelet.sock");
  tree_.File("var/lib/kubelet/device-plugins/kubelet.sock", "");
  EXPECT_EQ(socket.Read(), Change::kNone);
  EXPECT_FALSE(socket.present());
}

}  // namespace
}  // namespace partita::hw::watch
