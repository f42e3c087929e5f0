// Any bytes as what a peer sends to a gRPC server, at once or in small pieces (the first byte says
// which, and whether the bytes come after a good greeting): whatever it was, all is closed and told
// when the peer is gone.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fuzz/target.h"
#include "net/rpc/server_connection.h"
#include "net/testing/fake_loop.h"

namespace {

using namespace partita;
using namespace std::string_literals;

const std::string kGreeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"s;

struct Served {
  net::testing::FakeLoop loop;
  std::vector<std::shared_ptr<net::rpc::Call>> kept;
  int streams = 0;
  bool closed = false;
};

std::shared_ptr<net::rpc::Methods> MethodsOf(Served& node) {
  auto methods = std::make_shared<net::rpc::Methods>();
  methods->calls["/t.T/Echo"] = [](const auto& call) { call->Finish(call->request()); };
  methods->calls["/t.T/Keep"] = [&node](const auto& call) { node.kept.push_back(call); };
  methods->streams["/t.T/Watch"] = [&node](const auto& stream) {
    ++node.streams;
    stream->OnClosed([&node] { --node.streams; });
    stream->Publish("first");
    stream->Publish(stream->request());
  };
  return methods;
}

// What the server says is thrown away, so that it can go on.
void Drain(const base::UniqueFd& peer) {
  std::array<char, 65536> buffer;
  while (recv(peer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) continue;
}

}  // namespace

FUZZ_TARGET(rpc_connection) {
  if (size == 0) return 0;
  const bool greets = (data[0] & 1U) != 0, slowly = (data[0] & 2U) != 0;
  std::string bytes = greets ? kGreeting : "";
  bytes += fuzz::AsText(data + 1, size - 1);

  Served node;
  std::array<int, 2> ends{};
  PARTITA_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) ==
                0);
  base::UniqueFd peer(ends[0]);
  auto connection = net::rpc::ServerConnection::Make(
      node.loop, "fuzz", base::UniqueFd(ends[1]), MethodsOf(node), [&node] { node.closed = true; });
  connection->Start();
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::size_t piece = std::min<std::size_t>(rest.size(), slowly ? 5 : 50000);
    const ssize_t sent = send(peer.get(), rest.data(), piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) break;
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    node.loop.RunUntilIdle();
    if (!slowly) Drain(peer);
  }
  for (const auto& call : node.kept) call->Finish(std::string("late"));
  node.loop.Advance(std::chrono::seconds(20));
  Drain(peer);
  peer.Reset();
  node.loop.RunUntilIdle();
  PARTITA_CHECK(node.closed && node.streams == 0);
  return 0;
}
