#include "sim/nvml/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace partita::sim::nvml {
namespace {

constexpr size_t kSessionBytes = (sizeof(Session) + 4095) / 4096 * 4096;

Session* the_session = nullptr;
Session without_page{};
bool wiped_on_fork = false;
Store store;  // constant-initialised and trivially destructible: no constructor, no atexit

Session* MakeSession() {
  void* made =
      mmap(nullptr, kSessionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return &without_page;
  Session* fresh = static_cast<Session*>(made);
  const bool wiped = madvise(made, kSessionBytes, MADV_WIPEONFORK) == 0;
  Session* expected = nullptr;
  if (__atomic_compare_exchange_n(&the_session, &expected, fresh, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&wiped_on_fork, wiped, __ATOMIC_RELEASE);
    return fresh;
  }
  munmap(made, kSessionBytes);  // another thread was first
  return expected;
}

}  // namespace

Session& TheSession() {
  Session* made = __atomic_load_n(&the_session, __ATOMIC_ACQUIRE);
  return made != nullptr ? *made : *MakeSession();
}

Store& TheStore() { return store; }

bool Initialised() {
  const Session& now = TheSession();
  if (__atomic_load_n(&now.references, __ATOMIC_SEQ_CST) == 0) return false;
  if (__atomic_load_n(&wiped_on_fork, __ATOMIC_RELAXED)) return true;
  return now.owner_pid == static_cast<uint64_t>(getpid());
}

ScopedLock::ScopedLock(uint32_t* word) : word_(word) {
  uint32_t expected = 0;
  if (__atomic_compare_exchange_n(word_, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  // 2: somebody may sleep on it.
  while (__atomic_exchange_n(word_, 2, __ATOMIC_ACQUIRE) != 0) {
    syscall(SYS_futex, word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
  }
}

ScopedLock::~ScopedLock() {
  if (__atomic_exchange_n(word_, 0, __ATOMIC_RELEASE) == 2) {
    syscall(SYS_futex, word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

void BeginWait(uint32_t* set_waits) {
  __atomic_add_fetch(&TheSession().waits, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(set_waits, 1, __ATOMIC_SEQ_CST);
}

void EndWait(uint32_t* set_waits) {
  for (uint32_t* word : {set_waits, &TheSession().waits}) {
    if (__atomic_sub_fetch(word, 1, __ATOMIC_SEQ_CST) != 0) continue;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
}

void AwaitNoWaits(const uint32_t* waits) {
  for (uint32_t left = __atomic_load_n(waits, __ATOMIC_SEQ_CST); left != 0;
       left = __atomic_load_n(waits, __ATOMIC_SEQ_CST)) {
    syscall(SYS_futex, waits, FUTEX_WAIT_PRIVATE, left, nullptr, nullptr, 0);
  }
}

}  // namespace partita::sim::nvml
