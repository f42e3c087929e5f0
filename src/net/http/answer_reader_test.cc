#include "net/http/answer_reader.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace partita::net {
namespace {

struct Reading {
  std::string error;
  HttpClientAnswer answer;
  bool whole = false, reusable = false;
};

// At once, and byte by byte: both must be the same.
Reading Read(std::string_view text, bool closed = false, std::string_view method = "GET") {
  Reading readings[2];
  for (const bool slowly : {false, true}) {
    AnswerReader reader(method);
    Reading& reading = readings[slowly ? 1 : 0];
    base::Result<void> result;
    for (std::size_t at = 0; at < text.size() && result.ok(); at += slowly ? 1 : text.size())
      result = reader.Take(text.substr(at, slowly ? 1 : text.size()));
    if (result.ok() && closed) result = reader.End();
    if (!result.ok()) reading.error = result.error().ToString();
    reading.answer = reader.answer();
    reading.answer.body = reader.TakeBody();
    reading.whole = reader.whole();
    reading.reusable = reader.reusable();
  }
  EXPECT_EQ(readings[0].error, readings[1].error) << text;
  if (readings[0].error.empty()) {
    EXPECT_EQ(readings[0].answer, readings[1].answer) << text;
    EXPECT_EQ(readings[0].whole, readings[1].whole) << text;
    EXPECT_EQ(readings[0].reusable, readings[1].reusable) << text;
  }
  return readings[0];
}

std::string Refused(std::string_view text, bool closed = false) { return Read(text, closed).error; }

TEST(AnswerReader, ReadsABodyOfKnownLength) {
  const Reading reading = Read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello");
  EXPECT_EQ(reading.answer,
            (HttpClientAnswer{200, {{"content-length", "5"}, {"x-a", "b"}}, "hello"}));
  EXPECT_TRUE(reading.whole);
  EXPECT_TRUE(reading.reusable);
  EXPECT_FALSE(Read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell").whole);
}

TEST(AnswerReader, ReadsChunksWithExtensionsAndTrailers) {
  const Reading reading = Read(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;a=b\r\nhello\r\n1 ;c=\"d\"\r\n,\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n");
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.answer.body, "hello,0123456789");
  EXPECT_TRUE(reading.reusable);
}

TEST(AnswerReader, SkipsInterimAnswers) {
  const Reading reading = Read(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n");
  EXPECT_EQ(reading.answer, (HttpClientAnswer{204, {{"a", "b"}}, ""}));
  EXPECT_TRUE(reading.reusable);
  std::string many;
  for (int i = 0; i < 9; ++i) many += "HTTP/1.1 102 \r\n\r\n";
  EXPECT_EQ(Refused(many), "more than 8 answers came before the one that counts");
  EXPECT_EQ(Refused("HTTP/1.1 101 Switching\r\n\r\n"),
            "the answer is not HTTP/1.1: it changes to another protocol, unasked");
}

TEST(AnswerReader, ABodyWithoutLengthEndsWithTheConnection) {
  const std::string_view text = "HTTP/1.1 200 OK\r\n\r\nall of it";
  EXPECT_FALSE(Read(text).whole);
  const Reading reading = Read(text, true);
  EXPECT_EQ(reading.answer.body, "all of it");
  EXPECT_TRUE(reading.whole);
  EXPECT_FALSE(reading.reusable);
}

TEST(AnswerReader, KnowsAnswersThatHaveNoBody) {
  EXPECT_TRUE(Read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, "HEAD").reusable);
  EXPECT_TRUE(Read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n").reusable);
  EXPECT_TRUE(Read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").reusable);
}

TEST(AnswerReader, SaysWhetherAnotherRequestMayFollow) {
  EXPECT_FALSE(
      Read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep, Close\r\n\r\n").reusable);
  EXPECT_FALSE(Read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").reusable);
  // Whatever follows was not asked for.
  EXPECT_FALSE(Read("HTTP/1.1 204 \r\n\r\nHTTP/1.1 200 OK\r\n\r\n").reusable);
}

TEST(AnswerReader, RefusesAnEndThatTwoReadersWouldSeeElsewhere) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(Refused(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "the answer is not HTTP/1.1: it has both a length and a transfer coding");
  EXPECT_EQ(Refused(head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
            "the answer is not HTTP/1.1: its length is \"5, 6\"");
  for (const std::string length : {"-1", "+1", "0x5", "5 5", "", "99999999999999999999", "５"})
    EXPECT_NE(Refused(fmt::format("{}Content-Length: {}\r\n\r\n", head, length)), "") << length;
  EXPECT_EQ(Refused(head + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
            "the answer is not HTTP/1.1: its transfer coding is \"gzip, chunked\"");
  EXPECT_EQ(Refused(head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "the answer is not HTTP/1.1: its transfer coding is \"chunked, chunked\"");
  EXPECT_EQ(Refused(head + "A: b\n\r\n"),
            "the answer is not HTTP/1.1: a line ends without a carriage return");
  EXPECT_EQ(Refused(head + "A: b\r\n c\r\n\r\n"),
            "the answer is not HTTP/1.1: \" c\" is no header");
  EXPECT_EQ(Refused(head + "A : b\r\n\r\n"), "the answer is not HTTP/1.1: \"A : b\" is no header");
  EXPECT_EQ(Refused(head + std::string("A: b\0c\r\n\r\n", 10)),
            "the answer is not HTTP/1.1: a header has a control character");
}

TEST(AnswerReader, RefusesHostileChunks) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string size : {"", " 5", "-5", "5x", "0x5", "11112222333344445", ";a", "5 5"})
    EXPECT_NE(Refused(head + size + "\r\nhello\r\n"), "") << size;
  EXPECT_EQ(Refused(head + "2\r\nhello\r\n"),
            "the answer is not HTTP/1.1: a chunk is longer than its size");
  EXPECT_EQ(Refused(head + "2\nhe\r\n"),
            "the answer is not HTTP/1.1: a line ends without a carriage return");
  EXPECT_EQ(Refused(head + "5;" + std::string(5000, 'x')),
            "the answer is not HTTP/1.1: the line of a chunk's size has no end");
  // As large as it says, and nothing is made for it before it comes.
  EXPECT_EQ(Refused(head + "ffffffffffffffff\r\nhello"), "");
  std::string trailers = head + "0\r\n";
  for (int i = 0; i < 8000; ++i) trailers += "X-A: bcde\r\n";
  EXPECT_EQ(Refused(trailers), "the answer's head has more than 64 KiB");
}

TEST(AnswerReader, BoundsTheHead) {
  EXPECT_EQ(Refused("HTTP/1.1 200 OK\r\nA: " + std::string(std::size_t{65} << 10, 'x')),
            "the answer's head has more than 64 KiB");
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 257; ++i) many += "A: b\r\n";
  EXPECT_EQ(Refused(many), "the answer has more than 256 headers");
}

TEST(AnswerReader, RefusesWhatIsNoAnswer) {
  EXPECT_EQ(Refused("SSH-2.0-OpenSSH_9.2\r\n"),
            "the answer is not HTTP/1.1: it begins with \"SSH-2.0-OpenSSH_9.2\"");
  for (const std::string line : {"", "HTTP/2 200", "HTTP/1.1 99 x", "HTTP/1.1 600 x",
                                 "HTTP/1.1 2000", "HTTP/1.1  200", "HTTP/1.1200 OK"})
    EXPECT_NE(Refused(line + "\r\n"), "") << line;
}

TEST(AnswerReader, SaysWhatIsMissing) {
  EXPECT_EQ(Refused("", true), "the connection was closed");
  EXPECT_EQ(Refused("HTTP/1.1 200", true),
            "the connection was closed in the middle of the answer's head");
  EXPECT_EQ(Refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", true),
            "the connection was closed in the middle of the answer");
  EXPECT_EQ(Refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", true),
            "the connection was closed in the middle of the answer");
}

}  // namespace
}  // namespace partita::net
