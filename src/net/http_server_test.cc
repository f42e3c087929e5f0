#include "net/http_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::net {
namespace {

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-http-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    server_.Serve("/healthz", [](const HttpRequest&) { return HttpResponse{.body = "ok\n"}; });
    server_.Serve("/large", [](const HttpRequest&) {
      return HttpResponse{.body = std::string(std::size_t{8} << 20, 'x')};
    });
    server_.Listen(Open("unix:" + Path()));
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }

  [[nodiscard]] std::string Path() const { return directory_ + "/http.sock"; }
  static std::unique_ptr<Listener> Open(const std::string& address) {
    auto listener = Listener::Open(*base::ParseListenAddress(address), 0666);
    PARTITA_CHECK(listener.ok());
    return *std::move(listener);
  }

  [[nodiscard]] base::UniqueFd Connect() const {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, Path().c_str(), Path().size() + 1);
    PARTITA_CHECK(connect(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    return fd;
  }
  static void Say(const base::UniqueFd& fd, std::string_view text) {
    PARTITA_CHECK(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(text.size()));
  }
  // What is there now, and whether the server closed.
  static std::string Hear(const base::UniqueFd& fd, bool* closed = nullptr) {
    std::string all;
    std::array<char, 65536> buffer{};
    ssize_t count = 0;
    while ((count = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0)
      all.append(buffer.data(), static_cast<std::size_t>(count));
    if (closed != nullptr) *closed = count == 0;
    return all;
  }
  static bool Closed(const base::UniqueFd& fd) {
    bool closed = false;
    (void)Hear(fd, &closed);
    return closed;
  }

  std::string directory_;
  testing::FakeLoop loop_;
  HttpServer server_{loop_};
};

TEST_F(HttpServerTest, AnswersAndCloses) {
  const base::UniqueFd peer = Connect();
  Say(peer, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  loop_.RunUntilIdle();
  bool closed = false;
  EXPECT_EQ(Hear(peer, &closed),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\nok\n");
  EXPECT_TRUE(closed);
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpServerTest, RefusesWhatItDoesNotServe) {
  const base::UniqueFd absent = Connect(), posted = Connect(), head = Connect();
  Say(absent, "GET /metrics HTTP/1.1\r\n\r\n");
  Say(posted, "POST /healthz HTTP/1.1\r\n\r\n");
  Say(head, "HEAD /healthz HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_TRUE(Hear(absent).starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_NE(Hear(posted).find("Allow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_TRUE(Hear(head).ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, LetsASlowPeerGoAndServesOthersMeanwhile) {
  const base::UniqueFd slow = Connect();
  Say(slow, "GET /healthz HT");
  loop_.Advance(std::chrono::seconds(4));
  // Another byte gains it nothing.
  Say(slow, "T");
  loop_.RunUntilIdle();
  const base::UniqueFd quick = Connect();
  Say(quick, "GET /healthz HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_NE(Hear(quick), "");
  EXPECT_FALSE(Closed(slow));
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(Closed(slow));
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpServerTest, LetsAPeerGoThatDoesNotTakeItsAnswer) {
  const base::UniqueFd greedy = Connect();
  Say(greedy, "GET /large HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_EQ(server_.connections(), 1U);
  // A little now and then gains it nothing.
  for (int i = 0; i < 4; ++i) {
    loop_.Advance(std::chrono::seconds(2));
    (void)Hear(greedy);
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(server_.connections(), 1U);
  loop_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(server_.connections(), 0U);
  // One that takes it gets it all.
  const base::UniqueFd taker = Connect();
  Say(taker, "GET /large HTTP/1.1\r\n\r\n");
  std::size_t taken = 0;
  for (bool closed = false; !closed;) {
    loop_.RunUntilIdle();
    taken += Hear(taker, &closed).size();
  }
  EXPECT_GT(taken, std::size_t{8} << 20);
}

TEST_F(HttpServerTest, GivesTheLongestSilentPeersPlaceToANewOne) {
  std::vector<base::UniqueFd> crowd;
  for (std::size_t i = 0; i < HttpServer::kMostConnections; ++i) {
    crowd.push_back(Connect());
    loop_.RunUntilIdle();
  }
  const base::UniqueFd probe = Connect();
  Say(probe, "GET /healthz HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_NE(Hear(probe), "");
  EXPECT_TRUE(Closed(crowd[0]));
  EXPECT_FALSE(Closed(crowd[1]));
}

TEST_F(HttpServerTest, ClosesOnTooMuch) {
  const base::UniqueFd peer = Connect();
  Say(peer, std::string(kMostHttpHead + 1, 'a'));
  loop_.RunUntilIdle();
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(HttpServerTest, TakesAnotherAddressInPlaceOfTheFirst) {
  server_.Listen(Open("127.0.0.1:0"));
  EXPECT_FALSE(base::Exists(Path()));
  EXPECT_NE(server_.address().port, 0);
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(server_.address().port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  Say(fd, "GET /healthz HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  std::array<char, 16> buffer{};
  EXPECT_EQ(recv(fd.get(), buffer.data(), 15, 0), 15);
  EXPECT_STREQ(buffer.data(), "HTTP/1.1 200 OK");
}

TEST(Listener, SaysWhoHasThePort) {
  auto first = Listener::Open(*base::ParseListenAddress(":0"));
  ASSERT_TRUE(first.ok()) << first.error().ToString();
  const auto second = Listener::Open((*first)->address());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(second.error().hint().find("ss -ltnp"), std::string::npos);
}

TEST(Listener, ReplacesAStaleSocketAndNothingElse) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-listen-XXXXXX";
  const std::string directory = mkdtemp(pattern.data());
  const base::ListenAddress address{base::ListenAddress::Kind::kUnix, "", 0, directory + "/s"};
  auto first = Listener::Open(address);
  ASSERT_TRUE(first.ok()) << first.error().ToString();
  struct stat status {};
  ASSERT_EQ(lstat(address.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  // A second one takes its place; the first, when it goes, leaves it alone.
  auto second = Listener::Open(address);
  ASSERT_TRUE(second.ok()) << second.error().ToString();
  first->reset();
  EXPECT_TRUE(base::Exists(address.path));
  second->reset();
  EXPECT_FALSE(base::Exists(address.path));
  ASSERT_TRUE(base::WriteFile(address.path, "mine", 0600).ok());
  EXPECT_EQ(Listener::Open(address).error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(base::ReadFile(address.path).value(), "mine");
  ASSERT_TRUE(base::RemoveTree(directory).ok());
}

}  // namespace
}  // namespace partita::net
