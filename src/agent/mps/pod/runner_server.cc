#include "agent/mps/pod/runner_server.h"

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <utility>

#include "agent/mps/child_runner.h"
#include "agent/mps/control.h"
#include "agent/mps/domain_files.h"
#include "agent/mps/known_process.h"
#include "agent/mps/pod/domain_place.h"
#include "agent/mps/pod/requests.h"
#include "base/files.h"
#include "hw/nvml/quiet_thread.h"

namespace partita::agent::mps::pod {
namespace {

using base::ErrorCode;
using base::LogKey;
using base::Result;
using base::UniqueFd;
using base::Value;

constexpr mode_t kRunDirectoryMode = 0755;
constexpr std::chrono::seconds kBetweenLooks{30};

// Started, and seen to be the program that it is to be.
Result<std::pair<model::Pid, UniqueFd>> StartHere(const std::string& program,
                                                  const Launch& launch,
                                                  const std::atomic<bool>& stop) {
  TRY(pid, ChildRunner(program).Start(launch, stop));
  Result<UniqueFd> process = OpenProgram(pid, kControlProgram);
  if (process.ok()) return std::pair(pid, *std::move(process));
  // A child's number is its own until it was waited for.
  kill(static_cast<pid_t>(pid.value()), SIGKILL);
  (void)waitpid(static_cast<pid_t>(pid.value()), nullptr, 0);
  return std::move(process).error();
}

}  // namespace

struct RunnerServer::Command {
  std::shared_ptr<control::Call> call;
  std::atomic<bool> stop = false;
  std::thread thread;
};

struct RunnerServer::Daemon {
  UniqueFd process;
  std::unique_ptr<net::Watch> end;
};

RunnerServer::RunnerServer(net::Loop& loop, base::Log& log, RunnerOptions options)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      server_(loop, log, "the MPS runner"),
      look_(loop.NewTimer("mps-socket")) {
  using Reader = Result<Work> (RunnerServer::*)(const Value&) const;
  const auto serve = [this](std::string_view name, Reader read) {
    server_.Register(std::string(name), [this, read](const std::shared_ptr<control::Call>& call) {
      Serve(call, (this->*read)(call->params()));
    });
  };
  server_.Register(std::string(kStart), [this](const std::shared_ptr<control::Call>& call) {
    Serve(call, StartWork(call->params()));
  });
  serve(kAsk, &RunnerServer::AskWork);
  serve(kMount, &RunnerServer::MountWork);
  serve(kUnmount, &RunnerServer::UnmountWork);
}

RunnerServer::~RunnerServer() {
  server_.Stop();
  for (Command& command : commands_) command.stop = true;
  for (Command& command : commands_) command.thread.join();
}

Result<void> RunnerServer::Listen() {
  const std::string directory = options_.socket.substr(0, options_.socket.rfind('/'));
  TRY_VOID(base::MakeDirectories(directory, kRunDirectoryMode));
  TRY_VOID(server_.Listen(options_.socket));
  look_->Every(kBetweenLooks, [this] {
    if (!server_.Lost()) return;
    if (const Result<void> again = Listen(); !again.ok()) {
      log_.Error("the socket was lost, and there is no other", base::ErrorFields(again.error()));
    }
  });
  return {};
}

void RunnerServer::Serve(const std::shared_ptr<control::Call>& call, Result<Work> work) {
  if (!work.ok()) {
    log_.Warn("refused", {{LogKey::kMethod, call->method()},
                          {LogKey::kPid, static_cast<std::int64_t>(call->peer().pid)},
                          {LogKey::kError, work.error().ToString()}});
    return call->Finish(std::move(work).error());
  }
  if (commands_.size() >= kMostCommands) {
    return call->Finish(base::MakeError(ErrorCode::kBusy,
                                        "{} commands to MPS control daemons run already",
                                        kMostCommands)
                            .WithHint("they end by themselves after 15 s: try again"));
  }
  commands_.emplace_back();
  const auto command = std::prev(commands_.end());
  command->call = call;
  Result<std::thread> thread = hw::nvml::TryQuietThread(
      "mps-command",
      [this, command, alive = std::weak_ptr<bool>(alive_), &loop = loop_, work = *std::move(work)] {
        auto result = std::make_shared<Result<Value>>(work(command->stop));
        loop.Post([this, command, alive, result] {
          if (!alive.expired()) Done(command, std::move(*result));
        });
      });
  if (!thread.ok()) {
    commands_.erase(command);
    return call->Finish(std::move(thread).error());
  }
  command->thread = *std::move(thread);
  call->OnGone([command] { command->stop = true; });
}

void RunnerServer::Done(std::list<Command>::iterator command, Result<Value> result) {
  command->thread.join();
  const std::shared_ptr<control::Call> call = std::move(command->call);
  commands_.erase(command);
  call->Finish(std::move(result));
}

Result<RunnerServer::Work> RunnerServer::StartWork(const Value& params) {
  TRY(launch, ReadLaunch(params, options_.root));
  return Work([this, launch = std::move(launch), alive = std::weak_ptr<bool>(alive_)](
                  const std::atomic<bool>& stop) -> Result<Value> {
    TRY(program, options_.find_program());
    TRY(place, DomainPlace::Open(options_.root, launch.domain));
    Launch here = launch;
    here.output = place.log_file();
    TRY(started, StartHere(program, here, stop));
    const std::int64_t pid = started.first.value();
    auto process = std::make_shared<UniqueFd>(std::move(started.second));
    loop_.Post([this, alive, process, pid, domain = launch.domain] {
      if (alive.expired()) return;
      log_.Info("MPS control daemon started", {{LogKey::kStep, domain}, {LogKey::kPid, pid}});
      Keep(std::move(*process));
    });
    return Value::Map().Set("pid", pid);
  });
}

// Until its end, which nobody else waits for.
void RunnerServer::Keep(UniqueFd process) {
  daemons_.push_back({std::move(process), nullptr});
  const auto daemon = std::prev(daemons_.end());
  daemon->end = loop_.NewWatch("mps-daemon", daemon->process.get());
  daemon->end->OnReadable([this, daemon] {
    Reap(daemon->process.get());
    daemon->end.reset();
    daemons_.erase(daemon);
  });
}

Result<RunnerServer::Work> RunnerServer::AskWork(const Value& params) const {
  TRY(question, ReadQuestion(params, options_.root));
  return Work(
      [this, question = std::move(question)](const std::atomic<bool>& stop) -> Result<Value> {
        TRY(program, options_.find_program());
        TRY(place, DomainPlace::Open(options_.root, question.domain));
        const Control control(program, service::mps::DirectoriesOf(options_.root, question.domain),
                              &stop);
        TRY(answer, control.Ask(question.command));
        return Value::Map().Set("answer", std::move(answer));
      });
}

Result<RunnerServer::Work> RunnerServer::MountWork(const Value& params) const {
  TRY(domain, ReadShm(params, options_.root));
  return Work([this, domain = std::move(domain)](const std::atomic<bool>&) -> Result<Value> {
    TRY(place, DomainPlace::Open(options_.root, domain));
    TRY_VOID(MountShm(place.shm()), "the shm of {}", place.name());
    return Value::Map();
  });
}

Result<RunnerServer::Work> RunnerServer::UnmountWork(const Value& params) const {
  TRY(domain, ReadShm(params, options_.root));
  return Work([this, domain = std::move(domain)](const std::atomic<bool>&) -> Result<Value> {
    TRY(place, DomainPlace::Open(options_.root, domain));
    UnmountShm(place.shm());
    return Value::Map();
  });
}

}  // namespace partita::agent::mps::pod
