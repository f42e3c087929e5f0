#include "agent/mps/daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "agent/mps/control.h"
#include "agent/mps/known_process.h"
#include "agent/mps/servers.h"
#include "base/files.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::UniqueFd;
using service::mps::Directories;
using service::mps::DirectoriesOf;
using service::mps::Domain;
using service::mps::Record;
using service::mps::ServerState;
using service::mps::Setting;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr seconds kUntilItAnswers{10};
constexpr seconds kUntilFaultIsSaid{2};
// By shutdown_server -f alone, which leaves no client anything to wait for.
constexpr seconds kUntilServerEnds{1};
constexpr seconds kUntilServerIsGone{5};
// After a client's fault the next one works; the rest is for its server's start.
constexpr seconds kBackWithin{5};
static_assert(kUntilFaultIsSaid + kUntilServerEnds + seconds(1) < kBackWithin);
constexpr milliseconds kBetweenTries{20};
constexpr std::uint32_t kClientsGrace = 3;  // seconds
constexpr seconds kDaemonsGrace{2};

// What is said to the daemon of one domain.
class Dialogue {
 public:
  Dialogue(const Machine& machine, const Directories& directories, const std::atomic<bool>& stop)
      : runner_(machine.runner), directories_(directories), stop_(stop) {}

  [[nodiscard]] Result<std::string> Ask(std::string_view command) const {
    return runner_->Ask(directories_, command, &stop_);
  }
  [[nodiscard]] Result<std::string> AskAll(const std::vector<std::string>& commands) const {
    return runner_->AskAll(directories_, commands, &stop_);
  }

 private:
  std::shared_ptr<Runner> runner_;
  Directories directories_;
  const std::atomic<bool>& stop_;
};

// Also one who takes a question and never answers it, as one that is stopped.
// Only whoever was asked for and not found is nobody: an error is that of
// asking, and says nothing of a daemon.
Result<bool> SomebodyListens(const Dialogue& control, const Directories& directories) {
  if (!IsSocketHeld(directories)) return false;
  const Result<std::string> answer = control.Ask(service::mps::kPing);
  if (answer.ok() || answer.error().code() == ErrorCode::kTimeout) return true;
  if (answer.error().code() == ErrorCode::kUnavailable) return false;
  return answer.error();
}

// What was said to a daemon came to one, or there was none.
bool WasAsked(const Result<std::string>& answer) {
  return answer.ok() || answer.error().code() == ErrorCode::kTimeout ||
         answer.error().code() == ErrorCode::kUnavailable;
}

// A moment, or the end of the process: false.
bool StillRunsAfter(int process, milliseconds pause) {
  pollfd wait{process, POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(pause.count())) == 0;
}

// With its clients.
Result<void> EndServer(const Dialogue& control,
                       const Directories& directories,
                       model::Pid server,
                       const std::atomic<bool>& stop) {
  // Held before it is told to end: its number is its own until then.
  Result<UniqueFd> process = OpenServer(server, directories);
  TRY(said, control.Ask(service::mps::EndServer(server)));
  if (process.ok() && !WaitForEnd(process->get(), kUntilServerEnds, &stop) && !stop) {
    Signal(process->get(), SIGKILL);
  }
  const Clock::time_point deadline = Clock::now() + kUntilServerIsGone;
  while (!stop && Clock::now() < deadline) {
    TRY(answer, control.Ask(service::mps::AskStatus(server)));
    TRY(state, service::mps::ParseServerStatus(answer));
    if (state == ServerState::kGone) return {};
    (void)poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
  }
  return base::MakeError(ErrorCode::kTimeout, "MPS server {} does not end", server);
}

std::vector<std::string> AllOf(const std::vector<Setting>& settings, std::string Setting::*which) {
  std::vector<std::string> commands;
  commands.reserve(settings.size());
  for (const Setting& setting : settings) commands.push_back(setting.*which);
  return commands;
}

Result<void> CheckInForce(const Dialogue& control, const Domain& domain) {
  const std::vector<Setting> settings = service::mps::SettingsOf(domain);
  TRY(answers, control.AskAll(AllOf(settings, &Setting::get)));
  const std::vector<std::string_view> lines = base::SplitLines(answers);
  // A limit that there is not is answered with nothing: whose answer each is
  // only one by one shows.
  const bool all = lines.size() == settings.size();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (all) {
      TRY_VOID(CheckReadBack(settings[i], lines[i]));
    } else {
      TRY(answer, control.Ask(settings[i].get));
      TRY_VOID(CheckReadBack(settings[i], answer));
    }
  }
  return {};
}

class Starting {
 public:
  Starting(const Machine& machine, const Domain& domain, const std::atomic<bool>& stop)
      : machine_(machine),
        domain_(domain),
        directories_(DirectoriesOf(machine.root, domain.name)),
        control_(machine, directories_, stop),
        stop_(stop) {}

  Result<Running> Run() {
    TRY_VOID(EndWhatIsThere());
    TRY_VOID(PrepareDirectories(machine_, domain_.name));
    TRY_VOID(EmptyPipeDirectory(directories_));
    if (Result<void> shm = machine_.runner->MountShm(directories_.shm); !shm.ok()) {
      running_.news.push_back(fmt::format("{} ({})", shm.error().ToString(), shm.error().hint()));
    }
    machine_.runner->Ended(domain_.name);
    TRY_VOID(Spawn());
    Result<void> ready = MakeReady();
    if (ready.ok()) return std::move(running_);
    Signal(running_.process.get(), SIGKILL);
    (void)WaitForEnd(running_.process.get(), kDaemonsGrace);
    machine_.runner->Ended(domain_.name);
    RemoveRecord(directories_);
    return std::move(ready).error();
  }

 private:
  // One of which nobody knew, or that was given up: two would be in each
  // other's way.
  Result<void> EndWhatIsThere() {
    std::string why;
    const std::optional<Record> record = ReadRecord(directories_, &why);
    const bool lives =
        record && OpenProcess(record->process, machine_.boot_id, kControlProgram).ok();
    if (!lives) {
      TRY(listens, SomebodyListens(control_, directories_));
      if (!listens) return EndServersLeft(directories_, domain_.name, stop_, {});
    }
    return StopDaemon(machine_, domain_.name, Stopping::kToStartAgain, stop_);
  }

  Result<void> Spawn() {
    TRY(pid,
        machine_.runner->Start({.domain = domain_.name,
                                .arguments = {"-f"},
                                .environment = service::mps::EnvironmentOf(domain_, directories_),
                                .output = LogFile(directories_)},
                               stop_));
    running_.record = {.domain = domain_,
                       .process = {.pid = pid, .start_time = 0, .boot_id = machine_.boot_id},
                       .limited = false};
    Result<UniqueFd> process = OpenProgram(pid, kControlProgram);
    if (process.ok()) {
      running_.process = *std::move(process);
      return {};
    }
    // A child is ours to wait for, and its number so still nobody else's.
    siginfo_t about{};
    const auto id = static_cast<id_t>(pid.value());
    if (waitid(P_PID, id, &about, WEXITED | WNOHANG | WNOWAIT) == 0) {
      kill(static_cast<pid_t>(pid.value()), SIGKILL);
      (void)waitid(P_PID, id, &about, WEXITED);
    }
    machine_.runner->Ended(domain_.name);
    return std::move(process).error();
  }

  Result<void> MakeReady() {
    TRY(start_time, ReadStartTime(running_.record.process.pid));
    running_.record.process.start_time = start_time;
    TRY_VOID(WriteRecord(directories_, running_.record));
    TRY_VOID(SetLimits());
    return EndUnlimited(machine_, running_.record, stop_);
  }

  // Their answers say nothing: what is in force is read.
  Result<void> SetLimits() {
    const std::vector<Setting> settings = service::mps::SettingsOf(domain_);
    TRY_VOID(AwaitAnswer(AllOf(settings, &Setting::set)));
    Result<void> in_force = CheckInForce(control_, domain_);
    if (in_force.ok() || in_force.error().code() == ErrorCode::kTimeout) return in_force;
    // Once more, so that an answer is that of one: whatever is wrong is said of
    // that.
    for (const Setting& setting : settings) {
      TRY(said, control_.Ask(setting.set));
      TRY(answer, control_.Ask(setting.get));
      TRY_VOID(CheckReadBack(setting, answer));
    }
    return {};
  }

  // As soon as the daemon takes commands it has taken these.
  Result<void> AwaitAnswer(const std::vector<std::string>& commands) {
    const Clock::time_point deadline = Clock::now() + kUntilItAnswers;
    for (;;) {
      const Result<std::string> answer = control_.AskAll(commands);
      if (answer.ok()) return {};
      if (!StillRunsAfter(running_.process.get(), kBetweenTries)) return EndedAtOnce();
      if (stop_ || answer.error().code() != ErrorCode::kUnavailable || Clock::now() > deadline) {
        return answer.error();
      }
    }
  }

  [[nodiscard]] Error EndedAtOnce() const {
    return base::MakeError(ErrorCode::kUnavailable, "{} -f ended at once: {}", kControlProgram,
                           base::Quoted(LastWords(directories_)))
        .WithHint("see " + LogFile(directories_));
  }

  const Machine& machine_;
  const Domain& domain_;
  Directories directories_;
  Dialogue control_;
  const std::atomic<bool>& stop_;
  Running running_;
};

// Nothing: no daemon was ever there, or it was ended in order.
std::optional<Seen> LookAt(const Machine& machine,
                           const std::string& name,
                           const std::atomic<bool>& stop) {
  const Directories directories = DirectoriesOf(machine.root, name);
  Seen seen;
  seen.found.name = name;
  std::optional<Record> record = ReadRecord(directories, &seen.why);
  const bool written = record.has_value();
  if (record && record->domain.name != name) record.reset();
  if (record) {
    Result<UniqueFd> process = OpenProcess(record->process, machine.boot_id, kControlProgram);
    if (process.ok()) {
      // Not asked here: one that hangs would hold up all others.
      seen.found.running = true;
      seen.found.parameters = record->domain;
      seen.running = Running{.record = *std::move(record),
                             .process = *std::move(process),
                             .news = {},
                             .checked = false};
      return seen;
    }
  }
  const Result<bool> listens = SomebodyListens(Dialogue(machine, directories, stop), directories);
  // Of one that cannot be asked a record whose daemon has ended is the better
  // word: it says what those who hold shares are to get again, and a start asks
  // once more.
  seen.found.running = listens.ok() ? *listens : !record;
  if (!written && !seen.found.running) return std::nullopt;
  if (record && !seen.found.running) seen.found.parameters = record->domain;
  return seen;
}

Result<std::vector<model::Pid>> FaultyNow(const Dialogue& control,
                                          const std::vector<model::Pid>& servers) {
  std::vector<model::Pid> faulty;
  for (const model::Pid server : servers) {
    TRY(answer, control.Ask(service::mps::AskStatus(server)));
    TRY(state, service::mps::ParseServerStatus(answer));
    if (state == ServerState::kFault) faulty.push_back(server);
  }
  return faulty;
}

}  // namespace

Result<Running> StartDaemon(const Machine& machine,
                            const Domain& domain,
                            const std::atomic<bool>& stop) {
  return Starting(machine, domain, stop).Run();
}

Result<std::vector<Seen>> LookAround(const Machine& machine, const std::atomic<bool>& stop) {
  std::vector<Seen> all;
  if (!base::Exists(machine.root)) return all;
  TRY_VOID(machine.runner->Reachable());
  TRY(names, base::ListDirectory(machine.root));
  for (const std::string& name : names) {
    if (!service::mps::IsDomainName(name)) continue;
    if (std::optional<Seen> seen = LookAt(machine, name, stop)) all.push_back(*std::move(seen));
  }
  return all;
}

Removed RemoveGone(const Machine& machine,
                   const std::set<std::string>& stay,
                   const std::atomic<bool>& stop) {
  Removed removed;
  if (!base::Exists(machine.root)) return removed;
  const Result<std::vector<std::string>> names = base::ListDirectory(machine.root);
  if (!names.ok()) removed.failed.push_back(names.error());
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const bool of_mig = name.starts_with("MIG-") && service::mps::IsDomainName(name);
    if (!of_mig || stay.contains(name)) continue;
    if (Result<void> there = machine.runner->Reachable(); !there.ok()) {
      removed.failed.push_back(std::move(there).error());
      return removed;
    }
    if (LookAt(machine, name, stop)) continue;
    if (stop) return removed;
    machine.runner->UnmountShm(DirectoriesOf(machine.root, name).shm);
    Result<void> end = base::RemoveTree(base::JoinPath(machine.root, name));
    if (end.ok())
      removed.names.push_back(name);
    else
      removed.failed.push_back(std::move(end).error());
  }
  return removed;
}

Result<void> StopDaemon(const Machine& machine,
                        const std::string& name,
                        Stopping stopping,
                        const std::atomic<bool>& stop) {
  const Directories directories = DirectoriesOf(machine.root, name);
  const Dialogue control(machine, directories, stop);
  std::string why;
  UniqueFd daemon;
  if (const std::optional<Record> record = ReadRecord(directories, &why)) {
    Result<UniqueFd> process = OpenProcess(record->process, machine.boot_id, kControlProgram);
    if (process.ok()) daemon = *std::move(process);
  }
  // Where nobody is, the program that asks may have gone, too.
  Result<std::string> quit(Error(ErrorCode::kUnavailable, "nobody has its sockets"));
  if (daemon.valid() || IsSocketHeld(directories)) {
    quit = control.Ask(service::mps::Quit(kClientsGrace));
  }
  if (daemon.valid()) {
    TRY_VOID(EndProcesses({daemon.get()}, "the MPS control daemon of " + name, stop, {}));
  }
  // Without a record nobody but itself can end it. While it cannot be asked its
  // servers stay, too.
  if (!daemon.valid() && !WasAsked(quit)) return quit.error();
  TRY_VOID(EndServersLeft(directories, name, stop, {}));
  if (!daemon.valid()) {
    TRY(listens, SomebodyListens(control, directories));
    if (listens) {
      return base::MakeError(ErrorCode::kConflict, "an MPS control daemon in {} does not end: {}",
                             directories.pipe, quit.ok() ? "it goes on" : quit.error().ToString())
          .WithHint(fmt::format("end it by hand: {}/nvidia-cuda-mps-control.pid has its number",
                                directories.pipe));
    }
  }
  machine.runner->Ended(name);
  if (stopping == Stopping::kForGood) machine.runner->UnmountShm(directories.shm);
  RemoveRecord(directories);
  return {};
}

Result<void> CheckLimits(const Machine& machine,
                         const Domain& domain,
                         const std::atomic<bool>& stop) {
  const Directories directories = DirectoriesOf(machine.root, domain.name);
  // It answers root by another, and no client.
  if (!base::Exists(base::JoinPath(directories.pipe, "control"))) {
    return base::MakeError(ErrorCode::kUnavailable, "{} has no socket for clients",
                           directories.pipe);
  }
  return CheckInForce(Dialogue(machine, directories, stop), domain);
}

Result<void> EndUnlimited(const Machine& machine, Record& record, const std::atomic<bool>& stop) {
  const Directories directories = DirectoriesOf(machine.root, record.domain.name);
  TRY(list, Dialogue(machine, directories, stop).Ask(service::mps::kListServers));
  TRY(servers, service::mps::ParseServerList(list));
  TRY_VOID(EndServers(machine, record.domain.name, servers, stop));
  record.limited = true;
  return WriteRecord(directories, record);
}

Result<std::vector<model::Pid>> FindFaulty(const Machine& machine,
                                           const std::string& name,
                                           Fault fault,
                                           const std::atomic<bool>& stop) {
  const Dialogue control(machine, DirectoriesOf(machine.root, name), stop);
  const Clock::time_point deadline = Clock::now() + kUntilFaultIsSaid;
  for (;;) {
    TRY(list, control.Ask(service::mps::kListServers));
    TRY(servers, service::mps::ParseServerList(list));
    TRY(faulty, FaultyNow(control, servers));
    const bool over = !faulty.empty() || servers.empty() || fault == Fault::kMaybe;
    if (over || stop || Clock::now() > deadline) return faulty;
    (void)poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
  }
}

Result<void> EndServers(const Machine& machine,
                        const std::string& name,
                        const std::vector<model::Pid>& servers,
                        const std::atomic<bool>& stop) {
  const Directories directories = DirectoriesOf(machine.root, name);
  const Dialogue control(machine, directories, stop);
  for (const model::Pid server : servers) {
    TRY_VOID(EndServer(control, directories, server, stop));
  }
  return {};
}

}  // namespace partita::agent::mps
