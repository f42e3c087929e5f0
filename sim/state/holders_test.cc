#include "sim/state/holders.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

Holder OnGpu(uint32_t gpu) {
  Holder holder{};
  holder.gpu = gpu;
  holder.gpu_instance = holder.compute_instance = kNone;
  holder.memory_bytes = 1 << 20;
  holder.utilization = 50;
  return holder;
}

// A child that becomes a holder, says so, and lives until it is told to go.
class HolderProcess {
 public:
  HolderProcess(NodeDirectory& node, bool executes) {
    Pipe(ready_);
    Pipe(stop_);
    pid_ = InChild([&] {
      close(stop_[1]);
      int keep = -1;
      if (HoldAsSelf(node.store(), node.holders().c_str(), OnGpu(0), &keep) != 0) return 1;
      if (executes) {
        dup2(stop_[0], 0);
        dup2(ready_[1], 1);
        execl("/bin/sh", "sh", "-c", "printf r; read line", nullptr);
        return 2;
      }
      char byte = 'r';
      if (write(ready_[1], &byte, 1) != 1) return 3;
      return read(stop_[0], &byte, 1) == 0 ? 0 : 4;
    });
    char byte = 0;
    EXPECT_EQ(read(ready_[0], &byte, 1), 1);
  }
  ~HolderProcess() { Kill(); }
  HolderProcess(const HolderProcess&) = delete;
  HolderProcess& operator=(const HolderProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    StatusOf(pid_);
    pid_ = 0;
    for (const int fd : {ready_[0], ready_[1], stop_[0], stop_[1]}) close(fd);
  }

 private:
  static void Pipe(int* ends) { EXPECT_EQ(pipe(ends), 0); }
  int ready_[2];
  int stop_[2];
  pid_t pid_ = 0;
};

HolderView Look(NodeDirectory& node, uint32_t index) {
  return LookAtHolder(node.root().c_str(), node.Snapshot().holders[index], index);
}

TEST(Holders, LiveAsLongAsTheirProcess) {
  NodeDirectory node("h200-vm");
  HolderProcess process(node, false);
  EXPECT_TRUE(Look(node, 0).alive);
  EXPECT_EQ(Look(node, 0).pid, static_cast<uint32_t>(process.pid()));
  EXPECT_TRUE(IsHeld(node.Snapshot(), 0, kNone, kNone));
  process.Kill();
  EXPECT_FALSE(Look(node, 0).alive);
}

TEST(Holders, SurviveExec) {
  NodeDirectory node("h200-vm");
  HolderProcess process(node, true);
  EXPECT_TRUE(Look(node, 0).alive);
  EXPECT_EQ(Look(node, 0).pid, static_cast<uint32_t>(process.pid()));
  process.Kill();
  EXPECT_FALSE(Look(node, 0).alive);
}

TEST(Holders, ReapFreesTheDeadAndKeepsTheirEnergy) {
  NodeDirectory node("h200-vm");
  HolderProcess first(node, false), second(node, false);
  first.Kill();
  node.Change([](Slot& slot) {
    slot.clock.frozen = 1;
    slot.clock.base_ns = slot.holders[0].since_ns + 10'000'000'000;
  });
  node.Change([&](Slot& slot) { Reap(node.root().c_str(), node.machine(), slot); });
  const Slot slot = node.Snapshot();
  EXPECT_EQ(slot.holders[0].live, 0U);
  EXPECT_EQ(slot.holders[1].live, 1U);
  const Board& board = node.machine().boards[0];
  const uint64_t extra = (board.power_busy_mw.value - board.power_idle_mw.value) / 2;
  EXPECT_EQ(slot.gpus[0].energy_before_mj, extra * 10);
}

TEST(Holders, KnowThemselvesAndSurviveLookingAtOthers) {
  NodeDirectory node("h200-vm");
  HolderProcess other(node, false);
  const pid_t child = InChild([&] {
    int keep = -1;
    if (HoldAsSelf(node.store(), node.holders().c_str(), OnGpu(0), &keep) != 0) return 1;
    const HolderView own = Look(node, 1);
    if (!own.alive || own.pid != static_cast<uint32_t>(getpid())) return 2;
    if (Look(node, 0).pid != static_cast<uint32_t>(other.pid())) return 3;
    // Another process still sees the lock: looking at others has not dropped it.
    const pid_t witness = InChild([&] { return Look(node, 1).alive ? 0 : 1; });
    return StatusOf(witness);
  });
  EXPECT_EQ(StatusOf(child), 0);
}

TEST(Holders, AGuardianNamesTheProcessPerNamespace) {
  NodeDirectory node("h200-vm");
  Holder holder = OnGpu(0);
  holder.pid_count = 2;
  holder.pids[0].pid_ns = 1;
  holder.pids[0].pid = 7;
  holder.pids[1].pid_ns = Self().pid_ns;
  holder.pids[1].pid = 4711;
  int keep = -1;
  ASSERT_EQ(HoldGuarded(node.store(), node.holders().c_str(), holder, &keep), 0);
  EXPECT_EQ(Look(node, 0).pid, 4711U);
  const pid_t child = InChild([&] { return Look(node, 0).pid == 4711 ? 0 : 1; });
  EXPECT_EQ(StatusOf(child), 0);
  close(keep);
  const pid_t after = InChild([&] { return Look(node, 0).alive ? 1 : 0; });
  EXPECT_EQ(StatusOf(after), 0);
}

TEST(Holders, RefuseAnInstanceThatIsNotThere) {
  NodeDirectory node("h200-vm");
  Holder holder = OnGpu(0);
  int keep = -1;
  holder.gpu_instance = 3;
  EXPECT_EQ(HoldAsSelf(node.store(), node.holders().c_str(), holder, &keep), ENOENT);
  holder = OnGpu(9);
  EXPECT_EQ(HoldAsSelf(node.store(), node.holders().c_str(), holder, &keep), ENOENT);
}

TEST(Holders, AreSeenAcrossPidNamespaces) {
  NodeDirectory node("h200-vm");
  int ready[2], stop[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(stop), 0);
  const pid_t maker = InChild([&] {
    if (unshare(CLONE_NEWPID) != 0) return errno == EPERM ? 77 : 1;
    const pid_t holder = InChild([&] {  // pid 1 of the new namespace
      close(stop[1]);
      int keep = -1;
      if (HoldAsSelf(node.store(), node.holders().c_str(), OnGpu(0), &keep) != 0) return 1;
      char byte = 'r';
      if (write(ready[1], &byte, 1) != 1) return 2;
      return read(stop[0], &byte, 1) == 0 ? 0 : 3;
    });
    close(stop[1]);
    return StatusOf(holder);
  });
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) {
    ASSERT_EQ(StatusOf(maker), 77);
    GTEST_SKIP() << "no right to make a PID namespace: run as root to test holders across them";
  }
  const HolderView view = Look(node, 0);
  EXPECT_TRUE(view.alive);
  EXPECT_GT(view.pid, 1U);  // its pid here, not the 1 it has inside
  EXPECT_EQ(kill(static_cast<pid_t>(view.pid), 0), 0);
  close(stop[1]);
  EXPECT_EQ(StatusOf(maker), 0);
  EXPECT_FALSE(Look(node, 0).alive);
}

}  // namespace
}  // namespace partita::sim
