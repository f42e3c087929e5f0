// Threads that signals leave alone.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace partita::hw::nvml {

// Signals belong to the program's own threads. `name`: at most 15 characters, for people.
template <typename Body>
[[nodiscard]] std::thread StartQuietThread(const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([name, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name);
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace partita::hw::nvml
