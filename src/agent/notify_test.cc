#include "agent/notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::agent {
namespace {

// systemd's side, as an abstract socket.
class NotifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    name_ = fmt::format("@partita-notify-{}", getpid());
    fd_.Reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    ASSERT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
  }
  [[nodiscard]] std::string Hear() const {
    std::array<char, 4096> buffer{};
    const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return count < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(count));
  }
  std::string name_;
  base::UniqueFd fd_;
};

TEST_F(NotifyTest, SaysWhatSystemdWaitsFor) {
  const Notifier notifier(name_, std::chrono::seconds(30));
  notifier.Ready("running\nREADY=0");
  EXPECT_EQ(Hear(), "READY=1\nSTATUS=running?READY=0");
  notifier.Status("waiting");
  EXPECT_EQ(Hear(), "STATUS=waiting");
  notifier.Reloading(base::Clock::Steady(std::chrono::microseconds(1234567)));
  EXPECT_EQ(Hear(), "RELOADING=1\nMONOTONIC_USEC=1234567");
  notifier.Stopping();
  EXPECT_EQ(Hear(), "STOPPING=1");
  notifier.Watchdog();
  EXPECT_EQ(Hear(), "WATCHDOG=1");
  EXPECT_EQ(notifier.watchdog_period(), std::chrono::seconds(15));
}

TEST_F(NotifyTest, TakesTheEnvironmentForItself) {
  setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  setenv("WATCHDOG_USEC", "3000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  const Notifier notifier = Notifier::FromEnvironment();
  EXPECT_EQ(getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(getenv("WATCHDOG_USEC"), nullptr);
  notifier.Stopping();
  EXPECT_EQ(Hear(), "STOPPING=1");
  EXPECT_EQ(notifier.watchdog_period(), std::chrono::milliseconds(1500));
  // One that is for another process.
  setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  setenv("WATCHDOG_USEC", "3000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(Notifier::FromEnvironment().watchdog_period(), std::nullopt);
}

TEST(Notifier, IsSilentWhereNobodyListens) {
  const Notifier notifier("");
  notifier.Ready("running");
  EXPECT_EQ(notifier.watchdog_period(), std::nullopt);
  Notifier("/nonexistent/notify").Stopping();
}

}  // namespace
}  // namespace partita::agent
