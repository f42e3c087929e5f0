#include "base/listen_address.h"

#include <string>

#include <gtest/gtest.h>

namespace partita::base {
namespace {

TEST(ListenAddress, ReadsWhatPeopleWrite) {
  using Kind = ListenAddress::Kind;
  const auto parse = [](std::string_view text) { return *ParseListenAddress(text); };
  EXPECT_EQ(parse(""), (ListenAddress{}));
  EXPECT_EQ(parse(":9400"), (ListenAddress{Kind::kTcp, "", 9400, ""}));
  EXPECT_EQ(parse("127.0.0.1:0"), (ListenAddress{Kind::kTcp, "127.0.0.1", 0, ""}));
  EXPECT_EQ(parse("[::1]:80"), (ListenAddress{Kind::kTcp, "::1", 80, ""}));
  EXPECT_EQ(parse("unix:/run/x.sock"), (ListenAddress{Kind::kUnix, "", 0, "/run/x.sock"}));
  for (const char* text : {"", ":9400", "127.0.0.1:0", "[::1]:80", "unix:/run/x.sock"})
    EXPECT_EQ(ToString(parse(text)), text);
}

TEST(ListenAddress, RefusesTheRest) {
  for (const char* text : {"9400", ":", ":65536", ":-1", "localhost:80", "::1:80", "[127.0.0.1]:80",
                           "[]:80", "unix:", "unix:x", "1.2.3.4.5:80", "127.0.0.1"})
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
}

}  // namespace
}  // namespace partita::base
