#include "sim/state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

uint64_t Counter(const Store& store) {
  return store.Read([](const Slot& slot) { return slot.next_fault_id; });
}

TEST(Store, ShowsWhatWasCreated) {
  NodeDirectory node("dgx-a100-40");
  EXPECT_EQ(node.store().machine().gpu_count, 8U);
  EXPECT_EQ(node.store().generation(), 1U);
  EXPECT_EQ(node.Snapshot().driver_loaded, 1U);
  EXPECT_EQ(node.store().root(), node.root());
}

TEST(Store, RefusesAFileThatIsNoState) {
  NodeDirectory node("h200-vm");
  Store store;
  const std::string other = node.root() + "/sim/other";
  EXPECT_EQ(Store::Open(other.c_str(), Access::kReadOnly, &store), ENOENT);
  std::ofstream(other) << "not a state";
  EXPECT_EQ(Store::Open(other.c_str(), Access::kReadOnly, &store), EPROTO);
  std::filesystem::copy_file(node.state(), other,
                             std::filesystem::copy_options::overwrite_existing);
  std::fstream(other, std::ios::in | std::ios::out).put('X');
  EXPECT_EQ(Store::Open(other.c_str(), Access::kReadOnly, &store), EPROTO);
  EXPECT_FALSE(store.is_open());
}

TEST(Store, AbandonedTransactionChangesNothing) {
  NodeDirectory node("h200-vm");
  {
    Transaction transaction;
    ASSERT_EQ(Transaction::Begin(node.store(), &transaction), 0);
    transaction.slot().next_fault_id = 77;
  }
  EXPECT_NE(Counter(node.store()), 77U);
  EXPECT_EQ(node.store().generation(), 1U);
}

TEST(Store, ReadOnlyStoreCannotChange) {
  NodeDirectory node("h200-vm");
  Store store;
  ASSERT_EQ(Store::Open(node.state().c_str(), Access::kReadOnly, &store), 0);
  Transaction transaction;
  EXPECT_EQ(Transaction::Begin(store, &transaction), EACCES);
  store.Close();
}

TEST(Store, ANodeThatWasReplacedIsStale) {
  NodeDirectory node("h200-vm");
  const Loaded again = LoadProfile("h200-vm");
  ASSERT_EQ(Create(node.state().c_str(), *again.machine, *again.slot), 0);
  Transaction transaction;
  EXPECT_EQ(Transaction::Begin(node.store(), &transaction), ESTALE);
}

// Whether somebody waits for a lock of the file, by what the kernel tells of locks.
bool IsWaitedFor(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("->") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

TEST(Store, AChangeThatWaitedWhileTheNodeWasReplacedIsStale) {
  NodeDirectory node("h200-vm");
  const Loaded again = LoadProfile("h200-vm");
  Transaction first;
  ASSERT_EQ(Transaction::Begin(node.store(), &first), 0);
  int begun = 0;
  std::thread second([&] {
    Transaction transaction;
    begun = Transaction::Begin(node.store(), &transaction);
  });
  while (!IsWaitedFor(node.state())) std::this_thread::yield();
  ASSERT_EQ(Create(node.state().c_str(), *again.machine, *again.slot), 0);
  first.Abandon();
  second.join();
  EXPECT_EQ(begun, ESTALE);
}

TEST(Store, AnotherProcessSeesACommit) {
  NodeDirectory node("h200-vm");
  const pid_t child = InChild([&] {
    node.Change([](Slot& slot) { slot.next_fault_id = 42; });
    return 0;
  });
  ASSERT_EQ(StatusOf(child), 0);
  EXPECT_EQ(Counter(node.store()), 42U);
}

TEST(Store, AWriterKilledInATransactionLeavesTheOldStateAndNoLock) {
  NodeDirectory node("h200-vm");
  const pid_t child = InChild([&] {
    Transaction transaction;
    if (Transaction::Begin(node.store(), &transaction) != 0) return 1;
    transaction.slot().next_fault_id = 99;
    kill(getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(StatusOf(child), -SIGKILL);
  EXPECT_NE(Counter(node.store()), 99U);
  node.Change([](Slot& slot) { slot.next_fault_id = 5; });
  EXPECT_EQ(Counter(node.store()), 5U);
}

TEST(Store, AChildForkedInATransactionDoesNotKeepTheLock) {
  NodeDirectory node("h200-vm");
  int stop[2];
  ASSERT_EQ(pipe(stop), 0);
  pid_t child = 0;
  {
    Transaction transaction;
    ASSERT_EQ(Transaction::Begin(node.store(), &transaction), 0);
    child = fork();
    if (child == 0) {
      close(stop[1]);
      char byte = 0;
      _exit(read(stop[0], &byte, 1) == 0 ? 0 : 1);
    }
    transaction.Commit();
  }
  node.Change([](Slot& slot) { slot.next_fault_id = 8; });  // while the child lives
  EXPECT_EQ(Counter(node.store()), 8U);
  close(stop[1]);
  EXPECT_EQ(StatusOf(child), 0);
  close(stop[0]);
}

TEST(Store, ASleeperInAnotherProcessIsWoken) {
  NodeDirectory node("h200-vm");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const uint32_t seen = node.store().Wakeups();
  const pid_t child = InChild([&] {
    Store store;  // read-only, as a container has it
    if (Store::Open(node.state().c_str(), Access::kReadOnly, &store) != 0) return 1;
    if (write(ready[1], "r", 1) != 1) return 2;
    return store.WaitForChange(seen, 60'000'000'000);
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  node.Change([](Slot& slot) { slot.next_fault_id = 1; });
  EXPECT_EQ(StatusOf(child), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(Store, SignalsDoNotEndAWait) {
  NodeDirectory node("h200-vm");
  struct sigaction ignore {};
  ignore.sa_handler = [](int) {};
  sigaction(SIGALRM, &ignore, nullptr);  // without SA_RESTART, as the Go runtime's signals arrive
  const itimerval often = {{0, 2000}, {0, 2000}};
  const itimerval never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(node.store().WaitForChange(node.store().Wakeups(), 60'000'000), ETIMEDOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
  setitimer(ITIMER_REAL, &never, nullptr);
}

TEST(Store, ThreadsExcludeEachOther) {
  NodeDirectory node("h200-vm");
  node.Change([](Slot& slot) { slot.next_fault_id = 0; });
  const auto count = [&] {
    for (int i = 0; i < 200; ++i) node.Change([](Slot& slot) { slot.next_fault_id += 1; });
  };
  std::thread other(count);
  count();
  other.join();
  EXPECT_EQ(Counter(node.store()), 400U);
}

// Every commit writes one number in many places; a reader that saw two would have read a mixture.
TEST(Store, ReadersNeverSeeAMixture) {
  NodeDirectory node("dgx-a100-40");
  const pid_t writer = InChild([&] {
    for (uint64_t n = 1; n <= 2000; ++n) {
      node.Change([n](Slot& slot) {
        slot.next_fault_id = n;
        for (uint32_t gpu = 0; gpu < 8; ++gpu) slot.gpus[gpu].energy_before_mj = n;
      });
    }
    return 0;
  });
  uint64_t last = 0, mixtures = 0, back = 0;
  // Far above what it takes: only for a writer that died.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (last < 2000 && std::chrono::steady_clock::now() < limit) {
    struct View {
      uint64_t first;
      bool equal;
    };
    const View view = node.store().Read([](const Slot& slot) {
      View now{slot.next_fault_id, true};
      for (uint32_t gpu = 0; gpu < 8; ++gpu) {
        const uint64_t expected = slot.gpus[0].energy_before_mj;
        now.equal = now.equal && slot.gpus[gpu].energy_before_mj == expected;
      }
      return now;
    });
    mixtures += view.equal ? 0 : 1;
    back += view.first < last && view.first <= 2000 && last != 0 ? 1 : 0;
    if (view.first <= 2000) last = view.first;
  }
  EXPECT_EQ(last, 2000U) << "the writer's last number was not seen";
  EXPECT_EQ(StatusOf(writer), 0);
  EXPECT_EQ(mixtures, 0U);
  EXPECT_EQ(back, 0U);
}

}  // namespace
}  // namespace partita::sim
