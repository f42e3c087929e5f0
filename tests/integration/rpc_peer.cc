// Our gRPC server, or channel, as a program for rpc.py, whose peer is Python's gRPC.
//   partita_rpc_peer serve SOCKET     says "listening"; SIGTERM ends it
//   partita_rpc_peer call SOCKET      a line of stdin, "NUMBER METHOD MILLISECONDS HEX", is a call;
//   a line of stdout,
//                                     "NUMBER ok HEX" or "NUMBER CODE HEX", its end
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "net/loop.h"
#include "net/rpc/channel.h"
#include "net/rpc/server.h"

namespace {

using namespace partita;
using base::ErrorCode;
using net::rpc::Stream;

std::string Hex(std::string_view text) {
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::string FromHex(std::string_view hex) {
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    text += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return text;
}

void Say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

// The methods of one service, and what they remember.
class Service {
 public:
  explicit Service(net::rpc::Server& server) {
    server.OnCall("/t.T/Echo", [](const auto& call) { call->Finish(call->request()); });
    server.OnCall("/t.T/Never", [this](const auto& call) { never_.push_back(call); });
    server.OnCall("/t.T/Fail", [](const auto& call) {
      call->Finish(base::Error(ErrorCode::kConflict, call->request()).WithHint("a hint"));
    });
    server.OnCall("/t.T/Large", [](const auto& call) {
      call->Finish(std::string(std::stoul(call->request()), 'x'));
    });
    // To all streams; answers how many there are.
    server.OnCall("/t.T/Publish", [this](const auto& call) {
      for (const auto& stream : streams_) stream->Publish(call->request());
      call->Finish(std::to_string(streams_.size()));
    });
    server.OnCall("/t.T/Finish", [this](const auto& call) {
      const auto all = streams_;
      for (const auto& stream : all)
        stream->Finish({net::rpc::StatusCode::kAborted, call->request()});
      call->Finish(std::string());
    });
    // Answered when the next stream closes, or at once where one has closed since the last.
    server.OnCall("/t.T/AwaitClosed", [this](const auto& call) {
      awaiting_.push_back(call);
      TellClosed();
    });
    server.OnStream("/t.T/Watch", [this](const std::shared_ptr<Stream>& stream) {
      streams_.push_back(stream);
      stream->OnClosed([this, raw = stream.get()] {
        std::erase_if(streams_, [&](const auto& each) { return each.get() == raw; });
        ++closed_;
        TellClosed();
      });
      stream->Publish("first: " + stream->request());
    });
  }

 private:
  void TellClosed() {
    for (; closed_ > 0 && !awaiting_.empty(); --closed_) {
      awaiting_.front()->Finish(std::string("closed"));
      awaiting_.erase(awaiting_.begin());
    }
  }

  std::vector<std::shared_ptr<net::rpc::Call>> never_, awaiting_;
  std::vector<std::shared_ptr<Stream>> streams_;
  int closed_ = 0;
};

int Serve(const std::string& path) {
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  const auto stop = loop->OnSignals({SIGTERM}, [&](int) { loop->Stop(); });
  net::rpc::Server server(*loop, "rpc");
  Service service(server);
  if (const auto listening = server.Listen(path); !listening.ok()) {
    std::fputs((listening.error().ToString() + "\n").c_str(), stderr);
    return 1;
  }
  Say("listening");
  loop->Run();
  server.Stop();
  return 0;
}

int CallAll(const std::string& path) {
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  net::rpc::Channel channel(*loop, "rpc", path);
  const auto watch = loop->NewWatch("stdin", STDIN_FILENO);
  std::string input;
  const auto begin = [&](const std::string& line) {
    std::istringstream words(line);
    std::string number, method, hex;
    int milliseconds = 0;
    words >> number >> method >> milliseconds >> hex;
    channel.Call(method, FromHex(hex), std::chrono::milliseconds(milliseconds),
                 [number](const base::Result<std::string>& answer) {
                   Say(answer.ok()
                           ? fmt::format("{} ok {}", number, Hex(*answer))
                           : fmt::format("{} {} {}", number, ToString(answer.error().code()),
                                         Hex(answer.error().ToString())));
                 });
  };
  watch->OnReadable([&] {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count <= 0) return loop->Stop();
    input.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = input.find('\n')) != std::string::npos;) {
      begin(input.substr(0, end));
      input.erase(0, end + 1);
    }
  });
  loop->Run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "serve") return Serve(words[1]);
  if (words.size() == 2 && words[0] == "call") return CallAll(words[1]);
  std::fputs("usage: partita_rpc_peer serve|call SOCKET\n", stderr);
  return 2;
}
