// A day of the agent, whole, on a loop whose time is the test's: every timer fires in its order
// while faults, layouts and workloads come and go on a simulated node. The driver's threads are
// real, so whatever comes from them is waited for.
//
// PARTITA_TEST_SEED repeats a day; PARTITA_TEST_FAULTS is how much happens in it.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/control/control_client.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "cli/status/status_document.h"
#include "net/testing/fake_loop.h"
#include "sim/state/life.h"
#include "tests/integration/outside.h"
#include "tests/integration/simulated_machine.h"
#include "tests/support/share.h"

namespace partita::integration {
namespace {

using base::Value;
using service::inventory::SnapshotPtr;
using namespace std::chrono_literals;

// Two a minute.
int LooksADay() { return static_cast<int>(std::uint64_t{2880} / tests::Share()); }
constexpr int kGpus = 8;

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* text = getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Without the members of these names, wherever they are.
Value Without(const Value& value, const std::set<std::string, std::less<>>& names) {
  if (value.kind() == Value::Kind::kList) {
    Value list = Value::List();
    for (const Value& each : value.items()) list.Add(Without(each, names));
    return list;
  }
  if (value.kind() != Value::Kind::kMap) return value;
  Value map = Value::Map();
  for (const auto& [key, member] : value.members())
    if (!names.contains(key)) map.Set(key, Without(member, names));
  return map;
}

// What moves by itself, or belongs to the one who looks.
const std::set<std::string, std::less<>> kMoving = {"time",     "generation", "host",
                                                    "hostname", "readings",   "pcie"};
// What is read when somebody asks for it.
const std::set<std::string, std::less<>> kOnDemand = {
    "time", "generation",   "host",      "hostname",      "readings",
    "pcie", "memory",       "processes", "hiddenHolders", "processesUnknown",
    "ecc",  "rowRemapping", "problems"};

// But for the first, and those of sanitizers, which are called like it.
std::vector<std::string> ThreadNames() {
  const std::string own = *base::ReadFile("/proc/self/comm");
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    const base::Result<std::string> name = base::ReadFile(each.path() / "comm");
    if (name.ok() && *name != own) names.push_back(name->substr(0, name->find('\n')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// But for those of the processes that the test itself pretends.
std::size_t CountDescriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(each.path(), error);
    if (!error && !target.ends_with("/sim/holders")) ++count;
  }
  return count;
}

class DayTest : public ::testing::Test {
 protected:
  DayTest() : machine_("dgx-a100-40"), outside_(machine_, Seed()) {
    const std::string folder = machine_.root() + "/driver/usr/lib64";
    PARTITA_CHECK(base::MakeDirectories(folder, 0755).ok());
    library_ = folder + "/libnvidia-ml.so.1";
    std::filesystem::copy_file(PARTITA_SIM_LIBRARY, library_);
    WriteConfig("info");
  }
  void TearDown() override {
    machine_.ClearCallFaults();
    if (agent_) {
      agent_->Stop();
      loop_.RunUntil([this] { return ended_; });
    }
  }
  static std::uint64_t Seed() { return Setting("PARTITA_TEST_SEED", 9); }

  void WriteConfig(const std::string& level) const {
    const std::string text = "version: partita/v1\nlisten: unix:" + machine_.root() +
                             "/http\nlog: {level: " + level + "}\n";
    PARTITA_CHECK(base::WriteFile(machine_.root() + "/config.yaml", text, 0644).ok());
  }
  void Begin() {
    const config::Origin flag{config::OriginKind::kFlag, "--host-root"};
    const std::string& root = machine_.root();
    agent_.emplace(loop_, log_, agent::Notifier(""),
                   agent::AgentOptions{.config = {root + "/config.yaml",
                                                  true,
                                                  {{"node.hostRoot", root, flag},
                                                   {"node.driverRoot", root + "/driver", flag}}},
                                       .run_directory = root + "/run",
                                       .state_directory = root + "/state",
                                       .version = "1.2.3",
                                       .text_format = base::LogFormat::kText});
    agent_->Start([this](const base::Result<void>&) { ended_ = true; });
  }
  void Start() {
    if (!agent_) Begin();
    loop_.RunUntil([this] { return agent_->running() || ended_; });
    ASSERT_TRUE(agent_->running()) << lines_;
  }

  service::inventory::Live& live() { return agent_->node().live(); }
  hw::nvml::Driver& driver() { return agent_->node().driver(); }
  const service::inventory::Snapshot& now() { return *live().current(); }

  // Whatever the driver's threads can answer now is heard.
  void Hear() {
    (void)driver().Run("", driver().LimitsFor(), [](const auto&, auto&) {});
    loop_.RunUntilIdle();
  }
  // To the end of the looks that run: with all that answers, without what hangs.
  void Settle() {
    for (Hear(); live().looking();) {
      const std::uint64_t heard = Counts()["post"];
      Hear();
      const bool gathers =
          !loop_.ArmedTimers().empty() && loop_.ArmedTimers().front().first == "gather";
      // Who still has not answered sits in a lane of its own, or waits for the session to close.
      if (live().looking() && Counts()["post"] == heard && gathers) loop_.Advance(20ms);
    }
  }
  // Timer by timer, so that each finds done what the one before began.
  void PassLooks(int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t before = Counts()["look"];
      while (Counts()["look"] == before) {
        loop_.Advance(loop_.ArmedTimers().front().second);
        Settle();
      }
      ++looks_;
    }
  }
  // For what other threads do without telling the loop.
  void Await(const std::string& what, const std::function<bool()>& condition) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
      loop_.RunUntilIdle();
      std::this_thread::yield();
      ASSERT_LT(std::chrono::steady_clock::now() - begin, 20s) << what << "\n" << Story();
    }
  }
  [[nodiscard]] bool Logged(std::string_view text) const {
    return lines_.find(text) != std::string::npos;
  }
  // What led here.
  [[nodiscard]] std::string Story() const {
    return fmt::format("seed {}, look {}\n{}\nlog:\n{}", Seed(), looks_, fmt::join(happened_, "\n"),
                       lines_.size() > 4000 ? lines_.substr(lines_.size() - 4000) : lines_);
  }
  std::map<std::string, std::uint64_t> Counts() {
    std::map<std::string, std::uint64_t> counts;
    for (const net::WakeUps& each : loop_.CountWakeUps()) counts[each.name] = each.count;
    counts.erase("uevents");  // the kernel's, of the machine that this test runs on
    return counts;
  }
  std::map<std::string, std::uint64_t> CountsSince(
      const std::map<std::string, std::uint64_t>& before) {
    std::map<std::string, std::uint64_t> since;
    for (const auto& [name, count] : Counts()) {
      const auto earlier = before.find(name);
      const std::uint64_t more = count - (earlier == before.end() ? 0 : earlier->second);
      if (more > 0) since[name] = more;
    }
    return since;
  }

  // The node as another process sees it now.
  Value Fresh() {
    base::Subprocess status;
    status.arguments = {PARTITA_PROGRAM, "status",        "--output",  "json",
                        "--host-root",   machine_.root(), "--library", library_};
    status.most_output = std::size_t{4} << 20U;
    const base::Result<base::SubprocessResult> ran = base::Run(status);
    PARTITA_CHECK(ran.ok());
    EXPECT_EQ(ran->exit_status, 0) << ran->output;
    base::Result<Value> document = base::ParseJson(ran->output);
    EXPECT_TRUE(document.ok()) << ran->output;
    return document.ok() ? *document : Value();
  }
  Value Published() {
    const model::Inventory& inventory = now().inventory;
    const Value document = cli::StatusDocument({"", "", inventory.gpus.size(), inventory, {}});
    return *base::ParseJson(base::ToJson(document));
  }

  void MeetEvents();
  void CheckNothingVanished();
  void CheckEqualToFresh();
  void CheckRest(int looks);
  void BeQuiet();
  void HappenToAgent();
  void AskOverSocket(bool politely);

  SimulatedMachine machine_;
  Outside outside_;
  net::testing::FakeLoop loop_;
  std::string library_;
  std::string lines_;
  std::size_t line_count_ = 0;
  base::Log log_{loop_.clock(), [this](std::string_view line) {
                   lines_ += line;
                   ++line_count_;
                 }};
  std::optional<agent::Agent> agent_;
  bool ended_ = false;
  int looks_ = 0;
  std::vector<std::string> happened_;
  std::size_t descriptors_ = 0;
};

// Whatever fails, a GPU that was there is there, by its name and with its MIG.
void DayTest::CheckNothingVanished() {
  const auto& gpus = now().inventory.gpus;
  ASSERT_EQ(gpus.size(), std::size_t{kGpus}) << Story();
  for (std::uint32_t i = 0; i < kGpus; ++i) {
    const model::GpuUuid uuid(machine_.board(i).uuid);
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const model::Gpu& each) { return each.uuid == uuid; });
    ASSERT_NE(gpu, gpus.end()) << i << "\n" << Story();
    ASSERT_EQ(gpu->name, machine_.board(i).name) << Story();
    ASSERT_TRUE(gpu->mig.has_value()) << i << "\n" << Story();
    ASSERT_FALSE(gpu->mig->profiles.empty()) << i << "\n" << Story();
    ASSERT_TRUE(gpu->memory.has_value()) << i << "\n" << Story();
  }
}

void DayTest::CheckEqualToFresh() {
  const Value fresh = Fresh();
  ASSERT_EQ(base::ToJson(Without(Published(), kOnDemand)), base::ToJson(Without(fresh, kOnDemand)))
      << Story();
  bool looked = false;
  live().Look(hw::nvml::Parts::All(), [&](const SnapshotPtr&) { looked = true; });
  loop_.RunUntil([&] { return looked; });
  ASSERT_EQ(base::ToJson(Without(Published(), kMoving)), base::ToJson(Without(fresh, kMoving)))
      << Story();
}

// The thread that waits for the driver's events runs in real time: what was to end its wait, or to
// begin another, which is a look each, may not have come to it however many looks have passed. An
// XID of an application wakes it; the second one is heard by a wait that nobody had wanted to end
// before the first. One that is said between two waits nobody hears: then the next GPU says it.
// They are heard in their order, so behind the last there is none.
void DayTest::MeetEvents() {
  const auto begin = std::chrono::steady_clock::now();
  std::uint32_t met = 0;
  std::uint32_t unheard = 0;
  for (std::uint32_t gpu = 0; met < 2; gpu = (gpu + 1) % kGpus) {
    ASSERT_LT(std::chrono::steady_clock::now() - begin, 60s) << Story();
    // Begun anew half a minute after it was ended, of which this thread may hear late.
    if (!agent_->node().listening() || unheard > 3) {
      PassLooks(1);
      unheard = 0;
    }
    const std::size_t before = lines_.size();
    const std::string line = fmt::format("XID gpu={}", now().inventory.gpus[gpu].pci.ToString());
    const auto heard = [&] { return lines_.find(line, before) != std::string::npos; };
    machine_.Change([&](const sim::Machine&, sim::Slot& slot) { sim::AddXid(slot, gpu, 31); });
    const auto said = std::chrono::steady_clock::now();
    while (!heard() && std::chrono::steady_clock::now() - said < 1s) {
      loop_.RunUntilIdle();
      std::this_thread::yield();
    }
    met = heard() ? met + 1 : 0;
    unheard = heard() ? 0 : unheard + 1;
  }
  Settle();
}

// docs/threads.md: nothing but a look each half minute, which is answered for each GPU and for the
// driver.
void DayTest::CheckRest(int looks) {
  ASSERT_NO_FATAL_FAILURE(MeetEvents());
  Await("threads", [] {
    return ThreadNames() == std::vector<std::string>{"driver", "driver-watch", "events"};
  });
  Hear();
  const auto before = Counts();
  const SnapshotPtr published = live().current();
  PassLooks(looks);
  const auto count = static_cast<std::uint64_t>(looks);
  // Hear is none of the agent's: it posts nothing.
  ASSERT_EQ(CountsSince(before),
            (std::map<std::string, std::uint64_t>{{"look", count}, {"post", count * (kGpus + 1)}}))
      << Story();
  ASSERT_EQ(live().current(), published) << Story();
  ASSERT_EQ(loop_.ArmedTimers().size(), 1U) << Story();
  if (descriptors_ == 0) descriptors_ = CountDescriptors();
  ASSERT_EQ(CountDescriptors(), descriptors_) << Story();
}

// Everything is well again: within two minutes the agent says so too.
void DayTest::BeQuiet() {
  outside_.Heal();
  happened_.emplace_back("all is well");
  Await("calls that came back", [this] { return driver().Running().empty(); });
  PassLooks(4);
  Hear();
  ASSERT_TRUE(now().stale.empty())
      << now().stale.begin()->first.ToString() << ": " << now().stale.begin()->second.why << "\n"
      << Story();
  CheckNothingVanished();
  if (!HasFatalFailure()) CheckEqualToFresh();
  // One that fell ill often is held back for up to an hour: an operator knows that all is well.
  ASSERT_TRUE(agent_->health().Clear("all").ok());
  PassLooks(1);
  ASSERT_TRUE(agent_->health().current()->parts.empty()) << Story();
  if (!HasFatalFailure()) CheckRest(5);
  happened_.clear();
}

void DayTest::AskOverSocket(bool politely) {
  std::atomic<bool> done = false;
  std::thread client([&] {
    auto connected = agent::control::Client::Connect(machine_.root() + "/run/agent.sock");
    EXPECT_TRUE(connected.ok());
    if (connected.ok() && politely) {
      EXPECT_TRUE(connected->Call("status", Value::Map(), {.patience = 60s}).ok());
    }
    done = true;
    loop_.Post([] {});
  });
  while (!done) {
    Settle();
    std::this_thread::yield();
  }
  client.join();
  loop_.RunUntilIdle();
}

void DayTest::HappenToAgent() {
  const std::uint32_t thing = outside_.Pick(7);
  switch (thing) {
    case 0:
    case 1:
      WriteConfig(thing == 0 ? "debug" : "loud");
      loop_.Raise(SIGHUP);
      loop_.RunUntilIdle();
      WriteConfig("info");
      happened_.emplace_back(thing == 0 ? "a good configuration" : "a bad configuration");
      return;
    case 2:
    case 3: {
      const auto by = std::chrono::hours(outside_.Pick(100'000));
      const auto wall = loop_.clock().WallNow();
      loop_.fake_clock().SetWall(thing == 2 ? wall + by : wall - by);
      happened_.emplace_back("somebody set the clock");
      return;
    }
    case 4:
      loop_.Jump(std::chrono::seconds(outside_.Pick(7200)));
      Settle();
      happened_.emplace_back("the machine slept");
      return;
    default: happened_.emplace_back("a client"); AskOverSocket(thing == 5);
  }
}

// The names in the tables of docs/threads.md.
const std::set<std::string> kNames = {"look",
                                      "health",
                                      "config",
                                      "config-settles",
                                      "config-overlays",
                                      "config-overlays-settles",
                                      "labels",
                                      "listing",
                                      "publish",
                                      "kubelet",
                                      "ledger-flush",
                                      "stuck",
                                      "gather",
                                      "patience",
                                      "first-look",
                                      "listen-again",
                                      "uevents",
                                      "paths",
                                      "watchdog",
                                      "agent-lock",
                                      "step-deadline",
                                      "control",
                                      "control-pause",
                                      "http",
                                      "http-pause",
                                      "control-connection",
                                      "control-connection-asks",
                                      "control-connection-takes",
                                      "http-connection",
                                      "http-connection-asks",
                                      "http-connection-takes",
                                      "signal",
                                      "post"};

TEST_F(DayTest, OfFaultsLayoutsAndWorkloads) {
  const std::uint64_t faults = Setting("PARTITA_TEST_FAULTS", 100 / tests::Share());
  fmt::print("seed {}, {} things happen (PARTITA_TEST_SEED, PARTITA_TEST_FAULTS)\n", Seed(),
             faults);
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(BeQuiet());
  const auto before = Counts();
  std::uint64_t happened = 0;
  // As many faults between two quiet points as a bad hour has.
  const auto all = static_cast<std::uint64_t>(LooksADay());
  for (std::uint64_t since_quiet = 0; looks_ < LooksADay();) {
    const bool something = faults * static_cast<std::uint64_t>(looks_) > happened * all;
    if (something) {
      ++happened;
      if (outside_.Pick(5) == 0)
        HappenToAgent();
      else
        happened_.push_back(fmt::format("look {}: {}", looks_, outside_.Happen()));
    }
    PassLooks(1);
    ASSERT_NO_FATAL_FAILURE(CheckNothingVanished());
    if (!something || ++since_quiet < 6) continue;
    since_quiet = 0;
    ASSERT_NO_FATAL_FAILURE(BeQuiet());
  }
  ASSERT_NO_FATAL_FAILURE(BeQuiet());
  for (const auto& [name, count] : CountsSince(before)) EXPECT_TRUE(kNames.contains(name)) << name;
  // A flood would be a line a look.
  EXPECT_LT(line_count_, 100 + 12 * happened) << lines_;
}

TEST_F(DayTest, OfAGpuThatHangsIsToldOnce) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(BeQuiet());
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  PassLooks(1);
  loop_.RunUntil([this] { return now().stale.size() == 1; });
  const std::size_t lines = line_count_;
  const SnapshotPtr published = live().current();
  const auto before = Counts();
  const int looks = LooksADay() / 4;
  const auto all = static_cast<std::uint64_t>(looks);
  PassLooks(looks);
  EXPECT_LE(line_count_, lines + 1) << lines_;
  EXPECT_LE(now().revision, published->revision + 1);
  auto counts = CountsSince(before);
  // What kubelet is offered, and the node's labels, are thought over once with each of the two
  // snapshots.
  for (const char* each : {"publish", "labels"}) {
    EXPECT_LE(counts[each], 2U) << each;
    counts.erase(each);
  }
  // While it is unhealthy there is a look every two seconds.
  const std::uint64_t more = counts["health"];
  EXPECT_GT(more, all * 14);
  EXPECT_LE(more, all * 15);
  // That it is, is written once.
  EXPECT_LE(counts["post"], (all + more) * (kGpus + 1) + 2);
  counts.erase("post");
  // The first look for configurations by name may still have been ahead.
  EXPECT_LE(counts["named-configs"], 1U);
  counts.erase("named-configs");
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"look", all}, {"health", more}}));
  ASSERT_NO_FATAL_FAILURE(CheckNothingVanished());
  ASSERT_NO_FATAL_FAILURE(BeQuiet());
}

TEST_F(DayTest, SeesWhatChangedWhileNobodyListened) {
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[5].mig_current = slot.gpus[5].mig_pending = 1;
  });
  // Nor do device nodes tell: on many machines nobody makes them before they are used.
  ASSERT_TRUE(base::RemoveTree(machine_.root() + "/dev").ok());
  ASSERT_TRUE(base::WriteFile(machine_.root() + "/dev", "", 0644).ok());
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(BeQuiet());
  // The driver ends every wait that a lost GPU is part of.
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  Await("the end of the wait", [this] { return Logged("events are not heard"); });
  Settle();
  machine_.MakeMigDevice(5, 0, 0);
  PassLooks(2);
  Await("events again", [this] { return now().inventory.gpus[5].mig->instances.size() == 1; });
}

TEST_F(DayTest, ListensToAGpuThatAnswersLater) {
  machine_.HangCall("*", 3);
  Begin();
  loop_.Advance(std::chrono::milliseconds(20));  // the look does not wait longer for it
  loop_.RunUntil([this] { return now().inventory.driver && now().stale.size() == 1; });
  // The others are served without it.
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_EQ(now().stale.size(), 1U);
  machine_.ClearCallFaults();
  Await("calls that came back", [this] { return driver().Running().empty(); });
  PassLooks(2);
  ASSERT_TRUE(now().stale.empty());
  Await("its events", [this] {
    machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::AddXid(slot, 3, 31); });
    return Logged("XID gpu=0000:4e:00.0");
  });
}

}  // namespace
}  // namespace partita::integration
