#include "net/http/tls.h"

#include <gtest/gtest.h>

namespace partita::net {
namespace {

std::string Refusal(const HttpTarget& target) {
  const auto made = TlsContext::Make(target);
  return made.ok() ? "" : made.error().ToString();
}

// A peer that nobody is asked to trust: what is judged here is what is not TLS.
std::unique_ptr<TlsSession> Unverified() {
  auto context = TlsContext::Make({.host = "api.example", .insecure_skip_verify = true});
  PARTITA_CHECK(context.ok());
  return TlsSession::Make(*std::move(context));
}

TEST(TlsContext, NeedsAnAuthority) {
  EXPECT_EQ(Refusal({.host = "api.example"}),
            "no certificate authority is given for api.example:443");
  EXPECT_EQ(Refusal({.host = "api.example", .ca_pem = "nothing\n"}),
            "the certificate authority: certificate 1 cannot be read: there is none in it");
  EXPECT_TRUE(Refusal({.host = "api.example",
                       .ca_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
                  .starts_with("the certificate authority: certificate 1 cannot be read: "));
}

TEST(TlsSession, SpeaksFirstAndSaysWhomItWants) {
  const auto session = Unverified();
  const std::string hello = session->TakeOutput();
  ASSERT_GT(hello.size(), 5U);
  EXPECT_EQ(hello[0], 0x16);
  EXPECT_NE(hello.find("api.example"), std::string::npos);
  EXPECT_NE(hello.find("http/1.1"), std::string::npos);
  EXPECT_FALSE(session->ready());
}

TEST(TlsSession, KnowsWhatIsNoTls) {
  const auto session = Unverified();
  std::string plain;
  const auto received = session->Receive("HTTP/1.1 400 Bad Request\r\n\r\n", plain);
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(received.error().ToString(),
            "api.example:443 does not speak TLS: wrong version number");
  EXPECT_EQ(plain, "");
}

TEST(TlsSession, HearsThatThePeerGaveUp) {
  const auto session = Unverified();
  std::string plain;
  // A record of TLS 1.2: alert, fatal, handshake failure.
  const auto received = session->Receive(std::string("\x15\x03\x03\0\2\2\x28", 7), plain);
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(received.error().ToString(), "api.example:443 gave TLS up: handshake failure");
}

}  // namespace
}  // namespace partita::net
