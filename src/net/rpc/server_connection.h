// One peer of a gRPC server: its calls, from headers to trailers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/loop.h"
#include "net/rpc/framing.h"
#include "net/rpc/http2.h"
#include "net/rpc/server.h"

namespace partita::net::rpc {

struct Methods {
  std::map<std::string, Server::Served, std::less<>> calls;
  std::map<std::string, Server::ServedStream, std::less<>> streams;
};

// Loop's thread only.
class ServerConnection final : public Http2::User,
                               public std::enable_shared_from_this<ServerConnection> {
 public:
  static std::shared_ptr<ServerConnection> Make(Loop& loop,
                                                const std::string& name,
                                                base::UniqueFd fd,
                                                std::shared_ptr<const Methods> methods,
                                                Task closed);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() override;

  // `closed` may come from within.
  void Start() { http2_->Start(); }
  void Close() { http2_->Close(); }
  // No call is under way.
  [[nodiscard]] bool idle() const { return exchanges_.empty(); }

  // Of calls. What they name may be gone: then nothing happens.
  void Publish(std::int32_t id, std::string message);
  void Finish(std::int32_t id, std::optional<std::string> last, Status status);

  void Begin(std::int32_t id) override;
  bool Header(std::int32_t id, std::string_view name, std::string_view value) override;
  void HeadersEnd(std::int32_t id) override;
  void Body(std::int32_t id, std::string_view bytes) override;
  void Ended(std::int32_t id) override;
  Http2::Piece Give(std::int32_t id, char* buffer, std::size_t room) override;
  void Sent(std::int32_t id) override;
  void Over(std::int32_t id, Http2Error error) override;
  void Settle() override;
  void Closed() override;

 private:
  class OneCall;
  class OneStream;
  struct Exchange;

  ServerConnection(Loop& loop,
                   std::string name,
                   std::shared_ptr<const Methods> methods,
                   Task closed);
  Exchange* Find(std::int32_t id);
  void Serve(std::int32_t id);
  void Refuse(std::int32_t id, Exchange& exchange, const Status& status);
  // As HTTP: whoever asks so does not speak gRPC.
  void RefuseHttp(std::int32_t id, Exchange& exchange, int status);
  [[nodiscard]] std::size_t Waiting() const;
  [[nodiscard]] std::size_t Held() const;

  Loop& loop_;
  std::string name_;
  std::shared_ptr<const Methods> methods_;
  Task closed_;
  std::shared_ptr<Http2> http2_;
  std::map<std::int32_t, Exchange> exchanges_;
  std::vector<std::int32_t> asked_;                 // whole requests that nobody has served yet
  std::vector<std::shared_ptr<OneStream>> ending_;  // over, and not told yet
};

}  // namespace partita::net::rpc
