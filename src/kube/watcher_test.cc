// The real client against a server of which the test says every byte, with time that it moves.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "kube/client.h"
#include "kube/watch_lines.h"
#include "net/testing/fake_loop.h"

namespace partita::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string Node(const std::string& name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}

std::string Event(const std::string& type, const std::string& object) {
  const std::string line = fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
  return fmt::format("{:x}\r\n{}\r\n", line.size(), line);
}

const std::string kStream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class WatcherTest : public ::testing::Test {
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
    access_.server = {.host = "127.0.0.1", .port = ntohs(where.sin_port), .tls = false};
    MakeClient();
  }
  void TearDown() override {
    if (!access_.token_file.empty()) std::filesystem::remove(access_.token_file);
  }
  void MakeClient() {
    client_ = NewClient(
        loop_, "api", access_, [this] { return chance_; }, "partita/test");
  }
  // From now on by the token in a file.
  void UseToken(const std::string& token) {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-token-XXXXXX";
    const base::UniqueFd made(mkstemp(pattern.data()));
    PARTITA_CHECK(made.valid());
    access_.token_file = pattern;
    WriteToken(token);
    MakeClient();
  }
  // The same file, time and, where the token is as long, length: only its bytes say it.
  void WriteToken(const std::string& token) {
    const auto time = std::filesystem::last_write_time(access_.token_file);
    PARTITA_CHECK(base::WriteFile(access_.token_file, token, 0600).ok());
    std::filesystem::last_write_time(access_.token_file, time);
  }
  // Of the request that was heard last.
  std::string Token() {
    const std::size_t at = head_.find("Authorization: Bearer ");
    if (at == std::string::npos) return "none";
    const std::size_t from = at + std::string_view("Authorization: Bearer ").size();
    return head_.substr(from, head_.find("\r\n", from) - from);
  }

  void Watch() {
    WatchEvents events;
    events.seen = [this](const base::Value& object) {
      told_.push_back(NameOf(object).name + "@" + MetadataOf(object, "resourceVersion"));
    };
    events.gone = [this](const ObjectName& name) { told_.push_back("-" + name.name); };
    events.synced = [this] { told_.emplace_back("synced"); };
    events.failed = [this](const base::Error&) { ++failures_; };
    events.resumed = [this] { told_.emplace_back("resumed"); };
    watching_ = client_->Watch("/api/v1/nodes", "", events);
  }
  // The next request: its first line. Every answer ends its connection, so that each has its own.
  std::string Hear() {
    loop_.RunUntil([&] { return Accept(); });
    return ReadHead();
  }
  bool Accept() {
    peer_.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    return peer_.valid();
  }
  std::string ReadHead() {
    std::string all;
    loop_.RunUntil([&] {
      std::array<char, 4096> buffer{};
      const ssize_t count = recv(peer_.get(), buffer.data(), buffer.size(), 0);
      if (count > 0) all.append(buffer.data(), static_cast<std::size_t>(count));
      return all.find("\r\n\r\n") != std::string::npos;
    });
    head_ = all;
    return all.substr(0, all.find(" HTTP/1.1\r\n"));
  }
  bool Silent() {
    loop_.RunUntilIdle();
    const base::UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return !peer.valid();
  }
  void Say(const std::string& text) {
    PARTITA_CHECK(send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(text.size()));
    loop_.RunUntilIdle();
  }
  // More than the kernel takes at once.
  void SayAll(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
      loop_.RunUntilIdle();
      if (count < 0 && errno != EAGAIN) return;
    }
  }
  void Answer(const std::string& status, const std::string& body, const std::string& more = "") {
    Say(fmt::format("HTTP/1.1 {}\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{}", status,
                    more, body.size(), body));
  }
  void AnswerList(int version, const std::string& items) {
    Answer("200 OK", fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
                                 version, items));
  }
  void Cut() {
    const int before = failures_;
    peer_.Reset();
    loop_.RunUntil([&] { return failures_ > before; });
  }
  std::vector<std::string> Told() { return std::exchange(told_, {}); }
  static std::string From(int version) {
    return fmt::format(
        "GET /api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds="
        "300",
        version);
  }
  using Words = std::vector<std::string>;

  net::testing::FakeLoop loop_;
  base::UniqueFd listener_, peer_;
  Access access_;
  std::string head_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Watching> watching_;
  Words told_;
  int failures_ = 0;
  double chance_ = 0;
};

TEST_F(WatcherTest, ListsThenFollowsFromThere) {
  Watch();
  EXPECT_EQ(Hear(), "GET /api/v1/nodes");
  AnswerList(10, Node("a", 3) + "," + Node("b", 9));
  EXPECT_EQ(Hear(), From(10));
  EXPECT_EQ(Told(), (Words{"a@3", "b@9", "synced"}));
  Say(kStream + Event("MODIFIED", Node("a", 11)) + Event("DELETED", Node("b", 12)) +
      Event("ADDED", Node("c", 13)) + Event("BOOKMARK", Node("", 20)));
  EXPECT_EQ(Told(), (Words{"a@11", "-b", "c@13"}));
  // At rest: nothing but what guards the stream.
  EXPECT_EQ(loop_.ArmedTimers().size(), 1U);
  // Ended by the server after its time: at once, and from the bookmark on.
  loop_.Advance(seconds(299));
  Say("0\r\n\r\n");
  EXPECT_EQ(Hear(), From(20));
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(client_->counts(), (RequestCounts{{"list nodes", 1}, {"watch nodes", 2}}));
}

TEST_F(WatcherTest, AStreamThatIsAlwaysCutIsAskedForWithAPause) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Hear(), From(10 + i));
    Say(kStream + Event("MODIFIED", Node("a", 11 + i)));
    loop_.Advance(seconds(1));
    Cut();
    EXPECT_TRUE(Silent());
    loop_.Advance(milliseconds(999));
    EXPECT_TRUE(Silent());
    loop_.Advance(milliseconds(1));
  }
  // Once synced, and each time but the first resumed.
  EXPECT_EQ(told_.size(), 1U + 20U + 19U);
  EXPECT_EQ(std::count(told_.begin(), told_.end(), "resumed"), 19);
  EXPECT_EQ(client_->counts().at("list nodes"), 1U);
}

// A thousand nodes that saw the same server go do not ask it at once.
TEST_F(WatcherTest, WhenItAsksAgainIsLeftToChance) {
  chance_ = 0.5;
  Watch();
  (void)Hear();
  AnswerList(10, "");
  EXPECT_TRUE(Hear().ends_with("&timeoutSeconds=450"));
  chance_ = 0.25;
  Answer("503 Service Unavailable", "");
  loop_.Advance(milliseconds(624));
  EXPECT_TRUE(Silent());
  loop_.Advance(milliseconds(1));
  EXPECT_TRUE(Hear().ends_with("&timeoutSeconds=375"));
}

TEST_F(WatcherTest, WhatIsForgottenIsListedAnew) {
  Watch();
  (void)Hear();
  AnswerList(10, Node("a", 3) + "," + Node("b", 4) + "," + Node("c", 5));
  (void)Hear();
  Say(kStream);
  EXPECT_EQ(Told(), (Words{"a@3", "b@4", "c@5", "synced"}));
  // As an event, and as the answer itself.
  Say(Event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  loop_.Advance(seconds(2));
  EXPECT_EQ(Hear(), "GET /api/v1/nodes");
  AnswerList(20, Node("a", 3) + "," + Node("b", 15));
  EXPECT_EQ(Hear(), From(20));
  EXPECT_EQ(Told(), (Words{"b@15", "-c", "synced"}));
  Answer("410 Gone", "{}");
  loop_.Advance(seconds(4));
  EXPECT_EQ(Hear(), "GET /api/v1/nodes");
}

TEST_F(WatcherTest, AnOutageIsWaitedForLongerAndLonger) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  (void)Hear();
  Say(kStream);
  loop_.Advance(minutes(1));
  Cut();
  std::vector<int> waited;
  for (int i = 0; i < 8; ++i) {
    int half_seconds = 0;
    loop_.RunUntilIdle();
    while (!Accept() && half_seconds < 100) {
      loop_.Advance(milliseconds(500));
      loop_.RunUntilIdle();
      ++half_seconds;
    }
    waited.push_back(half_seconds);
    ASSERT_TRUE(peer_.valid());
    (void)ReadHead();
    Answer("503 Service Unavailable", "");
  }
  EXPECT_EQ(waited, (std::vector<int>{1, 2, 4, 8, 16, 30, 30, 30}));
}

TEST_F(WatcherTest, StaysAwayForAsLongAsTheServerSays) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  (void)Hear();
  Answer("429 Too Many Requests", "", "Retry-After: 9\r\n");
  loop_.Advance(milliseconds(8999));
  EXPECT_TRUE(Silent());
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(Hear(), From(10));
}

TEST_F(WatcherTest, WhatMakesNoSenseIsListedAnew) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  (void)Hear();
  Say(kStream + "7\r\nrubbish\r\n1\r\n\n\r\n");
  loop_.Advance(seconds(2));
  EXPECT_EQ(Hear(), "GET /api/v1/nodes");
  EXPECT_EQ(failures_, 1);
}

TEST_F(WatcherTest, ALineWithoutAnEndIsListedAnew) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  (void)Hear();
  Say(kStream);
  const std::string part(1U << 16U, ' ');
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  for (std::size_t sent = 0; sent <= WatchLines::kMostLine && failures_ == 0; sent += part.size())
    SayAll(chunk);
  loop_.RunUntil([&] { return failures_ == 1; });
  loop_.Advance(seconds(2));
  EXPECT_EQ(Hear(), "GET /api/v1/nodes");
}

TEST_F(WatcherTest, ASilentStreamIsNotTrustedForEver) {
  Watch();
  (void)Hear();
  AnswerList(10, "");
  (void)Hear();
  Say(kStream);
  loop_.Advance(seconds(330));
  EXPECT_EQ(failures_, 1);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Hear(), From(10));
}

TEST_F(WatcherTest, MayBeLetGoFromInside) {
  WatchEvents events;
  events.seen = [this](const base::Value&) {
    told_.emplace_back("seen");
    watching_.reset();
  };
  events.synced = [] { FAIL(); };
  watching_ = client_->Watch("/api/v1/nodes", "", events);
  (void)Hear();
  AnswerList(10, Node("a", 3) + "," + Node("b", 4));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(Told(), (Words{"seen"}));
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

// Tokens are exchanged below our feet.
TEST_F(WatcherTest, ARequestWithATokenOfBeforeIsSentAgainAtOnceWithTheNewOne) {
  UseToken("one");
  std::vector<base::Result<base::Value>> answers;
  client_->Get("/api/v1/nodes/a",
               [&](base::Result<base::Value> answer) { answers.push_back(std::move(answer)); });
  (void)Hear();
  EXPECT_EQ(Token(), "one");
  WriteToken("two");
  Answer("401 Unauthorized", "");
  ASSERT_TRUE(answers.empty());
  EXPECT_EQ(Hear(), "GET /api/v1/nodes/a");
  EXPECT_EQ(Token(), "two");
  // Once: who exchanges them all the time is not followed.
  WriteToken("six");
  Answer("401 Unauthorized", "no");
  loop_.RunUntil([&] { return !answers.empty(); });
  EXPECT_TRUE(Silent());
  EXPECT_EQ(answers[0].error().ToString(), "get /api/v1/nodes/a: the API server answers 401: no");
}

// A token that is not there yet, authorities that are being exchanged, something else behind the
// port: it passes, and no server has refused anything.
TEST_F(WatcherTest, WhatKeepsARequestFromTheServerIsNoAnswerOfIts) {
  std::vector<base::Error> errors;
  const auto ask = [&] {
    errors.clear();
    MakeClient();
    client_->Get("/api/v1/nodes/a", [&](const base::Result<base::Value>& answer) {
      errors.push_back(answer.error());
    });
  };
  const auto told = [&](const std::string& text) {
    loop_.RunUntil([&] { return !errors.empty(); });
    EXPECT_EQ(errors[0].code(), base::ErrorCode::kUnavailable) << errors[0].ToString();
    EXPECT_NE(errors[0].ToString().find(text), std::string::npos) << errors[0].ToString();
  };
  access_.token_file = "/nowhere/token";
  ask();
  told("/nowhere/token");
  access_.token_file.clear();
  access_.server.tls = true;
  ask();
  told("no certificate authority is given");
  access_.server.insecure_skip_verify = true;
  ask();
  loop_.RunUntil([&] { return Accept(); });
  Say("HTTP/1.1 400 Bad Request\r\n\r\n");
  told("does not speak TLS");
}

TEST_F(WatcherTest, ATokenThatIsRefusedIsNotSentAgain) {
  UseToken("one");
  std::vector<base::Result<base::Value>> answers;
  client_->Get("/api/v1/nodes/a",
               [&](base::Result<base::Value> answer) { answers.push_back(std::move(answer)); });
  (void)Hear();
  Answer("401 Unauthorized", "no");
  loop_.RunUntil([&] { return !answers.empty(); });
  EXPECT_TRUE(Silent());
  EXPECT_FALSE(answers[0].ok());
}

TEST_F(WatcherTest, AnotherRefusalIsToldThoughThereIsAnotherToken) {
  UseToken("one");
  std::vector<base::Result<base::Value>> answers;
  client_->Get("/api/v1/nodes/a",
               [&](base::Result<base::Value> answer) { answers.push_back(std::move(answer)); });
  (void)Hear();
  WriteToken("two");
  Answer("403 Forbidden", "no");
  loop_.RunUntil([&] { return !answers.empty(); });
  EXPECT_TRUE(Silent());
  EXPECT_EQ(answers[0].error().code(), base::ErrorCode::kDenied);
}

TEST_F(WatcherTest, AWatchThatIsRefusedComesAgainWithTheTokenThatIsThereByThen) {
  UseToken("one");
  Watch();
  (void)Hear();
  AnswerList(10, "");
  EXPECT_EQ(Hear(), From(10));
  EXPECT_EQ(Token(), "one");
  WriteToken("two");
  Answer("401 Unauthorized", "");
  EXPECT_EQ(failures_, 1);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Hear(), From(10));
  EXPECT_EQ(Token(), "two");
}

TEST_F(WatcherTest, ARequestThatIsPostponedIsSentAgain) {
  std::vector<base::Result<base::Value>> answers;
  client_->Get("/api/v1/nodes/a",
               [&](base::Result<base::Value> answer) { answers.push_back(std::move(answer)); });
  (void)Hear();
  Answer("429 Too Many Requests", "", "Retry-After: 2\r\n");
  loop_.Advance(seconds(2));
  EXPECT_EQ(Hear(), "GET /api/v1/nodes/a");
  Answer("200 OK", Node("a", 1));
  loop_.RunUntil([&] { return !answers.empty(); });
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(client_->counts().at("get nodes"), 2U);
  // For longer than anybody waits: told at once.
  client_->Get("/api/v1/nodes/a",
               [&](base::Result<base::Value> answer) { answers.push_back(std::move(answer)); });
  (void)Hear();
  Answer("429 Too Many Requests", "busy", "Retry-After: 60\r\n");
  loop_.RunUntil([&] { return answers.size() == 2; });
  EXPECT_EQ(answers[1].error().ToString(), "get /api/v1/nodes/a: the API server answers 429: busy");
}

}  // namespace
}  // namespace partita::kube
