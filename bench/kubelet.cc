// Starts a device plugin as kubelet would meet it, and says how long it takes to register, to
// allocate and to prefer, and what memory and processor it costs.
//
// bench-kubelet CALLS LIMIT REST SIZES IDS -- COMMAND…
// SIZES and IDS have commas between; a word @FILE for IDS has them in that file. So many calls of
// each kind are made, or as many as begin within LIMIT seconds. A call that takes longer than that
// is given up and the last: what it was to measure has "more" than the limit, and what comes after
// it is absent, since the plugin may be at work on it for ever. Then it is left at rest for REST
// seconds. Prints one line of JSON; times in microseconds. To be run in a mount namespace whose
// /var/lib/kubelet/device-plugins is nobody else's.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "net/loop.h"
#include "net/rpc/channel.h"
#include "net/rpc/server.h"
#include "net/rpc/wire.h"
#include "service/device_plugin/messages.h"

namespace {

using namespace partita;  // NOLINT: a program, not a header
using Clock = std::chrono::steady_clock;
using Times = std::vector<double>;
using std::chrono::seconds;

constexpr const char* kDirectory = "/var/lib/kubelet/device-plugins";

double Since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

// In KiB: all of it, and what the driver's library has of it.
std::pair<long, long> PssOf(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/smaps", pid));
  long all = 0, library = 0;
  bool of_library = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') != std::string::npos && line.find(" r") != std::string::npos)
      of_library = line.find("libnvidia-ml") != std::string::npos;
    if (!line.starts_with("Pss:")) continue;
    const long kib = std::atol(line.c_str() + 4);
    all += kib;
    if (of_library) library += kib;
  }
  return {all, library};
}

// In microseconds, of all its threads that live.
long ProcessorTimeOf(pid_t pid) {
  long nanoseconds = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(task.path() / "schedstat");
    long ran = 0;
    file >> ran;
    nanoseconds += ran;
  }
  return nanoseconds / 1000;
}

std::string Summary(Times times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(part * static_cast<double>(times.size())))];
  };
  return fmt::format(R"({{"p50": {:.1f}, "p99": {:.1f}}})", at(0.5), at(0.99));
}

std::string PreferRequest(const std::vector<std::string>& ids, std::uint64_t size) {
  net::rpc::WireWriter container;
  for (const std::string& id : ids) container.Element(1, id);
  return net::rpc::WireWriter().Message(1, container.Number(3, size).Take()).Take();
}

class Bench {
 public:
  Bench(std::size_t calls,
        seconds limit,
        seconds rest,
        std::vector<std::string> sizes,
        std::vector<std::string> ids)
      : calls_(calls), limit_(limit), rest_(rest), sizes_(std::move(sizes)), ids_(std::move(ids)) {}

  int Run(char** command) {
    std::filesystem::create_directories(kDirectory);
    server_.OnCall(std::string(service::device_plugin::kRegister),
                   [this](const std::shared_ptr<net::rpc::Call>& call) { Registering(call); });
    const auto listens = server_.Listen(fmt::format("{}/kubelet.sock", kDirectory));
    if (!listens.ok()) return Fail(listens.error().ToString());
    end_->After(seconds(60) + rest_ + limit_ * (2 + static_cast<int>(sizes_.size())), [this] {
      Fail("not done in time");
      loop_->Stop();
    });
    begin_ = Clock::now();
    pid_ = fork();
    if (pid_ == 0) {
      execvp(command[0], command);
      _exit(127);
    }
    loop_->Run();
    kill(pid_, given_up_.empty() ? SIGTERM : SIGKILL);
    waitpid(pid_, nullptr, 0);
    return failed_ ? EXIT_FAILURE : EXIT_SUCCESS;
  }

 private:
  int Fail(const std::string& why) {
    failed_ = true;
    fmt::print(stderr, "bench-kubelet: {}\n", why);
    return EXIT_FAILURE;
  }

  // kubelet asks the plugin back before it answers.
  void Registering(const std::shared_ptr<net::rpc::Call>& call) {
    std::string endpoint;
    net::rpc::WireReader reader(call->request());
    for (auto field = reader.Next(); field.ok() && *field; field = reader.Next())
      if ((*field)->number == 2) endpoint = (*field)->bytes;
    if (plugin_) return call->Finish(std::string());
    plugin_ = std::make_unique<net::rpc::Channel>(*loop_, "plugin",
                                                  fmt::format("{}/{}", kDirectory, endpoint));
    plugin_->Call(std::string(service::device_plugin::kGetOptions), "", seconds(10),
                  [this, call](const base::Result<std::string>&) {
                    call->Finish(std::string());
                    registered_ = Since(begin_);
                    // What a plugin does beside its registration is not part of the next figures.
                    settled_->After(seconds(2), [this] { NextKind(); });
                  });
  }

  // Kind 0 is Allocate, the others are preferences by size.
  [[nodiscard]] std::string Name() const {
    return kind_ == 0 ? "allocate" : "prefer" + sizes_[kind_ - 1];
  }

  void NextKind() {
    if (kind_ > sizes_.size()) return Rest();
    kind_begin_ = Clock::now();
    Next();
  }

  void Next() {
    Times& times = times_[Name()];
    if (times.size() == calls_ || (!times.empty() && Clock::now() - kind_begin_ > limit_)) {
      ++kind_;
      return NextKind();
    }
    std::string method(service::device_plugin::kAllocate), message;
    if (kind_ == 0) {
      const std::string& id = ids_[times.size() % ids_.size()];
      message =
          net::rpc::WireWriter().Message(1, net::rpc::WireWriter().Element(1, id).Take()).Take();
    } else {
      method = service::device_plugin::kPrefer;
      message = PreferRequest(ids_, std::stoul(sizes_[kind_ - 1]));
    }
    const Clock::time_point asked = Clock::now();
    plugin_->Call(method, message, limit_, [this, asked](const base::Result<std::string>& answer) {
      Answered(answer, asked);
    });
  }

  void Answered(const base::Result<std::string>& answer, Clock::time_point asked) {
    if (answer.ok()) {
      times_[Name()].push_back(Since(asked));
      return Next();
    }
    if (Clock::now() - asked >= limit_) {
      times_.erase(Name());
      given_up_ = Name();
      return Print(0);
    }
    Fail(answer.error().ToString());
    loop_->Stop();
  }

  void Rest() {
    const long before = ProcessorTimeOf(pid_);
    settled_->After(rest_, [this, before] {
      Print(rest_.count() == 0 ? 0 : (ProcessorTimeOf(pid_) - before) / rest_.count());
    });
  }

  void Print(long at_rest) {
    const auto [all, library] = PssOf(pid_);
    std::string line =
        fmt::format(R"({{"registered": {:.0f}, "pss": {}, "library": {}, "rest": {})", registered_,
                    all, library, at_rest);
    for (const auto& [name, times] : times_)
      line += fmt::format(R"(, "{}": {})", name, Summary(times));
    if (!given_up_.empty())
      line += fmt::format(R"(, "{}": {{"more": {}}})", given_up_, limit_.count());
    fmt::print("{}}}\n", line);
    loop_->Stop();
  }

  const std::size_t calls_;
  const seconds limit_, rest_;
  const std::vector<std::string> sizes_, ids_;
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  net::rpc::Server server_{*loop_, "kubelet"};
  std::unique_ptr<net::rpc::Channel> plugin_;
  std::unique_ptr<net::Timer> settled_ = loop_->NewTimer("settled");
  std::unique_ptr<net::Timer> end_ = loop_->NewTimer("end");
  Clock::time_point begin_;
  pid_t pid_ = 0;
  double registered_ = 0;
  std::size_t kind_ = 0;
  Clock::time_point kind_begin_;
  std::string given_up_;
  std::map<std::string, Times> times_;
  bool failed_ = false;
};

}  // namespace

int main(int count, char** words) {
  if (count < 8 || std::string(words[6]) != "--") {
    fmt::print(stderr, "usage: bench-kubelet CALLS LIMIT REST SIZES IDS -- COMMAND…\n");
    return 2;
  }
  std::string ids = words[5];
  if (ids.starts_with('@')) {
    std::ifstream file(ids.substr(1));
    std::getline(file, ids);
  }
  const auto number = [&](int word) { return std::strtol(words[word], nullptr, 10); };
  return Bench(static_cast<std::size_t>(number(1)), seconds(number(2)), seconds(number(3)),
               Split(words[4]), Split(ids))
      .Run(words + 7);
}
