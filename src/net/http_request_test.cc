#include "net/http_request.h"

#include <string>

#include <gtest/gtest.h>

namespace partita::net {
namespace {

TEST(HttpRequest, IsTakenWhenItsHeadIsAllThere) {
  std::string input = "GET /readyz?verbose HTTP/1.1\r\nHost: a\r\nX: y\r\n\r";
  EXPECT_EQ(TakeHttpRequest(input), std::nullopt);
  input += "\nrest";
  const auto taken = TakeHttpRequest(input);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(std::get<HttpRequest>(*taken), (HttpRequest{"GET", "/readyz", "verbose"}));
  EXPECT_EQ(input, "rest");
}

TEST(HttpRequest, IsRefusedWithTheStatusThatSaysWhy) {
  struct Row {
    std::string head;
    int status;
  };
  const std::string long_line(kMostHttpHead, 'a');
  const Row rows[] = {
      {"\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\n\r\n", 400},
      {"G\x01T / HTTP/1.1\r\n\r\n", 400},
      {"GET http://a/ HTTP/1.1\r\n\r\n", 400},
      {"GET /\x80 HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / FTP\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n\r\n", 405},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n folded: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
      {"GET /" + long_line, 414},
      {"GET / HTTP/1.1\r\nX: " + long_line, 431},
  };
  for (const Row& row : rows) {
    std::string input = row.head;
    const auto taken = TakeHttpRequest(input);
    ASSERT_TRUE(taken.has_value()) << row.head;
    ASSERT_TRUE(std::holds_alternative<HttpRefusal>(*taken)) << row.head;
    EXPECT_EQ(std::get<HttpRefusal>(*taken).status, row.status) << row.head;
  }
}

}  // namespace
}  // namespace partita::net
