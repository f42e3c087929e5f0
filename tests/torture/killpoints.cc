// kill -9 at every instruction: one NVML call is single-stepped from its entry to its return. The
// state (and the driver's files) after every instruction that changed them is what a client killed
// there would leave. Every such copy is put back in place, recovered by a fresh client through
// ordinary calls, and judged by the independent checker.
//
//   killpoints --build DIRECTORY --nodes DIRECTORY SCENARIO…
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checker.h"
#include "process.h"
#include "recording.h"
#include "recovery.h"
#include "rendered.h"
#include "state_view.h"

namespace partita::torture {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Result;

// GPU 0 is an A100, GPU 1 an H200. A GPU instance of profile 9 (3g) that comes first lands at start
// 4 and is number 1; one of profile 14 (2g) at start 0 is number 5: see ExpectedGpuInstanceId.
struct Scenario {
  const char* name;
  const char* node;                // a file in --nodes
  std::vector<std::string> setup;  // operations of client.cc
  // An operation whose client dies right after its commit, before it drew the driver's files: the
  // traced one has to draw them first, and dies while it does.
  std::string interrupted;
  std::string traced;
};
const std::vector<Scenario> kScenarios = {
    {"create-gi",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 14 0 2", "create-ci 0 5 0"},
     "",
     "create-gi 0 9"},
    {"create-ci",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 9 4 4", "create-ci 0 1 0"},
     "",
     "create-ci 0 1 0"},
    {"destroy-ci",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 9 4 4", "create-ci 0 1 2"},
     "",
     "destroy-ci 0 1 0"},
    {"destroy-gi",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 14 0 2", "create-gi-at 0 9 4 4"},
     "",
     "destroy-gi 0 1"},
    {"mode-on-pending", "held.yaml", {"set-mode 1 1"}, "", "set-mode 0 1"},
    {"mode-on-immediate", "idle.yaml", {"set-mode 0 1"}, "", "set-mode 1 1"},
    {"mode-off-immediate", "idle.yaml", {"set-mode 0 1", "set-mode 1 1"}, "", "set-mode 1 0"},
    {"heal-created",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 14 0 2"},
     "create-gi 0 9",
     "create-ci 0 5 0"},
    {"heal-destroyed",
     "idle.yaml",
     {"set-mode 0 1", "set-mode 1 1", "create-gi-at 0 14 0 2", "create-gi-at 0 9 4 4"},
     "destroy-gi 0 1",
     "create-gi 0 9"},
};

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<std::string> ClientCommand(const std::string& client,
                                       const ScratchNode& node,
                                       const char* verb,
                                       const std::string& operation) {
  std::vector<std::string> command = {client, node.library(), verb};
  for (std::string& word : Words(operation)) command.push_back(std::move(word));
  return command;
}

// Leaves the node as a client that was killed at this point of its recording would.
Result<void> PutBack(const Recording& recording,
                     const Replay& replay,
                     const Point& point,
                     const ScratchNode& node,
                     StateView* view,
                     const Tree& disk) {
  std::memcpy(static_cast<void*>(&view->writable()), replay.image().data(), sizeof(sim::StateFile));
  if (!RestoreTree(node.root(), disk, recording.trees[point.tree])) {
    return base::ErrnoError("restore the files below " + node.root());
  }
  return {};
}

struct Tally {
  std::uint64_t copies = 0, before = 0, after = 0, trees = 0, torn = 0, torn_found = 0;
};

// Judges one recording against the node it was made on.
class Judge {
 public:
  Judge(const Recording& recording,
        const ScratchNode& node,
        StateView* view,
        RecoveryServer* server)
      : recording_(recording), node_(node), view_(view), server_(server) {}

  Result<Tally> Run();

 private:
  static const sim::Slot& Visible(const sim::StateFile& file) {
    return file.slots[file.header.generation & 1];
  }
  void CheckCopy(const sim::StateFile& file, Findings* findings) const;
  void CheckTorn(const sim::StateFile& file);
  Result<void> RecoverCopy(const Replay& replay, const Point& point, Findings* findings);
  bool IsNew(const Replay& replay, const Point& point);

  const Recording& recording_;
  const ScratchNode& node_;
  StateView* view_;
  RecoveryServer* server_;
  sim::StateFile before_{}, after_{};
  Tree disk_;
  std::set<std::pair<std::size_t, std::size_t>> seen_;
  Tally tally_;
};

// The two states that anybody may ever see are the one before the call and the one after it.
void Judge::CheckCopy(const sim::StateFile& file, Findings* findings) const {
  CheckHeader(file.header, view_->size(), findings);
  CheckSlot(file.machine, Visible(file), findings);
  const std::uint64_t first = before_.header.generation, last = after_.header.generation;
  if (file.header.generation != first && file.header.generation != last) {
    findings->Add("generation {}, expected {} or {}", file.header.generation, first, last);
  }
  const sim::StateFile& expected = file.header.generation == first ? before_ : after_;
  if (!SameState(file.machine, Visible(file), Visible(expected))) {
    findings->Add("generation {} is neither the state before the call nor the one after it",
                  file.header.generation);
  }
}

// The judge's own test: the same copy as a store would leave it that publishes too early.
void Judge::CheckTorn(const sim::StateFile& file) {
  if (file.header.generation != before_.header.generation) return;
  const sim::Slot& shadow = file.slots[(file.header.generation + 1) & 1];
  if (SameState(file.machine, shadow, Visible(after_))) return;
  auto torn = std::make_unique<sim::StateFile>(file);
  ++torn->header.generation;
  Findings findings;
  CheckCopy(*torn, &findings);
  ++tally_.torn;
  if (!findings.empty()) ++tally_.torn_found;
}

bool Judge::IsNew(const Replay& replay, const Point& point) {
  const std::string_view image = replay.image();
  const std::size_t slots = offsetof(sim::StateFile, slots);
  const std::size_t hash =
      std::hash<std::string_view>()(image.substr(0, sizeof(sim::FileHeader))) * 31 +
      std::hash<std::string_view>()(image.substr(slots));
  return seen_.emplace(hash, point.tree).second;
}

Result<void> Judge::RecoverCopy(const Replay& replay, const Point& point, Findings* findings) {
  TRY_VOID(PutBack(recording_, replay, point, node_, view_, disk_));
  const auto seen = server_->Recover();
  disk_ = ReadTree(node_.root(), kDriverTrees);
  if (!seen.ok()) {
    findings->Add("recovery: {}", seen.error().ToString());
    return {};
  }
  const std::string expected = DescribeState(replay.file().machine, Visible(replay.file()));
  if (*seen != expected) {
    findings->Add("a client saw\n{}but the state holds\n{}", *seen, expected);
  }
  const sim::StateFile& now = view_->file();
  CheckHeader(now.header, view_->size(), findings);
  CheckSlot(now.machine, Visible(now), findings);
  if (now.header.generation <= replay.file().header.generation) {
    findings->Add("generation {} did not move on recovery", now.header.generation);
  }
  if (now.header.rendered != now.header.generation) {
    findings->Add("rendered {} lags behind generation {} after recovery", now.header.rendered,
                  now.header.generation);
  }
  CheckRendered(disk_, recording_.trees.front(), now.machine, Visible(now), findings);
  return {};
}

Result<Tally> Judge::Run() {
  Replay end(recording_);
  before_ = end.file();
  for (const Point& point : recording_.points) end.Apply(point);
  after_ = end.file();
  if (after_.header.generation != before_.header.generation + 1) {
    return MakeError(ErrorCode::kInternal, "the call made {} commits, expected 1",
                     after_.header.generation - before_.header.generation);
  }
  disk_ = ReadTree(node_.root(), kDriverTrees);
  tally_.trees = recording_.trees.size();
  Replay replay(recording_);
  for (const Point& point : recording_.points) {
    replay.Apply(point);
    if (!IsNew(replay, point)) continue;
    ++tally_.copies;
    ++(replay.file().header.generation == before_.header.generation ? tally_.before : tally_.after);
    Findings findings;
    CheckCopy(replay.file(), &findings);
    CheckTorn(replay.file());
    TRY_VOID(RecoverCopy(replay, point, &findings), "copy after step {}", point.step);
    if (findings.empty()) continue;
    return MakeError(ErrorCode::kConflict, "killed after step {} of {}:\n{}", point.step,
                     recording_.steps, findings.Text());
  }
  if (tally_.torn == 0 || tally_.torn_found != tally_.torn) {
    return MakeError(ErrorCode::kInternal, "the checker found {} of {} torn copies",
                     tally_.torn_found, tally_.torn);
  }
  return tally_;
}

Result<Recording> Trace(const std::string& operation,
                        const std::string& client,
                        const ScratchNode& node,
                        const StateView& view) {
  TRY(recording, Record(ClientCommand(client, node, "trace", operation), node.root(), view),
      "trace {}", operation);
  if (recording.result != 0) {
    return MakeError(ErrorCode::kInternal, "{} answered {}", operation, recording.result);
  }
  return recording;
}

// Performs the operation and turns the node back to the instant after its commit.
Result<void> Interrupt(const std::string& operation,
                       const std::string& client,
                       const ScratchNode& node,
                       StateView* view) {
  TRY(recording, Trace(operation, client, node, *view));
  Replay replay(recording);
  const std::uint64_t before = replay.file().header.generation;
  for (const Point& point : recording.points) {
    replay.Apply(point);
    if (replay.file().header.generation == before) continue;
    return PutBack(recording, replay, point, node, view, recording.trees.back());
  }
  return MakeError(ErrorCode::kInternal, "{} made no commit", operation);
}

Result<void> RunScenario(const Scenario& scenario,
                         const std::string& build,
                         const std::string& nodes) {
  const std::string client = build + "/bin/torture-client";
  TRY(node, ScratchNode::Up(build, nodes + "/" + scenario.node));
  for (const std::string& operation : scenario.setup) {
    TRY(done, RunProgram(ClientCommand(client, node, "do", operation)), "setup {}", operation);
  }
  TRY(view, StateView::Open(node.state(), StateView::Access::kReadWrite));
  if (!scenario.interrupted.empty()) {
    TRY_VOID(Interrupt(scenario.interrupted, client, node, &view));
  }
  TRY(recording, Trace(scenario.traced, client, node, view));
  TRY(server, RecoveryServer::Start(client, node.library()));
  TRY(tally, Judge(recording, node, &view, &server).Run());
  std::printf(
      "%-18s %7lu steps, %4lu system calls, %2lu versions of the files; %5lu distinct copies: %5lu "
      "before, %5lu after, all recovered; %lu of %lu torn copies found\n",
      scenario.name, recording.steps, recording.system_calls, tally.trees, tally.copies,
      tally.before, tally.after, tally.torn_found, tally.torn);
  return {};
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5 || arguments[0] != "--build" || arguments[2] != "--nodes") {
    std::fprintf(stderr, "usage: killpoints --build DIRECTORY --nodes DIRECTORY SCENARIO…\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  for (std::size_t i = 4; i < arguments.size(); ++i) {
    const Scenario* chosen = nullptr;
    for (const Scenario& scenario : kScenarios) {
      if (arguments[i] == scenario.name) chosen = &scenario;
    }
    if (chosen == nullptr) {
      std::fprintf(stderr, "killpoints: no scenario \"%s\"\n", arguments[i].c_str());
      return 2;
    }
    const auto result = RunScenario(*chosen, arguments[1], arguments[3]);
    if (!result.ok()) {
      std::fprintf(stderr, "%s: %s\n", chosen->name, result.error().ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace partita::torture

int main(int argc, char** argv) { return partita::torture::Main({argv + 1, argv + argc}); }
