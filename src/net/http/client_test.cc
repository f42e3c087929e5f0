#include "net/http/client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "net/testing/fake_loop.h"

namespace partita::net {
namespace {

using std::chrono::seconds;

constexpr std::string_view kEmpty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

// A server of which the test says every byte, on a port of this machine.
class HttpClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PARTITA_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    PARTITA_CHECK(listen(listener_.get(), 16) == 0);
    socklen_t size = sizeof(where);
    PARTITA_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&where), &size) == 0);
    port_ = ntohs(where.sin_port);
    client_.SetTarget({.host = "127.0.0.1", .port = port_, .tls = false});
  }

  base::UniqueFd Accept() {
    base::UniqueFd peer;
    loop_.RunUntil([&] {
      peer.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      return peer.valid();
    });
    return peer;
  }
  bool NobodyConnects() {
    loop_.RunUntilIdle();
    const base::UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return !peer.valid();
  }
  // Until the request's head is there.
  std::string Hear(const base::UniqueFd& peer) {
    std::string all;
    loop_.RunUntil([&] {
      std::array<char, 4096> buffer{};
      const ssize_t count = recv(peer.get(), buffer.data(), buffer.size(), 0);
      if (count > 0) all.append(buffer.data(), static_cast<std::size_t>(count));
      return count == 0 || all.find("\r\n\r\n") != std::string::npos;
    });
    return all;
  }
  static void Say(const base::UniqueFd& peer, std::string_view text) {
    PARTITA_CHECK(send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(text.size()));
  }
  void Ask(std::string path, std::string method = "GET", Duration deadline = seconds(10)) {
    client_.Ask(
        {.method = std::move(method), .path = std::move(path)}, deadline,
        [this](base::Result<HttpClientAnswer> answer) { answers_.push_back(std::move(answer)); });
  }
  void AwaitAnswers(std::size_t count) {
    loop_.RunUntil([&] { return answers_.size() == count; });
  }
  std::string Told(std::size_t which = 0) {
    if (which >= answers_.size()) return "none";
    const auto& answer = answers_[which];
    return answer.ok() ? std::to_string(answer->status) + " " + answer->body
                       : answer.error().ToString();
  }
  std::string Place() const { return "127.0.0.1:" + std::to_string(port_); }

  base::UniqueFd listener_;
  std::uint16_t port_ = 0;
  testing::FakeLoop loop_;
  HttpClient client_{loop_, "api"};
  std::vector<base::Result<HttpClientAnswer>> answers_;
};

TEST_F(HttpClientTest, AsksAndIsAnsweredLater) {
  Ask("/a");
  EXPECT_TRUE(answers_.empty());
  const base::UniqueFd peer = Accept();
  EXPECT_EQ(Hear(peer), "GET /a HTTP/1.1\r\nHost: " + Place() + "\r\n\r\n");
  Say(peer, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok");
  AwaitAnswers(1);
  EXPECT_EQ(Told(), "201 ok");
}

TEST_F(HttpClientTest, UsesAConnectionAgain) {
  Ask("/a");
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  AwaitAnswers(1);
  Ask("/b");
  EXPECT_TRUE(Hear(peer).starts_with("GET /b "));
  Say(peer, kEmpty);
  AwaitAnswers(2);
  EXPECT_TRUE(NobodyConnects());
}

TEST_F(HttpClientTest, ClosesAnIdleConnectionAfterHalfAMinuteAndIsThenAtRest) {
  Ask("/a");
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  AwaitAnswers(1);
  loop_.Advance(seconds(29));
  std::array<char, 16> buffer{};
  EXPECT_EQ(recv(peer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), -1);
  loop_.Advance(seconds(1));
  EXPECT_EQ(recv(peer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), 0);
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(HttpClientTest, AnotherConnectionWhereTheServerClosedTheIdleOne) {
  Ask("/a");
  base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  AwaitAnswers(1);
  // The loop has no time to see it: the look before the use does.
  peer.Reset();
  Ask("/b", "POST");
  const base::UniqueFd second = Accept();
  EXPECT_TRUE(Hear(second).starts_with("POST /b "));
}

TEST_F(HttpClientTest, RepeatsOnlyWhatMayBeDoneTwiceWhenAnIdleConnectionEnds) {
  for (const std::string method : {"GET", "POST"}) {
    answers_.clear();
    Ask("/a");
    base::UniqueFd peer = Accept();
    (void)Hear(peer);
    Say(peer, kEmpty);
    AwaitAnswers(1);
    Ask("/b", method);
    EXPECT_TRUE(Hear(peer).starts_with(method));
    peer.Reset();
    if (method == "GET") {
      const base::UniqueFd second = Accept();
      EXPECT_TRUE(Hear(second).starts_with("GET /b "));
      // Once: a server that always closes is not asked for ever.
    } else {
      EXPECT_TRUE(NobodyConnects());
    }
    AwaitAnswers(2);
    EXPECT_EQ(Told(1), method + " /b of " + Place() + ": the connection was closed");
    EXPECT_EQ(answers_[1].error().code(), base::ErrorCode::kUnavailable);
  }
}

TEST_F(HttpClientTest, DoesNotRepeatWhatWasAnsweredInPart) {
  Ask("/a");
  base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  AwaitAnswers(1);
  Ask("/b");
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
  loop_.RunUntilIdle();
  peer.Reset();
  AwaitAnswers(2);
  EXPECT_EQ(Told(1),
            "GET /b of " + Place() + ": the connection was closed in the middle of the answer");
  EXPECT_TRUE(NobodyConnects());
}

TEST_F(HttpClientTest, TheDeadlineEndsWaitingAndTheConnection) {
  Ask("/a", "GET", seconds(3));
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 200 OK\r\nContent-Le");
  loop_.Advance(seconds(3));
  AwaitAnswers(1);
  EXPECT_EQ(Told(), "GET /a of " + Place() + ": no answer within 3 s");
  EXPECT_EQ(answers_[0].error().code(), base::ErrorCode::kTimeout);
  EXPECT_EQ(Hear(peer), "");
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(HttpClientTest, NobodyListens) {
  listener_.Reset();
  Ask("/a");
  AwaitAnswers(1);
  EXPECT_EQ(Told(), "GET /a of " + Place() + ": connect to " + Place() +
                        ": Connection refused (errno 111)");
  EXPECT_EQ(answers_[0].error().code(), base::ErrorCode::kUnavailable);
}

TEST_F(HttpClientTest, RefusesAnAnswerThatIsTooLarge) {
  client_.most_answer = 10;
  Ask("/announced");
  Ask("/chunked");
  const base::UniqueFd first = Accept(), second = Accept();
  (void)Hear(first);
  (void)Hear(second);
  Say(first, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n");
  AwaitAnswers(1);
  Say(second, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n");
  AwaitAnswers(2);
  for (const auto& answer : answers_) {
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code(), base::ErrorCode::kInvalid);
    EXPECT_EQ(answer.error().message(),
              "the answer has more than 10 bytes, which is the most that is read");
  }
}

TEST_F(HttpClientTest, MoreThanFourRequestsWaitForEachOther) {
  for (int i = 0; i < 6; ++i) Ask("/" + std::to_string(i));
  std::vector<base::UniqueFd> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(Accept());
    (void)Hear(peers.back());
  }
  EXPECT_TRUE(NobodyConnects());
  for (const base::UniqueFd& peer : peers) Say(peer, kEmpty);
  AwaitAnswers(4);
  std::size_t later = 0;
  loop_.RunUntil([&] {
    for (const base::UniqueFd& peer : peers) {
      std::array<char, 4096> buffer{};
      if (recv(peer.get(), buffer.data(), buffer.size(), 0) <= 0) continue;
      Say(peer, kEmpty);
      ++later;
    }
    return later == 2;
  });
  AwaitAnswers(6);
}

TEST_F(HttpClientTest, AnotherTargetIsAskedFromThenOn) {
  Ask("/a");
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  AwaitAnswers(1);
  client_.SetTarget({.host = "127.0.0.1", .port = port_, .tls = false});
  Ask("/same");
  EXPECT_TRUE(Hear(peer).starts_with("GET /same "));
  Say(peer, kEmpty);
  AwaitAnswers(2);
  client_.SetTarget({.host = "127.0.0.1", .port = port_, .tls = false, .server_name = "other"});
  EXPECT_EQ(Hear(peer), "");
  Ask("/b");
  const base::UniqueFd second = Accept();
  EXPECT_TRUE(Hear(second).starts_with("GET /b "));
}

// The certificate of a connection is that of when it was made.
TEST_F(HttpClientTest, WhatWasOnItsWayToTheTargetOfBeforeLeavesNoConnectionToIt) {
  Ask("/a");
  const base::UniqueFd before = Accept();
  (void)Hear(before);
  client_.SetTarget({.host = "127.0.0.1", .port = port_, .tls = false, .server_name = "other"});
  Ask("/b");
  const base::UniqueFd after = Accept();
  (void)Hear(after);
  Say(after, kEmpty);
  AwaitAnswers(1);
  Say(before, kEmpty);
  AwaitAnswers(2);
  std::array<char, 16> buffer{};
  ASSERT_EQ(recv(before.get(), buffer.data(), buffer.size(), MSG_DONTWAIT), 0) << "not closed";
  Ask("/c");
  EXPECT_TRUE(Hear(after).starts_with("GET /c "));
}

// While its name is looked up.
TEST_F(HttpClientTest, AnotherTargetTakesNoTlsFromWhatIsOnItsWay) {
  HttpTarget target{.host = "localhost", .port = port_, .insecure_skip_verify = true};
  client_.SetTarget(target);
  Ask("/a");
  loop_.RunUntilIdle();
  target.server_name = "other";
  client_.SetTarget(target);
  const base::UniqueFd peer = Accept();
  char first = 0;
  loop_.RunUntil([&] { return recv(peer.get(), &first, 1, 0) == 1; });
  EXPECT_EQ(first, 0x16) << "not the greeting of TLS";
}

TEST_F(HttpClientTest, WhoIsGoneIsNotTold) {
  auto client = std::make_unique<HttpClient>(loop_, "gone");
  client->SetTarget({.host = "127.0.0.1", .port = port_, .tls = false});
  client->Ask({.method = "GET", .path = "/"}, seconds(10), [](auto) { FAIL(); });
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, kEmpty);
  client.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(HttpClientTest, LooksANameUpBesideTheLoop) {
  client_.SetTarget({.host = "localhost", .port = port_, .tls = false});
  Ask("/a");
  const base::UniqueFd peer = Accept();
  EXPECT_EQ(Hear(peer), "GET /a HTTP/1.1\r\nHost: localhost:" + std::to_string(port_) + "\r\n\r\n");
  client_.SetTarget({.host = "partita.invalid", .port = port_, .tls = false});
  Ask("/b");
  AwaitAnswers(1);
  EXPECT_TRUE(Told().starts_with("GET /b of partita.invalid:" + std::to_string(port_) +
                                 ": no address of partita.invalid: "));
}

// What a stream told, in order.
struct Heard {
  std::vector<std::string> events;
  HttpClient::StreamEvents Events() {
    return {.begun =
                [this](const HttpClientAnswer& answer) {
                  events.push_back("begun " + std::to_string(answer.status) + " " + answer.body);
                },
            .bytes = [this](std::string_view bytes) { events.emplace_back(bytes); },
            .ended =
                [this](const base::Result<void>& how) {
                  events.push_back("ended " + (how.ok() ? "ok" : how.error().ToString()));
                }};
  }
};

TEST_F(HttpClientTest, AStreamTellsWhatComes) {
  Heard heard;
  const auto stream =
      client_.Open({.method = "GET", .path = "/w"}, seconds(10), seconds(60), heard.Events());
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  loop_.RunUntil([&] { return heard.events.size() == 1; });
  // Longer than it may take to begin.
  loop_.Advance(seconds(30));
  Say(peer, "3\r\none\r\n");
  loop_.RunUntil([&] { return heard.events.size() == 2; });
  loop_.Advance(seconds(59));
  Say(peer, "3\r\ntwo\r\n0\r\n\r\n");
  loop_.RunUntil([&] { return heard.events.size() == 4; });
  EXPECT_EQ(heard.events, (std::vector<std::string>{"begun 200 ", "one", "two", "ended ok"}));
}

TEST_F(HttpClientTest, AStreamThatIsRefusedHasItsWholeBody) {
  Heard heard;
  const auto stream =
      client_.Open({.method = "GET", .path = "/w"}, seconds(10), seconds(60), heard.Events());
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\ntoo");
  loop_.RunUntilIdle();
  EXPECT_TRUE(heard.events.empty());
  Say(peer, " old");
  loop_.RunUntil([&] { return heard.events.size() == 2; });
  EXPECT_EQ(heard.events, (std::vector<std::string>{"begun 410 too old", "ended ok"}));
}

TEST_F(HttpClientTest, ASilentStreamIsCut) {
  Heard heard;
  const auto stream =
      client_.Open({.method = "GET", .path = "/w"}, seconds(10), seconds(60), heard.Events());
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  loop_.RunUntil([&] { return heard.events.size() == 1; });
  loop_.Advance(seconds(60));
  EXPECT_EQ(heard.events,
            (std::vector<std::string>{
                "begun 200 ", "ended GET /w of " + Place() + ": nothing came within 60 s"}));
}

TEST_F(HttpClientTest, AStreamMayBeLetGoFromInside) {
  std::unique_ptr<HttpClient::Stream> stream;
  int told = 0;
  HttpClient::StreamEvents events;
  events.begun = [](const auto&) {};
  events.bytes = [&](std::string_view) {
    ++told;
    stream.reset();
  };
  events.ended = [](auto) { FAIL(); };
  stream = client_.Open({.method = "GET", .path = "/w"}, seconds(10), seconds(60), events);
  const base::UniqueFd peer = Accept();
  (void)Hear(peer);
  Say(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n");
  EXPECT_EQ(Hear(peer), "");
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

}  // namespace
}  // namespace partita::net
