#include "cli/mig/change_place.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "agent/ledger/kept_guards.h"
#include "base/files.h"
#include "base/lock_file.h"
#include "base/state_file.h"
#include "cli/mig/change.h"
#include "cli/status/node_source.h"
#include "service/mig/change_wire.h"
#include "service/mig/lock.h"

namespace partita::cli {
namespace {

using agent::control::CallOptions;
using agent::control::Client;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using service::mig::BootEnd;
using service::mig::ChangeEnd;
using service::mig::ChangeStatus;
using service::mig::RemoteOrder;
using service::mig::TellNews;

// Of an agent that is asked to stop a change, which it can do at once.
constexpr const char* kRootAlone = "only root changes what GPUs are divided into";
constexpr std::chrono::seconds kPatience{5};
// An order that the agent has not read yet cannot be stopped: it is tried again.
constexpr std::chrono::milliseconds kBetweenStops{50};

ChangeEnd Failed(Error error, ChangeStatus status) {
  ChangeEnd end;
  end.status = status;
  end.error = std::move(error);
  return end;
}

ChangeEnd Failed(const Error& error) { return Failed(error, service::mig::StatusOf(error)); }

// As others would have to name it.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return path.empty() || path == "-" || error ? path : absolute.string();
}

Error OtherVersion(const Error& error) {
  return Error(ErrorCode::kUnsupported, "nothing was changed: " + error.ToString())
      .WithHint(
          "the agent that runs here is of another version: restart it (systemctl restart "
          "partita-agent), then try again");
}

Error EndUnknown(const Error& error) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("how the change ended is not known: {}", error.ToString()))
      .WithHint(
          "`partita mig show` tells what is there now, `journalctl -u partita-agent` what the "
          "agent did; the same command again goes on from there");
}

// An agent that runs and whose socket somebody removed: a change beside it would pass its ledger
// by.
Result<void> CheckNobodyRuns(const Error& unreachable) {
  const std::string path = base::JoinPath(service::mig::RunDirectory(), "agent.lock");
  if (!base::Exists(path)) return {};
  Result<base::LockFile> lock = base::LockFile::Open(path);
  // Whoever may not open it may not change anything either, and is told so by what he tries.
  if (!lock.ok()) return {};
  TRY(ours, lock->Try("partita mig"));
  if (ours) return {};
  return Error(ErrorCode::kBusy, fmt::format("an agent runs here, {}, and cannot be asked: {}",
                                             lock->Holder(), unreachable.ToString()))
      .WithHint("restart it: systemctl restart partita-agent");
}

// Nothing: no agent runs here.
Result<std::optional<Client>> Reach() {
  Result<Client> client = Client::Connect();
  if (client.ok()) {
    // One that is stopped or stuck would be waited for as long as a change may take.
    const Result<Value> state = client->Call("agent.state", Value::Map(), {.patience = kPatience});
    if (state.ok()) return std::optional(*std::move(client));
    return state.error().code() == ErrorCode::kUnsupported ? OtherVersion(state.error())
                                                           : state.error();
  }
  const ErrorCode code = client.error().code();
  if (code == ErrorCode::kUnavailable) {
    TRY_VOID(CheckNobodyRuns(client.error()));
    return std::optional<Client>();
  }
  if (code != ErrorCode::kDenied) return std::move(client).error();
  return std::move(client).error().WithHint(kRootAlone);
}

// One question to the agent that a signal ends: it is told so, and its answer awaited.
class AgentQuestion {
 public:
  AgentQuestion(Client& client, const TellNews& tell)
      : client_(client),
        ticket_(fmt::format(
            "{}-{}", getpid(), std::chrono::steady_clock::now().time_since_epoch().count())) {
    options_.stop = &StopFlag();
    options_.progress = [tell](const Value& value) {
      const auto news = service::mig::NewsFromWire(value);
      // Of what is only told nothing depends.
      if (news.ok()) tell(*news);
    };
  }

  Result<Value> Ask(const std::string& method, Value params) {
    params.Set("ticket", ticket_);
    Result<Value> answer = client_.Call(method, params, options_);
    while (!answer.ok() && answer.error().code() == ErrorCode::kTimeout &&
           StopFlag().exchange(false)) {
      stopped_ = true;
      answer = StopAndAwait();
    }
    return answer;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  // Told again until the agent knows the question, or has answered it.
  Result<Value> StopAndAwait() {
    for (;;) {
      const Result<bool> told = Tell();
      // Too many ask it at present: it is told later.
      const bool full = !told.ok() && told.error().code() == ErrorCode::kBusy;
      if (!told.ok() && !full && told.error().code() != ErrorCode::kUnavailable)
        return told.error();
      if (!full && (!told.ok() || *told)) return client_.Await(options_);
      CallOptions soon = options_;
      soon.stop = nullptr;
      soon.patience = kBetweenStops;
      Result<Value> answer = client_.Await(soon);
      if (answer.ok() || answer.error().code() != ErrorCode::kTimeout) return answer;
    }
  }

  Result<bool> Tell() {
    TRY(second, Client::Connect());
    TRY(answer,
        second.Call("mig.stop", Value::Map().Set("ticket", ticket_), {.patience = kPatience}));
    const Value* stopped = answer.Find("stopped");
    return stopped != nullptr && *stopped == Value(true);
  }

  Client& client_;
  std::string ticket_;
  CallOptions options_;
  bool stopped_ = false;
};

// Why it was not carried out, or nobody knows whether it was.
Error Told(const Error& error) {
  if (error.code() == ErrorCode::kUnsupported) return OtherVersion(error);
  const bool gone = error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kTimeout;
  return gone ? EndUnknown(error) : error;
}

// What is agreed to, or the end where nothing is.
Result<std::optional<ChangeEnd>> AgreeOn(Client& client,
                                         const ChangePlace::Agree& agree,
                                         const TellNews& tell,
                                         RemoteOrder& order) {
  AgentQuestion question(client, tell);
  const Result<Value> answer =
      question.Ask("mig.look", Value::Map().Set("command", order.command).Set("wait", order.wait));
  // What ended the look shall end the change.
  if (question.stopped()) StopFlag().store(true);
  if (!answer.ok() && answer.error().code() == ErrorCode::kUnsupported)
    return OtherVersion(answer.error());
  if (!answer.ok()) return answer.error();
  Result<service::mig::PlanLook> look = service::mig::PlanLookFromWire(*answer);
  if (!look.ok()) return OtherVersion(look.error());
  order.must_agree = true;
  // Without a driver there is no plan, and the agent says what can be done then.
  if (!look->node.driver) return std::optional<ChangeEnd>();
  service::mig::Agreement agreement = agree(look->node, look->pinned);
  order.agreed = std::move(agreement.steps);
  if (agreement.agreed) return std::optional<ChangeEnd>();
  ChangeEnd end;
  end.status = ChangeStatus::kUndecided;
  end.report.emplace();
  end.report->outdated = true;
  end.report->after = std::move(look->node);
  return std::optional(std::move(end));
}

ChangeEnd RunInAgent(Client& client,
                     RemoteOrder order,
                     const ChangePlace::Agree& agree,
                     const TellNews& tell) {
  if (order.selection) {
    order.selection->config_file = Absolute(order.selection->config_file);
    order.selection->hooks_file = Absolute(order.selection->hooks_file);
  }
  if (agree) {
    Result<std::optional<ChangeEnd>> undecided = AgreeOn(client, agree, tell, order);
    if (!undecided.ok()) return Failed(undecided.error());
    if (*undecided) return **std::move(undecided);
  }
  const Result<Value> answer =
      AgentQuestion(client, tell)
          .Ask("mig.change", Value::Map().Set("order", service::mig::ToWire(order)));
  if (!answer.ok()) return Failed(Told(answer.error()));
  Result<ChangeEnd> end = service::mig::ChangeEndFromWire(*answer);
  if (!end.ok()) return Failed(EndUnknown(end.error()));
  return *std::move(end);
}

BootEnd BootFailed(const Error& error) {
  std::string line = error.ToString();
  if (!error.hint().empty()) line += fmt::format(" ({})", error.hint());
  return {std::move(line), service::mig::StatusOf(error)};
}

BootEnd BootInAgent(Client& client, service::mig::BootChoice choice, const TellNews& tell) {
  for (std::string* path :
       {&choice.config_file, &choice.config_dir, &choice.hooks_file, &choice.gpu_clients_file}) {
    *path = Absolute(*path);
  }
  const Result<Value> answer =
      AgentQuestion(client, tell)
          .Ask("mig.boot", Value::Map().Set("choice", service::mig::ToWire(choice)));
  if (!answer.ok()) return BootFailed(Told(answer.error()));
  Result<BootEnd> end = service::mig::BootEndFromWire(*answer);
  if (!end.ok()) return BootFailed(EndUnknown(end.error()));
  return *std::move(end);
}

}  // namespace

Result<model::PinnedParts> AskPinned(const service::inventory::ReaderOptions& reader,
                                     const model::Inventory& node) {
  if (!MayAskAgent(reader)) return model::PinnedParts();
  Result<Client> client = Client::Connect();
  if (!client.ok()) {
    const ErrorCode code = client.error().code();
    if (code == ErrorCode::kDenied) return model::PinnedParts();
    if (code != ErrorCode::kUnavailable) return std::move(client).error();
    Result<service::mig::ChangeGuards> guards = agent::KeptGuards(base::StateDirectory());
    if (!guards.ok() && guards.error().code() != ErrorCode::kDenied)
      return std::move(guards).error();
    return guards.ok() && guards->pinned ? guards->pinned(node) : model::PinnedParts();
  }
  TRY(answer, client->Call("mig.pinned", Value::Map(), {.patience = kPatience}));
  TRY(look, service::mig::PlanLookFromWire(answer));
  return std::move(look.pinned);
}

// Those of this machine's agent, which does not run.
Result<service::mig::ChangeGuards> ChangePlace::Guards() const {
  if (!MayAskAgent(reader_)) return service::mig::ChangeGuards();
  Result<service::mig::ChangeGuards> guards = agent::KeptGuards(base::StateDirectory());
  if (!guards.ok() && guards.error().code() == ErrorCode::kDenied)
    return std::move(guards).error().WithHint(kRootAlone);
  return guards;
}

ChangeEnd ChangePlace::RunHere(const RemoteOrder& order, const Agree& agree, const TellNews& tell) {
  Result<service::mig::ChangeOrder> made = service::mig::MakeOrder(order, tell, &StopFlag());
  if (!made.ok()) return Failed(made.error(), ChangeStatus::kInvalid);
  if (agree) made->agree = agree;
  Result<service::mig::ChangeGuards> guards = Guards();
  if (!guards.ok()) return Failed(guards.error(), ChangeStatus::kFailed);
  made->guards = *std::move(guards);
  if (!procedure_) procedure_ = std::make_unique<service::mig::ChangeProcedure>(reader_);
  return procedure_->Run(*made);
}

ChangeEnd ChangePlace::Run(const RemoteOrder& order, const Agree& agree, const TellNews& tell) {
  if (!MayAskAgent(reader_)) return RunHere(order, agree, tell);
  Result<std::optional<Client>> agent = Reach();
  if (!agent.ok()) return Failed(agent.error(), ChangeStatus::kFailed);
  if (!*agent) return RunHere(order, agree, tell);
  return RunInAgent(**agent, order, agree, tell);
}

BootEnd ChangePlace::Boot(const service::mig::BootChoice& choice, const TellNews& tell) {
  if (MayAskAgent(reader_)) {
    Result<std::optional<Client>> agent = Reach();
    if (!agent.ok()) return BootFailed(agent.error());
    if (*agent) return BootInAgent(**agent, choice, tell);
  }
  Result<service::mig::ChangeGuards> guards = Guards();
  if (!guards.ok()) return BootFailed(guards.error());
  service::mig::BootOptions boot;
  boot.guards = *std::move(guards);
  boot.choice = choice;
  boot.reader = reader_;
  boot.stop = &StopFlag();
  boot.say = [&](const std::string& line) { tell({service::mig::NewsKind::kLine, line}); };
  boot.hook_wrote = [&](const std::string& text) {
    tell({service::mig::NewsKind::kHookWrote, text});
  };
  return service::mig::BringMigBack(boot);
}

void ChangePlace::Release() {
  if (procedure_) procedure_->Release();
}

}  // namespace partita::cli
