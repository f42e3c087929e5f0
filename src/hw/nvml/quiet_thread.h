// Threads that signals leave alone.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"

namespace partita::hw::nvml {

// Signals belong to the program's own threads. `name`: at most 15 characters, for people. An error
// where this user, its cgroup or the machine has as many threads as it may.
template <typename Body>
[[nodiscard]] base::Result<std::thread> TryQuietThread(const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  int reason = 0;
  try {
    thread = std::thread([name, body = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name);
      body();
    });
  } catch (const std::system_error& error) {
    reason = error.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (reason == 0) return thread;
  return base::ErrnoError("start a thread", reason)
      .WithHint("end some programs, or allow more: ulimit -u, pids.max of the cgroup, TasksMax=");
}

// For what cannot go on without it: throws.
template <typename Body>
[[nodiscard]] std::thread StartQuietThread(const char* name, Body body) {
  base::Result<std::thread> thread = TryQuietThread(name, std::move(body));
  if (!thread.ok()) throw std::system_error(EAGAIN, std::generic_category(), name);
  return *std::move(thread);
}

}  // namespace partita::hw::nvml
