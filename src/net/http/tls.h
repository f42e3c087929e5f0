// TLS as a function from bytes to bytes: what a peer sent goes in, what it must be sent comes out.
// No socket in it, so that the kernel's answers are looked at in one place. OpenSSL is behind it,
// in tls.cc alone.
//
// TLS 1.2 at least; only the certificates that the target names are trusted, the peer's must name
// the server (alternative names only, addresses as addresses), and nothing of OpenSSL's own
// configuration or of the system's certificates is read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/messages.h"

namespace partita::net {

// What all connections to one target share. Immutable.
class TlsContext {
 public:
  // kInvalid: certificates or key cannot be read, or no authority is given.
  [[nodiscard]] static base::Result<std::shared_ptr<const TlsContext>> Make(
      const HttpTarget& target);
  TlsContext() = default;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  virtual ~TlsContext() = default;
};

// One connection's. The client speaks first: there is output at once.
class TlsSession {
 public:
  [[nodiscard]] static std::unique_ptr<TlsSession> Make(std::shared_ptr<const TlsContext> context);
  TlsSession() = default;
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  virtual ~TlsSession() = default;

  // Bytes of the peer; what they say is appended to `plain`. kDenied: the peer's certificate is
  // refused, or ours by the peer. kInvalid: this is not TLS. kUnavailable: the peer gave up.
  // Output may be there also after an error: it tells the peer why.
  [[nodiscard]] virtual base::Result<void> Receive(std::string_view bytes, std::string& plain) = 0;
  // Only when ready.
  [[nodiscard]] virtual base::Result<void> Send(std::string_view plain) = 0;
  [[nodiscard]] virtual std::string TakeOutput() = 0;
  [[nodiscard]] virtual bool ready() const = 0;
  // The peer said that it sends no more: what came is all, and not cut by somebody in between.
  [[nodiscard]] virtual bool ended() const = 0;
};

}  // namespace partita::net
