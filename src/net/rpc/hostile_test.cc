// Peers of a server that do not keep to HTTP/2 or gRPC, or want too much: it costs them their
// connection or call, and nobody else anything.
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "net/rpc/channel.h"
#include "net/rpc/framing.h"
#include "net/rpc/server.h"
#include "net/testing/fake_loop.h"

namespace partita::net::rpc {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// Frames of HTTP/2, RFC 9113 section 6.
constexpr char kDataFrame = 0, kHeadersFrame = 1, kResetFrame = 3, kSettingsFrame = 4,
               kPingFrame = 6, kGoAwayFrame = 7, kWindowFrame = 8, kContinuationFrame = 9;
constexpr char kEndStream = 1, kEndHeaders = 4;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Number(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string Frame(char type, char flags, std::uint32_t stream, const std::string& payload = "") {
  return Number(static_cast<std::uint32_t>(payload.size())).substr(1) + type + flags +
         Number(stream) + payload;
}

// As a literal that is never indexed; lengths with HPACK's prefix of seven bits.
std::string HeaderField(const std::string& name, const std::string& value) {
  const auto text = [](const std::string& t) {
    std::string length;
    std::size_t rest = t.size();
    if (rest < 127) {
      length = static_cast<char>(rest);
    } else {
      length = '\x7f';
      for (rest -= 127; rest >= 128; rest /= 128) length += static_cast<char>(rest % 128 + 128);
      length += static_cast<char>(rest);
    }
    return length + t;
  };
  return "\x10" + text(name) + text(value);
}

std::string RequestHeaders(const std::string& method, const std::string& timeout = "") {
  std::string block = HeaderField(":method", "POST") + HeaderField(":scheme", "http") +
                      HeaderField(":path", method) + HeaderField(":authority", "/a/raw path") +
                      HeaderField("content-type", "application/grpc+proto") +
                      HeaderField("te", "trailers") + HeaderField("x-unknown", "\x01\xff");
  if (!timeout.empty()) block += HeaderField("grpc-timeout", timeout);
  return block;
}

std::string Request(std::uint32_t stream, const std::string& method, const std::string& message) {
  return Frame(kHeadersFrame, kEndHeaders, stream, RequestHeaders(method)) +
         Frame(kDataFrame, kEndStream, stream, Framed(message));
}

class HostileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-rpc-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    server_.OnCall("/t.T/Echo", [](const auto& call) { call->Finish(call->request()); });
    server_.OnCall("/t.T/Keep", [this](const auto& call) { kept_.push_back(call); });
    server_.OnCall("/t.T/Large",
                   [](const auto& call) { call->Finish(std::string(std::size_t{5} << 20, 'x')); });
    server_.OnStream("/t.T/Watch", [this](const auto& stream) { streams_.push_back(stream); });
    PARTITA_CHECK(server_.Listen(Path()).ok());
  }
  void TearDown() override {
    server_.Stop();
    (void)base::RemoveTree(directory_);
  }

  [[nodiscard]] std::string Path() const { return directory_ + "/rpc.sock"; }
  [[nodiscard]] base::UniqueFd Connect(const std::string& say) {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, Path().c_str(), Path().size() + 1);
    PARTITA_CHECK(connect(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    Say(fd, say);
    return fd;
  }
  [[nodiscard]] base::UniqueFd Greet(const std::string& settings = "") {
    return Connect(kPreface + Frame(kSettingsFrame, 0, 0, settings));
  }
  // All of it, or up to where the server had enough.
  void Say(const base::UniqueFd& fd, std::string_view text) {
    do {
      const ssize_t count = send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) break;
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
      loop_.RunUntilIdle();
    } while (!text.empty());
    loop_.RunUntilIdle();
  }
  struct Heard {
    std::vector<std::pair<char, std::string>> frames;  // type and payload
    bool closed = false;
    [[nodiscard]] std::vector<std::string> Of(char type) const {
      std::vector<std::string> payloads;
      for (const auto& [each, payload] : frames)
        if (each == type) payloads.push_back(payload);
      return payloads;
    }
  };
  Heard Hear(const base::UniqueFd& fd) {
    std::string all;
    std::vector<char> buffer(1 << 20);
    Heard heard;
    for (;;) {
      loop_.RunUntilIdle();
      const ssize_t count = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      heard.closed = count == 0 || (count < 0 && errno != EAGAIN);
      if (count <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(count));
    }
    while (all.size() >= 9) {
      std::size_t size = 0;
      for (std::size_t i = 0; i < 3; ++i) size = size * 256 + static_cast<unsigned char>(all[i]);
      heard.frames.emplace_back(all[3], all.substr(9, size));
      all.erase(0, 9 + size);
    }
    return heard;
  }
  void ExpectOthersAreServed() {
    Channel channel(loop_, "client", Path());
    std::optional<base::Result<std::string>> answer;
    channel.Call("/t.T/Echo", "still there", 10s, [&](auto result) { answer = std::move(result); });
    loop_.RunUntil([&] { return answer.has_value(); });
    ASSERT_TRUE(answer->ok()) << answer->error().ToString();
    EXPECT_EQ(**answer, "still there");
  }

  std::string directory_;
  testing::FakeLoop loop_;
  Server server_{loop_, "rpc"};
  std::vector<std::shared_ptr<Call>> kept_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

TEST_F(HostileTest, ARawRequestIsServed) {
  const base::UniqueFd peer = Greet();
  Say(peer, Request(1, "/t.T/Echo", "hello"));
  const Heard heard = Hear(peer);
  EXPECT_EQ(heard.Of(kDataFrame), std::vector<std::string>{Framed("hello")});
  EXPECT_EQ(heard.Of(kHeadersFrame).size(), 2U);
  EXPECT_FALSE(heard.closed);
}

TEST_F(HostileTest, AnswersPings) {
  const base::UniqueFd peer = Greet();
  (void)Hear(peer);
  Say(peer, Frame(kPingFrame, 0, 0, "12345678"));
  EXPECT_EQ(Hear(peer).Of(kPingFrame), std::vector<std::string>{"12345678"});
}

TEST_F(HostileTest, GarbageInsteadOfThePrefaceEndsTheConnection) {
  for (const std::string& garbage : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"s,
                                     std::string(100000, '\0'), "PRI * HTTP/2.0\r\n\r\nXX"s}) {
    const base::UniqueFd peer = Connect(garbage);
    EXPECT_TRUE(Hear(peer).closed) << garbage.substr(0, 20);
  }
  EXPECT_EQ(server_.connections(), 0U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, WhoDoesNotGreetHasTenSeconds) {
  const base::UniqueFd silent = Connect(""), slow = Connect(kPreface.substr(0, 10)), good = Greet();
  loop_.Advance(9s);
  Say(slow, kPreface.substr(10, 5));
  EXPECT_EQ(server_.connections(), 3U);
  loop_.Advance(1s);
  EXPECT_TRUE(Hear(silent).closed && Hear(slow).closed);
  loop_.Advance(24h);
  EXPECT_FALSE(Hear(good).closed);
}

TEST_F(HostileTest, CutOffAtAnyByteNothingHappens) {
  const std::string whole =
      kPreface + Frame(kSettingsFrame, 0, 0) + Request(1, "/t.T/Echo", "hello");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    base::UniqueFd peer = Connect(whole.substr(0, size));
    EXPECT_TRUE(Hear(peer).Of(kDataFrame).empty()) << size;
    peer.Reset();
    loop_.RunUntilIdle();
    ASSERT_EQ(server_.connections(), 0U) << size;
  }
}

// Nobody waits in the middle of a request for a window to be opened: one that fits is announced
// before anything is said, and the connection's own has room for several.
TEST_F(HostileTest, AWholeRequestFitsTheWindowThatIsAnnounced) {
  const Heard heard = Hear(Greet());
  const auto number = [](std::string_view bytes) {
    std::uint32_t value = 0;
    for (const char byte : bytes.substr(0, 4))
      value = value << 8U | static_cast<unsigned char>(byte);
    return value;
  };
  ASSERT_FALSE(heard.Of(kSettingsFrame).empty());
  const std::string settings = heard.Of(kSettingsFrame)[0];
  std::size_t window = 0;
  for (std::size_t at = 0; at + 6 <= settings.size(); at += 6)
    if (settings.compare(at, 2, "\0\x4"s) == 0) window = number(settings.substr(at + 2));
  EXPECT_GE(window, kMostRequest + Framed("").size());
  ASSERT_EQ(heard.Of(kWindowFrame).size(), 1U);
  // Of the connection, beside the 64 KiB that it has of itself.
  EXPECT_GE(number(heard.Of(kWindowFrame)[0]) + 0xffffU, 3 * kMostRequest);
}

TEST_F(HostileTest, BytewiseIsAsGoodAsAtOnce) {
  const base::UniqueFd peer = Connect("");
  for (const char c : kPreface + Frame(kSettingsFrame, 0, 0) + Request(1, "/t.T/Echo", "hello"))
    Say(peer, std::string(1, c));
  EXPECT_EQ(Hear(peer).Of(kDataFrame), std::vector<std::string>{Framed("hello")});
}

TEST_F(HostileTest, FramesOutOfPlaceEndTheConnection) {
  const struct {
    const char* name;
    std::string say;
  } cases[] = {
      {"data on stream 0", Frame(kDataFrame, 0, 0, "x")},
      {"headers on an even stream",
       Frame(kHeadersFrame, kEndHeaders, 2, RequestHeaders("/t.T/Echo"))},
      {"frame over 16 KiB", Frame(kPingFrame, 0, 0, std::string(20000, 'x'))},
      {"continuation of nothing", Frame(kContinuationFrame, kEndHeaders, 1, "x")},
      {"HPACK that is none", Frame(kHeadersFrame, kEndHeaders, 1, std::string(20, '\xff'))},
      {"window over 2 GiB", Frame(kWindowFrame, 0, 0, Number(0x7fffffff))},
      {"settings of odd size", Frame(kSettingsFrame, 0, 0, "x")},
  };
  for (const auto& each : cases) {
    const base::UniqueFd peer = Greet();
    Say(peer, each.say);
    const Heard heard = Hear(peer);
    EXPECT_TRUE(heard.closed) << each.name;
    EXPECT_EQ(heard.Of(kGoAwayFrame).size(), 1U) << each.name;
  }
  ExpectOthersAreServed();
}

TEST_F(HostileTest, HugeHeadersCostTheCallOrTheConnection) {
  // In one frame, above our limit and below HTTP/2's.
  const base::UniqueFd much = Greet();
  Say(much, Frame(kHeadersFrame, kEndHeaders, 1,
                  RequestHeaders("/t.T/Echo") + HeaderField("a", std::string(8000, 'a')) +
                      HeaderField("b", std::string(8000, 'b'))));
  EXPECT_EQ(Hear(much).Of(kResetFrame), std::vector<std::string>{});
  Say(much,
      Frame(kHeadersFrame, 0, 3,
            RequestHeaders("/t.T/Echo") + HeaderField("a", std::string(9000, 'a'))) +
          Frame(kContinuationFrame, kEndHeaders, 3, HeaderField("b", std::string(9000, 'b'))));
  EXPECT_EQ(Hear(much).Of(kResetFrame).size(), 1U);
  Say(much, Request(5, "/t.T/Echo", "hello"));
  EXPECT_EQ(Hear(much).Of(kDataFrame).size(), 1U);
  // Without end.
  const base::UniqueFd endless = Greet();
  Say(endless, Frame(kHeadersFrame, 0, 1, RequestHeaders("/t.T/Echo")));
  for (int i = 0; i < 64; ++i)
    Say(endless, Frame(kContinuationFrame, 0, 1, HeaderField("a", std::string(16000, 'a'))));
  EXPECT_TRUE(Hear(endless).closed);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, WhatIsNotGrpcIsRefusedAsHttp) {
  const base::UniqueFd peer = Greet();
  Say(peer, Frame(kHeadersFrame, kEndHeaders | kEndStream, 1,
                  HeaderField(":method", "GET") + HeaderField(":path", "/t.T/Echo")) +
                Frame(kHeadersFrame, kEndHeaders | kEndStream, 3,
                      HeaderField(":method", "POST") + HeaderField(":path", "/t.T/Echo") +
                          HeaderField("content-type", "application/json")) +
                Frame(kHeadersFrame, kEndHeaders | kEndStream, 5, HeaderField("x", "y")) +
                Request(7, "/t.T/Echo", "hello"));
  const Heard heard = Hear(peer);
  EXPECT_EQ(heard.Of(kHeadersFrame).size(), 5U);
  EXPECT_EQ(heard.Of(kDataFrame).size(), 1U);
}

TEST_F(HostileTest, AFloodOfResetsEndsTheConnection) {
  const base::UniqueFd peer = Greet();
  std::string flood;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    flood += Frame(kHeadersFrame, kEndHeaders, 2 * i + 1, RequestHeaders("/t.T/Keep"));
    flood += Frame(kResetFrame, 0, 2 * i + 1, Number(8));
  }
  Say(peer, flood);
  EXPECT_TRUE(Hear(peer).closed);
  EXPECT_TRUE(kept_.empty());
  ExpectOthersAreServed();
}

TEST_F(HostileTest, AFloodOfPingsThatNobodyReadsTheAnswersOfEndsTheConnection) {
  const base::UniqueFd peer = Greet();
  const std::string pings = [] {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += Frame(kPingFrame, 0, 0, "12345678");
    return all;
  }();
  // The socket's own buffer is full after some; then they wait here.
  for (int i = 0; i < 1000 && server_.connections() > 0; ++i) Say(peer, pings);
  EXPECT_EQ(server_.connections(), 0U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, AFloodOfRequestsThatNobodyReadsTheAnswersOfEndsTheConnection) {
  const base::UniqueFd peer = Greet();
  std::uint32_t stream = 1;
  for (int i = 0; i < 1000 && server_.connections() > 0; ++i) {
    std::string many;
    for (int j = 0; j < 200; ++j, stream += 2)
      many +=
          Frame(kHeadersFrame, kEndHeaders | kEndStream, stream, RequestHeaders("/t.T/Unknown"));
    Say(peer, many);
  }
  EXPECT_EQ(server_.connections(), 0U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, APeerThatNeverReadsIsClosedWhenTooMuchWaits) {
  const base::UniqueFd peer = Greet();
  // Five megabytes each, and no window for them but the first 64 KiB.
  for (std::uint32_t i = 0; i < 3; ++i) Say(peer, Request(2 * i + 1, "/t.T/Large", "x"));
  EXPECT_EQ(server_.connections(), 1U);
  Say(peer, Request(7, "/t.T/Large", "x"));
  EXPECT_EQ(server_.connections(), 0U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, OfAStreamThatNobodyReadsTheNewestWaits) {
  const base::UniqueFd peer = Greet();
  Say(peer, Request(1, "/t.T/Watch", "x"));
  ASSERT_EQ(streams_.size(), 1U);
  // The first fills the window; of the others only the last is kept.
  streams_[0]->Publish(std::string(100000, 'a'));
  for (int i = 0; i < 100; ++i) streams_[0]->Publish(std::string(std::size_t{1} << 20, 'b'));
  streams_[0]->Publish("newest");
  EXPECT_EQ(server_.connections(), 1U);
  Say(peer,
      Frame(kWindowFrame, 0, 0, Number(1 << 24)) + Frame(kWindowFrame, 0, 1, Number(1 << 24)));
  std::string all;
  for (const std::string& piece : Hear(peer).Of(kDataFrame)) all += piece;
  EXPECT_EQ(all, Framed(std::string(100000, 'a')) + Framed("newest"));
}

TEST_F(HostileTest, APeerWithManyStreamsThatItDoesNotReadIsClosed) {
  const base::UniqueFd peer = Greet();
  for (std::uint32_t i = 0; i < 4; ++i) Say(peer, Request(2 * i + 1, "/t.T/Watch", "x"));
  ASSERT_EQ(streams_.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(streams_[i]->closed()) << i;
    streams_[i]->Publish(std::string(std::size_t{5} << 20, 'x'));
  }
  for (const auto& stream : streams_) EXPECT_TRUE(stream->closed());
  EXPECT_EQ(server_.connections(), 0U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, ManyLargeRequestsAtOnceAreRefusedBeforeTheyAreWhole) {
  const base::UniqueFd peer = Greet();
  const std::string part = Framed(std::string(std::size_t{4} << 20, 'x')).substr(0, 16384);
  for (std::uint32_t stream = 1; stream < 20; stream += 2)
    Say(peer, Frame(kHeadersFrame, kEndHeaders, stream, RequestHeaders("/t.T/Keep")));
  std::size_t refused = 0;
  for (int i = 0; i < 200; ++i) {
    for (std::uint32_t stream = 1; stream < 20; stream += 2)
      Say(peer, Frame(kDataFrame, 0, stream, i == 0 ? part : std::string(16384, 'x')));
    refused += Hear(peer).Of(kResetFrame).size();
  }
  EXPECT_GE(refused, 4U);
  EXPECT_LT(refused, 10U);
  ExpectOthersAreServed();
}

TEST_F(HostileTest, ACrowdOfIdlePeersMakesRoomAndABusyOneDoesNot) {
  std::vector<base::UniqueFd> crowd;
  crowd.push_back(Greet());
  Say(crowd[0], Request(1, "/t.T/Keep", "x"));
  while (crowd.size() < Server::kMostConnections) crowd.push_back(Greet());
  ExpectOthersAreServed();
  EXPECT_FALSE(Hear(crowd[0]).closed);
  EXPECT_TRUE(Hear(crowd[1]).closed);
  EXPECT_FALSE(Hear(crowd[2]).closed);
}

TEST_F(HostileTest, ADeadlineCountsWhileTheRequestIsStillComing) {
  const base::UniqueFd peer = Greet();
  Say(peer, Frame(kHeadersFrame, kEndHeaders, 1, RequestHeaders("/t.T/Echo", "3S")) +
                Frame(kDataFrame, 0, 1, Framed("hello").substr(0, 7)));
  loop_.Advance(3s);
  const Heard heard = Hear(peer);
  EXPECT_EQ(heard.Of(kHeadersFrame).size(), 1U);
  EXPECT_EQ(heard.Of(kResetFrame), std::vector<std::string>{Number(0)});
}

}  // namespace
}  // namespace partita::net::rpc
