#include "net/http/tls.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace partita::net {
namespace {

using base::ErrorCode;
using base::MakeError;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* what) const {
    kFree(what);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using SslContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Freed<SSL_free>>;

constexpr int kFirstAlert = SSL_AD_REASON_OFFSET;  // from here on a reason is the peer's alert

// What a key is encrypted with nobody here can be asked for.
int NoPassword(char*, int, int, void*) { return 0; }

std::string LastReason() {
  const unsigned long error = ERR_peek_last_error();
  const char* text = ERR_reason_error_string(error);
  return text == nullptr ? fmt::format("OpenSSL error {:#x}", error) : text;
}

Bio ReadOnly(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

base::Result<std::vector<Certificate>> ReadCertificates(const std::string& pem,
                                                        std::string_view what) {
  const Bio bio = ReadOnly(pem);
  std::vector<Certificate> all;
  ERR_clear_error();
  for (;;) {
    Certificate one(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (!one) break;
    all.push_back(std::move(one));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (all.empty() || !at_end) {
    return MakeError(ErrorCode::kInvalid, "{}: certificate {} cannot be read: {}", what,
                     all.size() + 1, at_end ? "there is none in it" : LastReason())
        .WithHint("it must be PEM: `-----BEGIN CERTIFICATE-----` and base64");
  }
  ERR_clear_error();
  return all;
}

base::Result<void> TrustOnly(SSL_CTX* context, const HttpTarget& target) {
  if (target.insecure_skip_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (target.ca_pem.empty()) {
    return MakeError(ErrorCode::kInvalid, "no certificate authority is given for {}",
                     Authority(target))
        .WithHint("name the file of the API server's authority (certificate-authority)");
  }
  TRY(trusted, ReadCertificates(target.ca_pem, "the certificate authority"));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& one : trusted) X509_STORE_add_cert(store, one.get());
  // As Go does: an authority that is given is trusted, also one that another has signed.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM* names = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(
      names, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const std::string& name = target.server_name.empty() ? target.host : target.server_name;
  const bool set = IsAddress(name)
                       ? X509_VERIFY_PARAM_set1_ip_asc(names, name.c_str()) == 1
                       : X509_VERIFY_PARAM_set1_host(names, name.data(), name.size()) == 1;
  if (!set || name.empty())
    return MakeError(ErrorCode::kInvalid, "\"{}\" is no name of a server", name);
  return {};
}

base::Result<void> ShowCertificate(SSL_CTX* context, const HttpTarget& target) {
  if (target.client_cert_pem.empty() && target.client_key_pem.empty()) return {};
  TRY(chain, ReadCertificates(target.client_cert_pem, "the client certificate"));
  const Bio bio = ReadOnly(target.client_key_pem);
  const PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!key) {
    return MakeError(ErrorCode::kInvalid, "the client certificate's key cannot be read: {}",
                     LastReason())
        .WithHint("it must be a private key in PEM without a password");
  }
  bool taken = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  for (std::size_t i = 1; taken && i < chain.size(); ++i)
    taken = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  if (!taken)
    return MakeError(ErrorCode::kInvalid, "the client certificate cannot be used: {}",
                     LastReason());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return MakeError(ErrorCode::kInvalid, "the client key does not belong to the certificate: {}",
                     LastReason())
        .WithHint("take both from the same place");
  }
  return {};
}

class Context final : public TlsContext {
 public:
  explicit Context(SslContext context, std::string server, std::string sent_name)
      : context_(std::move(context)),
        server_(std::move(server)),
        sent_name_(std::move(sent_name)) {}
  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }
  [[nodiscard]] const std::string& server() const { return server_; }
  // Empty for an address, which no server chooses its certificate by.
  [[nodiscard]] const std::string& sent_name() const { return sent_name_; }

 private:
  SslContext context_;
  std::string server_;
  std::string sent_name_;
};

class Session final : public TlsSession {
 public:
  explicit Session(std::shared_ptr<const Context> context)
      : context_(std::move(context)), ssl_(SSL_new(context_->get())) {
    PARTITA_CHECK(ssl_ != nullptr);
    // Both belong to the session from here on.
    input_ = BIO_new(BIO_s_mem());
    output_ = BIO_new(BIO_s_mem());
    // Nothing more to read is "later", not the end.
    BIO_set_mem_eof_return(input_, -1);
    SSL_set_bio(ssl_.get(), input_, output_);
    SSL_set_connect_state(ssl_.get());
    // The macro of this casts as C does.
    if (!context_->sent_name().empty()) {
      SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(context_->sent_name().c_str()));
    }
    ERR_clear_error();
    SSL_do_handshake(ssl_.get());
  }

  base::Result<void> Receive(std::string_view bytes, std::string& plain) override {
    ERR_clear_error();
    BIO_write(input_, bytes.data(), static_cast<int>(bytes.size()));
    if (!ready()) {
      const int done = SSL_do_handshake(ssl_.get());
      if (done != 1) return Outcome(done);
    }
    std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    for (;;) {
      const int count = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (count <= 0) return Outcome(count);
      plain.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

  base::Result<void> Send(std::string_view plain) override {
    ERR_clear_error();
    std::size_t written = 0;
    if (plain.empty()) return {};
    if (SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) == 1) return {};
    return Failed();
  }

  std::string TakeOutput() override {
    std::string all(BIO_ctrl_pending(output_), '\0');
    if (!all.empty()) BIO_read(output_, all.data(), static_cast<int>(all.size()));
    return all;
  }
  [[nodiscard]] bool ready() const override { return SSL_is_init_finished(ssl_.get()) == 1; }
  [[nodiscard]] bool ended() const override {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

 private:
  base::Result<void> Outcome(int returned) {
    const int kind = SSL_get_error(ssl_.get(), returned);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_ZERO_RETURN) return {};
    return Failed();
  }

  base::Error Failed() {
    const long verified = SSL_get_verify_result(ssl_.get());
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED || (verified != X509_V_OK && !ready())) {
      return MakeError(ErrorCode::kDenied, "the certificate of {} is refused: {}",
                       context_->server(), X509_verify_cert_error_string(verified))
          .WithHint(
              "the certificate authority that is configured must be the server's, and the "
              "server's name or address in its certificate");
    }
    if (reason >= kFirstAlert) return Alerted(reason - kFirstAlert);
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
        reason == SSL_R_PACKET_LENGTH_TOO_LONG)
      return MakeError(ErrorCode::kInvalid, "{} does not speak TLS: {}", context_->server(),
                       LastReason());
    return MakeError(ErrorCode::kInvalid, "TLS with {} failed: {}", context_->server(),
                     LastReason());
  }

  // Numbers of RFC 8446, 6.
  base::Error Alerted(int alert) {
    const std::string text = SSL_alert_desc_string_long(alert);
    const bool ours = (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
                      alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_ACCESS_DENIED ||
                      alert == SSL_AD_CERTIFICATE_REQUIRED;
    if (ours) {
      return MakeError(ErrorCode::kDenied, "{} refuses our certificate: {}", context_->server(),
                       text)
          .WithHint("the client certificate must be one of the server's authority, and in date");
    }
    return MakeError(ErrorCode::kUnavailable, "{} gave TLS up: {}", context_->server(), text);
  }

  std::shared_ptr<const Context> context_;
  Ssl ssl_;
  BIO* input_ = nullptr;
  BIO* output_ = nullptr;
};

}  // namespace

base::Result<std::shared_ptr<const TlsContext>> TlsContext::Make(const HttpTarget& target) {
  // First of all: else OpenSSL would read its configuration, and register handlers at exit.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  SslContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return MakeError(ErrorCode::kInternal, "TLS cannot begin: {}", LastReason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Buffers only while there is something in them, as connections mostly wait.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context.get(), NoPassword);
  static constexpr std::array<unsigned char, 9> kProtocols = {8,   'h', 't', 't', 'p',
                                                              '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context.get(), kProtocols.data(), kProtocols.size());
  TRY_VOID(TrustOnly(context.get(), target));
  TRY_VOID(ShowCertificate(context.get(), target));
  const std::string& name = target.server_name.empty() ? target.host : target.server_name;
  return std::shared_ptr<const TlsContext>(std::make_shared<const Context>(
      std::move(context), Authority(target), IsAddress(name) ? "" : name));
}

std::unique_ptr<TlsSession> TlsSession::Make(std::shared_ptr<const TlsContext> context) {
  return std::make_unique<Session>(std::static_pointer_cast<const Context>(std::move(context)));
}

}  // namespace partita::net
