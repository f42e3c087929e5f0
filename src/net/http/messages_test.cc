#include "net/http/messages.h"

#include <gtest/gtest.h>

namespace partita::net {
namespace {

TEST(RenderRequest, NamesTheServerAndTheLengthOfABody) {
  const HttpTarget target{.host = "api.example", .port = 6443};
  EXPECT_EQ(*RenderRequest({.method = "GET", .path = "/api/v1/nodes?limit=5"}, target),
            "GET /api/v1/nodes?limit=5 HTTP/1.1\r\nHost: api.example:6443\r\n\r\n");
  EXPECT_EQ(*RenderRequest({.method = "PATCH",
                            .path = "/x",
                            .headers = {{"Content-Type", "application/json"}},
                            .body = "{}"},
                           target),
            "PATCH /x HTTP/1.1\r\nHost: api.example:6443\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(*RenderRequest({.method = "DELETE", .path = "/x"}, {.host = "fd00::1", .port = 80}),
            "DELETE /x HTTP/1.1\r\nHost: [fd00::1]:80\r\nContent-Length: 0\r\n\r\n");
}

TEST(RenderRequest, RefusesWhatWouldBeReadAsAnotherRequest) {
  const HttpTarget target{.host = "h"};
  const auto refusal = [&](const HttpClientRequest& request) {
    const auto text = RenderRequest(request, target);
    return text.ok() ? *text : text.error().ToString();
  };
  EXPECT_EQ(refusal({.method = "GET", .path = "/a b"}), "\"/a b\" is no path of an HTTP request");
  EXPECT_EQ(refusal({.method = "GET", .path = "/a\r\nX: y"}),
            "\"/a\\x0d\\nX: y\" is no path of an HTTP request");
  EXPECT_EQ(refusal({.method = "GET", .path = "a"}), "\"a\" is no path of an HTTP request");
  EXPECT_EQ(refusal({.method = "G T", .path = "/"}), "\"G T\" is no method of an HTTP request");
  EXPECT_EQ(refusal({.method = "GET", .path = "/", .headers = {{"A:", "b"}}}),
            "\"A:\" is no header of an HTTP request");
  // The value is not repeated: it may be a secret.
  EXPECT_EQ(refusal({.method = "GET", .path = "/", .headers = {{"Authorization", "x\r\nY: z"}}}),
            "the header Authorization has a control character");
}

TEST(HttpMessages, KnowsAddressesFromNames) {
  EXPECT_TRUE(IsAddress("10.0.0.1"));
  EXPECT_TRUE(IsAddress("::1"));
  EXPECT_FALSE(IsAddress("kubernetes.default.svc"));
  EXPECT_FALSE(IsAddress("10.0.0"));
  EXPECT_FALSE(IsAddress(""));
}

TEST(HttpMessages, OnlyWhatMayBeDoneTwiceIsRepeated) {
  EXPECT_TRUE(IsRepeatable({.method = "GET"}));
  EXPECT_TRUE(IsRepeatable({.method = "DELETE"}));
  EXPECT_FALSE(IsRepeatable({.method = "POST"}));
  EXPECT_FALSE(IsRepeatable({.method = "PATCH"}));
  EXPECT_TRUE(IsRepeatable({.method = "PATCH", .repeatable = true}));
}

}  // namespace
}  // namespace partita::net
