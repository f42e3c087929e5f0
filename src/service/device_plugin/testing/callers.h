// Who comes to an endpoint's socket in tests: a kubelet, and others beside it.
#pragma once

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/loop.h"
#include "net/rpc/channel.h"
#include "net/rpc/framing.h"
#include "net/rpc/http2.h"
#include "net/rpc/server.h"
#include "service/device_plugin/messages.h"

namespace partita::service::device_plugin::testing {

// As far as kubelet registers plugins: asks back before it answers, then listens.
class Kubelet {
 public:
  Kubelet(net::Loop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)), server_(loop, "kubelet") {
    server_.OnCall(std::string(kRegister),
                   [this](const std::shared_ptr<net::rpc::Call>& call) { Registering(call); });
    // As it does when it starts.
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      std::filesystem::remove(entry.path());
    EXPECT_TRUE(server_.Listen(directory_ + "/kubelet.sock").ok());
  }

  void Hangs(bool hangs) { hangs_ = hangs; }
  // With the oldest that hangs, whether or not anybody waits for it still.
  void GoesOn() {
    const auto call = hanging_.front();
    hanging_.erase(hanging_.begin());
    Take(call);
  }
  void Listens(bool listens) { listens_ = listens; }
  void LeavesStream() { plugin_->Close(); }
  void LeavesOlderStreams() { older_.clear(); }
  net::rpc::Channel& plugin() { return *plugin_; }
  [[nodiscard]] const std::vector<std::string>& registered() const { return registered_; }

 private:
  void Registering(const std::shared_ptr<net::rpc::Call>& call) {
    if (hangs_)
      hanging_.push_back(call);
    else
      Take(call);
  }
  void Take(const std::shared_ptr<net::rpc::Call>& call) {
    if (plugin_ != nullptr) older_.push_back(std::move(plugin_));
    plugin_ = std::make_unique<net::rpc::Channel>(loop_, "plugin", directory_ + "/nvidia-gpu.sock");
    plugin_->Call(std::string(kGetOptions), "", std::chrono::seconds(10),
                  [this, call, plugin = plugin_.get()](const base::Result<std::string>& options) {
                    EXPECT_TRUE(options.ok());
                    registered_.push_back(call->request());
                    call->Finish(std::string());
                    if (!listens_) return;
                    // Nobody here reads a stream's messages; that it is open is what counts.
                    plugin->Call(std::string(kListAndWatch), "", std::chrono::hours(9),
                                 [](const base::Result<std::string>&) {});
                  });
  }

  net::Loop& loop_;
  const std::string directory_;
  net::rpc::Server server_;
  std::unique_ptr<net::rpc::Channel> plugin_;
  std::vector<std::unique_ptr<net::rpc::Channel>> older_;  // of registrations before
  std::vector<std::string> registered_;
  std::vector<std::shared_ptr<net::rpc::Call>> hanging_;
  bool hangs_ = false, listens_ = true;
};

// By another process than this one, which is kubelet's.
inline void ConnectElsewhere(int fd, const sockaddr_un& where) {
  const pid_t child = fork();
  if (child == 0)
    _exit(connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0 ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Whoever else opens a stream on the socket, and what it hears there.
class Ear final : public net::rpc::Http2::User {
 public:
  Ear(net::Loop& loop, const std::string& path) {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
    ConnectElsewhere(fd.get(), where);
    http2_ =
        net::rpc::Http2::Make(loop, "ear", std::move(fd), net::rpc::Http2::Side::kClient, *this);
    http2_->Start();
    EXPECT_NE(http2_->Request({{":method", "POST"},
                               {":scheme", "http"},
                               {":path", std::string(kListAndWatch)},
                               {":authority", "localhost"},
                               {"content-type", "application/grpc"}}),
              0);
    http2_->Flush();
  }
  ~Ear() override { Leave(); }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  void Leave() { http2_->Close(); }
  // What it heard, one after the other.
  [[nodiscard]] const std::string& heard() const { return heard_; }

  void Begin(std::int32_t /*stream*/) override {}
  bool Header(std::int32_t /*stream*/, std::string_view, std::string_view) override { return true; }
  void HeadersEnd(std::int32_t /*stream*/) override {}
  void Body(std::int32_t /*stream*/, std::string_view bytes) override { heard_ += bytes; }
  void Ended(std::int32_t /*stream*/) override {}
  net::rpc::Http2::Piece Give(std::int32_t /*stream*/,
                              char* buffer,
                              std::size_t /*room*/) override {
    const std::string empty = net::rpc::Framed("");
    std::copy(empty.begin(), empty.end(), buffer);
    return {.size = empty.size(), .end = true};
  }
  void Sent(std::int32_t /*stream*/) override {}
  void Over(std::int32_t /*stream*/, net::rpc::Http2Error /*error*/) override {}
  void Settle() override {}
  void Closed() override {}

 private:
  std::shared_ptr<net::rpc::Http2> http2_;
  std::string heard_;
};

inline constexpr int kNoNamespace = 77;

// The exit status: 0 where nothing failed. Sockets that listened before are those of a process
// without a pid there.
inline int InPidNamespace(const std::function<void()>& body) {
  const auto status_of = [](const std::function<int()>& run) {
    const pid_t child = fork();
    if (child == 0) _exit(run());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  };
  return status_of([&] {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
      return kNoNamespace;
    return status_of([&] {
      body();
      return ::testing::Test::HasFailure() ? 1 : 0;
    });
  });
}

}  // namespace partita::service::device_plugin::testing
