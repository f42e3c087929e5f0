#include "agent/mps/pod/pod_runner.h"

#include <chrono>
#include <utility>

#include "agent/control/control_client.h"
#include "agent/mps/pod/requests.h"

namespace partita::agent::mps::pod {
namespace {

using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::chrono::seconds kToConnect{1};

// What goes wrong with the runner itself says nothing of a daemon: kTimeout and kUnavailable are
// only what the runner was told by one, or by nobody.
constexpr control::Words kRunnerWords{
    .who = "the MPS runner",
    .to_look = "the log of its pod says what it does; to delete that pod ends its daemons",
    .when_gone = "the log of its pod says why; it is tried again",
    .silent = ErrorCode::kIo,
    .gone = ErrorCode::kIo};

Result<control::Client> ConnectRunner(const std::string& socket) {
  Result<control::Client> client = control::Client::Connect(socket, kToConnect, kRunnerWords);
  if (client.ok()) return client;
  if (client.error().code() != ErrorCode::kUnavailable) {
    return std::move(client).error().As(ErrorCode::kIo);
  }
  // This is what the shares are unhealthy for: it stands there without hints.
  return base::MakeError(ErrorCode::kIo,
                         "no MPS runner answers at {}: see to its pod, which the chart has with "
                         "mps.enabled=true, or start `partita mps-runner`",
                         socket);
}

base::Error NoAnswer(std::string_view method) {
  return base::MakeError(ErrorCode::kInternal, "the MPS runner's answer to {} is none", method)
      .WithHint("it is of another version: delete its pod, which ends its daemons");
}

}  // namespace

PodRunner::PodRunner(std::string socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)), patience_(patience) {}

Result<Value> PodRunner::AskRunner(std::string_view method,
                                   const Value& params,
                                   const std::atomic<bool>* stop) const {
  TRY(client, ConnectRunner(socket_));
  return client.Call(std::string(method), params,
                     {.patience = patience_, .progress = nullptr, .stop = stop});
}

Result<model::Pid> PodRunner::Start(const Launch& launch, const std::atomic<bool>& stop) {
  TRY(answer, AskRunner(kStart, ToParams(launch), &stop));
  const Value* pid = answer.Find("pid");
  const bool number = pid != nullptr && (pid->kind() == Value::Kind::kInteger ||
                                         pid->kind() == Value::Kind::kUnsigned);
  if (!number) return NoAnswer(kStart);
  return model::Pid(pid->kind() == Value::Kind::kInteger
                        ? pid->AsInteger()
                        : static_cast<std::int64_t>(pid->AsUnsigned()));
}

Result<std::string> PodRunner::Ask(const service::mps::Directories& directories,
                                   std::string_view command,
                                   const std::atomic<bool>* stop) const {
  TRY(answer, AskRunner(kAsk, ToParams(directories, command), stop));
  const Value* said = answer.Find("answer");
  if (said == nullptr || said->kind() != Value::Kind::kString) return NoAnswer(kAsk);
  return said->AsString();
}

Result<void> PodRunner::MountShm(const std::string& path) {
  TRY(done, AskRunner(kMount, ShmParams(path), &abandoned_));
  return {};
}

void PodRunner::UnmountShm(const std::string& path) {
  // One that stays is taken again by the next daemon of that domain.
  (void)AskRunner(kUnmount, ShmParams(path), &abandoned_);
}

Result<void> PodRunner::Reachable() const {
  TRY(client, ConnectRunner(socket_));
  return {};
}

}  // namespace partita::agent::mps::pod
