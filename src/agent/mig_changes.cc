#include "agent/mig_changes.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "hw/nvml/quiet_thread.h"
#include "service/mig/change_wire.h"
#include "service/mig/lock.h"

namespace partita::agent {
namespace {

using base::Error;
using base::ErrorCode;
using base::LogKey;
using base::Result;
using base::Value;
using service::mig::ChangeEnd;
using service::mig::ChangeNews;
using service::mig::NewsKind;

// A member of the params, or an error that names it.
Result<const Value*> Param(const control::Call& call, const char* name) {
  const Value* value = call.params().Find(name);
  if (value != nullptr) return value;
  return base::MakeError(ErrorCode::kInvalid, "{}: {} is missing", call.method(), name);
}

std::string Text(const control::Call& call, const char* name) {
  const Value* value = call.params().Find(name);
  return value != nullptr && value->kind() == Value::Kind::kString ? value->AsString() : "";
}

bool Flag(const control::Call& call, const char* name) {
  const Value* value = call.params().Find(name);
  return value != nullptr && value->kind() == Value::Kind::kBool && value->AsBool();
}

std::string Who(const control::Call& call, const std::string& command) {
  return fmt::format("pid {} ({})", call.peer().pid, command);
}

Error Stopping() {
  return Error(ErrorCode::kBusy, "the agent is stopping: nothing was changed")
      .WithHint("try again when it is back");
}

Error Held(const std::string& holder, bool waited) {
  return service::mig::HeldError(
      holder, base::JoinPath(service::mig::RunDirectory(), "change.lock"), waited);
}

}  // namespace

// Its parts are of the loop's thread, but for `stop` and what `run` does.
struct MigChanges::Job {
  std::shared_ptr<control::Call> call;  // null: the agent's own
  std::string ticket;                   // by which it can be stopped
  std::string who;
  bool changes = true;
  bool gate_open = false;
  std::atomic<bool> stop = false;
  std::function<Result<Value>()> run;
  std::function<void(const Result<Value>&)> done;  // of the agent's own
  std::function<Value(const Error&)> refusal;      // empty: the call's error
};

// What the change's thread asks the loop; at the end nobody answers any more.
struct MigChanges::Asked {
  std::mutex mutex;
  std::condition_variable answered;
  bool closed = false;
};

MigChanges::MigChanges(net::Loop& loop, base::Log& log)
    : loop_(loop), log_(log), asked_(std::make_shared<Asked>()) {}

MigChanges::~MigChanges() {
  {
    const std::scoped_lock lock(asked_->mutex);
    asked_->closed = true;
    asked_->answered.notify_all();
  }
  if (running_) running_->stop = true;
  if (thread_.joinable()) thread_.join();
}

void MigChanges::Register(control::Server& server) {
  server.Register("mig.look", [this](const auto& call) { Look(call); });
  server.Register("mig.change", [this](const auto& call) { Change(call); });
  server.Register("mig.boot", [this](const auto& call) { Boot(call); });
  server.Register("mig.stop", [this](const auto& call) { StopOne(*call); });
}

void MigChanges::Start(Options options) {
  options_ = std::move(options);
  // Readings and links do not matter to a plan.
  options_.reader.readings = false;
  options_.reader.only_mig = true;
  started_ = true;
}

void MigChanges::Stop(net::Task stopped) {
  stopped_ = std::move(stopped);
  started_ = false;
  for (const JobPtr& job : std::exchange(waiting_, {})) Refuse(*job, Stopping());
  if (!running_) return stopped_();
  log_.Info("a change of MIG is ended first", {{LogKey::kCommand, running_->who}});
  running_->stop = true;
}

std::string MigChanges::running() const {
  return running_ && running_->changes ? running_->who : "";
}

// Called on the change's thread.
template <typename T>
std::optional<T> MigChanges::AskLoop(Question<T> question) {
  auto answer = std::make_shared<std::optional<T>>();
  loop_.Post([asked = asked_, answer, question = std::move(question)] {
    if (asked->closed) return;  // written on this thread only
    question([asked, answer](T value) {
      const std::scoped_lock lock(asked->mutex);
      *answer = std::move(value);
      asked->answered.notify_all();
    });
  });
  std::unique_lock lock(asked_->mutex);
  asked_->answered.wait(lock, [&] { return answer->has_value() || asked_->closed; });
  return std::move(*answer);
}

service::mig::ChangeGuards MigChanges::Guards(const JobPtr& job) {
  service::mig::ChangeGuards guards;
  if (options_.pinned) {
    guards.pinned = [this](const model::Inventory& node) {
      return AskLoop<model::PinnedParts>(
                 [this, node](const auto& answer) { answer(options_.pinned(node)); })
          .value_or(model::PinnedParts());
    };
  }
  if (options_.gate) {
    // The job has what asks: a pointer of its own would keep it for ever.
    guards.gate = [this, weak = std::weak_ptr(job)](
                      const model::Inventory& node,
                      const std::vector<service::mig::GpuSteps>& steps) -> Result<void> {
      std::optional<Result<void>> opened =
          AskLoop<Result<void>>([this, weak, node, steps](const Options::GateAnswer& answer) {
            options_.gate(node, steps, [weak, answer](Result<void> end) {
              const JobPtr mine = weak.lock();
              if (mine && end.ok()) mine->gate_open = true;
              answer(std::move(end));
            });
          });
      if (!opened) return Stopping();
      return *std::move(opened);
    };
  }
  return guards;
}

service::mig::TellNews MigChanges::TellerOf(const JobPtr& job) {
  // As with the gate.
  return [this, weak = std::weak_ptr(job)](const ChangeNews& news) {
    const JobPtr alive = weak.lock();
    if (!alive) return;
    loop_.Post([this, alive, news] {
      if (alive->call)
        alive->call->Progress(ToWire(news));
      else if (news.kind == NewsKind::kLine)
        log_.Info(news.text);
    });
  };
}

void MigChanges::Look(const std::shared_ptr<control::Call>& call) {
  auto job = std::make_shared<Job>();
  job->call = call;
  job->ticket = Text(*call, "ticket");
  job->who = Who(*call, Text(*call, "command"));
  job->changes = false;
  job->run = [this, pinned = Guards(job).pinned]() -> Result<Value> {
    service::mig::PlanLook look;
    look.node = hw::InventoryReader(options_.driver, options_.reader).Read();
    if (pinned) look.pinned = pinned(look.node);
    return ToWire(look);
  };
  Take(job, Flag(*call, "wait"));
}

void MigChanges::Change(const std::shared_ptr<control::Call>& call) {
  const Result<const Value*> value = Param(*call, "order");
  if (!value.ok()) return call->Finish(value.error());
  Result<service::mig::RemoteOrder> order = service::mig::OrderFromWire(**value);
  if (!order.ok()) return call->Finish(std::move(order).error());
  auto job = std::make_shared<Job>();
  job->call = call;
  job->ticket = Text(*call, "ticket");
  job->who = Who(*call, order->command);
  job->refusal = [](const Error& error) {
    ChangeEnd end;
    end.status = service::mig::ChangeStatus::kBlocked;
    end.error = error;
    return ToWire(end);
  };
  const bool wait = order->wait;
  // Whoever comes beside the agent reads this in the lock.
  order->command = fmt::format("partita agent for {}", job->who);
  Result<service::mig::ChangeOrder> made = MakeOrder(*order, TellerOf(job), &job->stop);
  if (!made.ok()) return call->Finish(std::move(made).error());
  made->guards = Guards(job);
  job->run = [this, change = *std::move(made)]() -> Result<Value> {
    return ToWire(service::mig::ChangeProcedure(options_.reader, options_.driver).Run(change));
  };
  Take(job, wait);
}

void MigChanges::Boot(const std::shared_ptr<control::Call>& call) {
  const Result<const Value*> value = Param(*call, "choice");
  if (!value.ok()) return call->Finish(value.error());
  Result<service::mig::BootChoice> choice = service::mig::BootChoiceFromWire(**value);
  if (!choice.ok()) return call->Finish(std::move(choice).error());
  auto job = std::make_shared<Job>();
  job->call = call;
  job->ticket = Text(*call, "ticket");
  job->who = Who(*call, "partita mig boot");
  job->run = BootRun(job, *std::move(choice));
  // As the unit does for another change.
  Take(job, true);
}

void MigChanges::BringBack(service::mig::BootChoice choice,
                           std::function<void(const service::mig::BootEnd& end)> done) {
  auto job = std::make_shared<Job>();
  job->who = "partita agent, bringing MIG back";
  job->run = BootRun(job, std::move(choice));
  job->done = [done = std::move(done)](const Result<Value>& answer) {
    if (!answer.ok()) return done({answer.error().ToString(), service::mig::ChangeStatus::kFailed});
    done(service::mig::BootEndFromWire(*answer).value());
  };
  Take(job, true);
}

std::function<Result<Value>()> MigChanges::BootRun(const JobPtr& job,
                                                   service::mig::BootChoice choice) {
  service::mig::BootOptions boot;
  boot.choice = std::move(choice);
  boot.reader = options_.reader;
  boot.driver = options_.driver;
  boot.command = job->call ? fmt::format("partita agent for {}", job->who) : "partita agent";
  boot.guards = Guards(job);
  boot.stop = &job->stop;
  const service::mig::TellNews tell = TellerOf(job);
  boot.say = [tell](const std::string& line) { tell({NewsKind::kLine, line}); };
  boot.hook_wrote = [tell](const std::string& text) { tell({NewsKind::kHookWrote, text}); };
  return [boot = std::move(boot)]() -> Result<Value> {
    return ToWire(service::mig::BringMigBack(boot));
  };
}

void MigChanges::StopOne(control::Call& call) {
  const std::string ticket = Text(call, "ticket");
  bool found = false;
  if (!ticket.empty() && running_ && running_->ticket == ticket) {
    running_->stop = true;
    found = true;
  }
  const auto queued = std::find_if(waiting_.begin(), waiting_.end(), [&](const JobPtr& job) {
    return !ticket.empty() && job->ticket == ticket;
  });
  if (queued != waiting_.end()) {
    const JobPtr job = *queued;
    waiting_.erase(queued);
    Refuse(*job, Held(running_ ? running_->who : job->who, true));
    found = true;
  }
  call.Finish(Value::Map().Set("stopped", found));
}

void MigChanges::Refuse(Job& job, const Error& error) {
  if (job.done) return job.done(error);
  if (job.refusal) return job.call->Finish(job.refusal(error));
  job.call->Finish(error);
}

// The change that a new job would have to wait for; null: only looks are before it.
MigChanges::JobPtr MigChanges::AheadOf() const {
  if (running_ && running_->changes) return running_;
  for (const JobPtr& job : waiting_)
    if (job->changes) return job;
  return nullptr;
}

void MigChanges::Take(const JobPtr& job, bool wait) {
  if (!started_) return Refuse(*job, Stopping());
  const JobPtr ahead = AheadOf();
  if (ahead && !wait) return Refuse(*job, Held(ahead->who, false));
  if (job->call) {
    // Whoever ordered it is gone: it is put back, as it would be if it ran in that command.
    job->call->OnGone([this, weak = std::weak_ptr(job)] {
      const JobPtr gone = weak.lock();
      if (!gone) return;
      gone->stop = true;
      std::erase(waiting_, gone);
    });
    if (ahead) job->call->Progress(ToWire(ChangeNews{NewsKind::kWaiting, ahead->who}));
  }
  if (running_) return waiting_.push_back(job);
  Run(job);
}

void MigChanges::Run(const JobPtr& job) {
  running_ = job;
  if (job->changes) log_.Info("a change of MIG begins", {{LogKey::kCommand, job->who}});
  thread_ = hw::nvml::StartQuietThread("mig-change", [this, job = JobPtr(job)]() mutable {
    Result<Value> answer = job->run();
    // Its call is of the loop's thread, which lets it go.
    loop_.Post([this, asked = asked_, job = std::move(job), answer = std::move(answer)]() mutable {
      if (asked->closed) return;
      Ended(job, std::move(answer));
    });
  });
}

void MigChanges::Ended(const JobPtr& job, Result<Value> answer) {
  thread_.join();
  if (!job->changes || !options_.look) return Answered(job, std::move(answer));
  options_.look([this, asked = asked_, job, answer = std::move(answer)] {
    if (!asked->closed) Answered(job, answer);
  });
}

void MigChanges::Answered(const JobPtr& job, Result<Value> answer) {
  if (job->gate_open && options_.ended) options_.ended();
  if (job->changes) log_.Info("a change of MIG ended", {{LogKey::kCommand, job->who}});
  running_.reset();
  job->run = nullptr;
  if (job->done)
    job->done(answer);
  else
    job->call->Finish(std::move(answer));
  if (stopped_) return stopped_();
  if (waiting_.empty() || running_) return;
  const JobPtr next = waiting_.front();
  waiting_.pop_front();
  Run(next);
}

}  // namespace partita::agent
