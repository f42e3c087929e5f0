// Our HTTP client for http_client.py: asks what its words say, one after the other, over one
// client, and prints a line of JSON for each answer.
//
// Usage: partita_http_peer HOST PORT [--plain] [--ca FILE] [--name NAME] [--cert FILE --key FILE]
//        [--insecure] [--deadline MILLISECONDS] [--wait] (METHOD|STREAM) PATH …
// --wait: before each request but the first, a line is read from standard input.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "net/http/client.h"
#include "net/loop.h"

namespace {

using namespace partita;

std::string Read(const std::string& path) {
  auto text = base::ReadFile(path);
  PARTITA_CHECK(text.ok());
  return *text;
}

void Print(const base::Value& value) {
  std::printf("%s\n", base::ToJsonLine(value).c_str());
  std::fflush(stdout);
}

base::Value Document(const net::HttpClientAnswer& answer) {
  base::Value headers = base::Value::Map();
  for (const auto& [name, value] : answer.headers) headers.Set(name, value);
  return base::Value::Map()
      .Set("status", answer.status)
      .Set("body", answer.body)
      .Set("headers", headers);
}

base::Value Document(const base::Error& error) {
  return base::Value::Map()
      .Set("error", base::ToString(error.code()))
      .Set("text", error.ToString());
}

class Peer {
 public:
  explicit Peer(std::vector<std::string> words) : words_(std::move(words)) {
    target_.host = Take();
    target_.port = static_cast<std::uint16_t>(*base::ParseUnsigned(Take()));
    while (words_.front().starts_with("--")) ReadOption(Take());
    client_.SetTarget(target_);
  }

  void Run() {
    loop_->Post([this] { Next(); });
    loop_->Run();
  }

 private:
  std::string Take() {
    std::string word = words_.front();
    words_.erase(words_.begin());
    return word;
  }

  void ReadOption(const std::string& option) {
    if (option == "--plain") target_.tls = false;
    if (option == "--insecure") target_.insecure_skip_verify = true;
    if (option == "--wait") waits_ = true;
    if (option == "--ca") target_.ca_pem = Read(Take());
    if (option == "--name") target_.server_name = Take();
    if (option == "--cert") target_.client_cert_pem = Read(Take());
    if (option == "--key") target_.client_key_pem = Read(Take());
    if (option == "--deadline") deadline_ = std::chrono::milliseconds(*base::ParseUnsigned(Take()));
  }

  void Next() {
    if (words_.empty()) return loop_->Stop();
    std::string line;
    if (waits_ && !first_) std::getline(std::cin, line);
    first_ = false;
    const std::string method = Take(), path = Take();
    if (method == "STREAM") return Stream(path);
    net::HttpClientRequest request{.method = method, .path = path};
    if (method == "POST") request.body = std::string(std::size_t{1} << 20, 'x');
    client_.Ask(request, deadline_, [this](base::Result<net::HttpClientAnswer> answer) {
      Print(answer.ok() ? Document(*answer) : Document(answer.error()));
      Next();
    });
  }

  void Stream(const std::string& path) {
    net::HttpClient::StreamEvents events;
    events.begun = [](const net::HttpClientAnswer& answer) { Print(Document(answer)); };
    events.bytes = [](std::string_view bytes) { Print(base::Value::Map().Set("bytes", bytes)); };
    events.ended = [this](const base::Result<void>& how) {
      Print(how.ok() ? base::Value::Map().Set("ended", true) : Document(how.error()));
      loop_->Post([this] { Next(); });
    };
    stream_ = client_.Open({.method = "GET", .path = path}, deadline_, deadline_, events);
  }

  std::vector<std::string> words_;
  net::HttpTarget target_;
  net::Duration deadline_ = std::chrono::seconds(30);
  bool waits_ = false, first_ = true;
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  net::HttpClient client_{*loop_, "api"};
  std::unique_ptr<net::HttpClient::Stream> stream_;
};

}  // namespace

int main(int argc, char** argv) {
  Peer(std::vector<std::string>(argv + 1, argv + argc)).Run();
  return 0;
}
