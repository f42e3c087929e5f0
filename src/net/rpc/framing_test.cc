#include "net/rpc/framing.h"

#include <string>

#include <gtest/gtest.h>

#include "net/rpc/status.h"

namespace partita::net::rpc {
namespace {

using namespace std::string_literals;

TEST(Framing, GathersAMessageFromAnyPieces) {
  const std::string framed = Framed("hello");
  EXPECT_EQ(framed, "\0\0\0\0\5hello"s);
  OneMessage at_once, bytewise;
  EXPECT_TRUE(at_once.empty());
  EXPECT_EQ(at_once.Add(framed, 5), Status{});
  for (const char c : framed) {
    EXPECT_FALSE(bytewise.whole());
    EXPECT_EQ(bytewise.Add({&c, 1}, 5), Status{});
  }
  ASSERT_TRUE(at_once.whole() && bytewise.whole());
  EXPECT_EQ(bytewise.Add("x", 5).code, StatusCode::kUnimplemented);
  EXPECT_EQ(at_once.Take(), "hello");
  EXPECT_EQ(bytewise.Take(), "hello");
  OneMessage nothing_in_it;
  EXPECT_EQ(nothing_in_it.Add(Framed(""), 0), Status{});
  EXPECT_TRUE(nothing_in_it.whole());
}

TEST(Framing, RefusesWhatIsLargeCompressedOrMoreThanOne) {
  EXPECT_EQ(OneMessage().Add(Framed("hello"), 4).code, StatusCode::kResourceExhausted);
  EXPECT_EQ(OneMessage().Add("\1", 4).code, StatusCode::kUnimplemented);
  EXPECT_EQ(OneMessage().Add(Framed("hello") + "\0"s, 9).code, StatusCode::kUnimplemented);
  // Told at once, not when four gigabytes have come.
  EXPECT_EQ(OneMessage().Add("\0\xff\xff\xff\xff"s, 1 << 20).code, StatusCode::kResourceExhausted);
}

TEST(Framing, TextsTravelAsAscii) {
  EXPECT_EQ(PercentEncoded("no GPU, 100 %\n"), "no GPU, 100 %25%0A");
  EXPECT_EQ(PercentEncoded("größer"), "gr%C3%B6%C3%9Fer");
  for (const std::string text : {"größer\n\t%41", "", "%", "日本\x7f\xff"})
    EXPECT_EQ(PercentDecoded(PercentEncoded(text)), text);
  EXPECT_EQ(PercentDecoded("%4g 100%, %e2%82%ac %4"), "%4g 100%, € %4");
}

TEST(Framing, CutsALongTextAtACharacter) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "ö";
  const std::string encoded = PercentEncoded(text);
  EXPECT_LE(encoded.size(), 4096U);
  EXPECT_GT(encoded.size(), 4080U);
  EXPECT_EQ(encoded.size() % 6, 0U);
  // Bytes that are no character may be parted anywhere.
  EXPECT_EQ(PercentEncoded(std::string(9000, '\x80')).size(), 4095U);
}

TEST(Framing, ReadsTimeoutsAsGrpcWritesThem) {
  using namespace std::chrono_literals;
  EXPECT_EQ(ParseTimeout("1S"), 1s);
  EXPECT_EQ(ParseTimeout("99999999n"), 99999999ns);
  EXPECT_EQ(ParseTimeout("5M"), 5min);
  EXPECT_EQ(ParseTimeout("250m"), 250ms);
  EXPECT_EQ(ParseTimeout("99999999H"), Duration::max());
  for (const char* text : {"", "S", "1", "1s", "-1S", "+1S", "123456789S", "1 S", "0x1S"})
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
  EXPECT_EQ(FormatTimeout(1500us), "1500u");
  EXPECT_EQ(FormatTimeout(99999999us), "99999999u");
  EXPECT_EQ(FormatTimeout(99999999us + 1ns), "100000m");
  EXPECT_EQ(FormatTimeout(-1s), "0u");
  EXPECT_EQ(ParseTimeout(FormatTimeout(24h)), 24h);
}

TEST(Status, CarriesOurErrorsAndBack) {
  const base::Error error = base::MakeError(base::ErrorCode::kNotFound, "no GPU {}", 7)
                                .Within("allocate")
                                .WithHint("see `partita status`");
  const Status status = StatusOf(error);
  EXPECT_EQ(status.code, StatusCode::kNotFound);
  EXPECT_EQ(status.message, "allocate: no GPU 7; see `partita status`");
  EXPECT_EQ(ErrorOf(status).code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(ErrorOf(status).ToString(), status.message);
  EXPECT_EQ(ErrorOf({StatusCode::kUnavailable, ""}).message(),
            "gRPC status UNAVAILABLE without a word");
}

TEST(Status, KeepsWhatACallerActsOn) {
  using base::ErrorCode;
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kBusy,
                               ErrorCode::kUnavailable, ErrorCode::kUnsupported, ErrorCode::kDenied,
                               ErrorCode::kConflict, ErrorCode::kTimeout, ErrorCode::kInternal}) {
    EXPECT_EQ(ErrorOf(StatusOf(base::Error(code, "x"))).code(), code) << ToString(code);
  }
}

}  // namespace
}  // namespace partita::net::rpc
