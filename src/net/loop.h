// The one thread on which a program's state changes. Whatever happens (a timer, a ready descriptor,
// a signal, an answer from another thread) becomes a call on it, so what lives there needs no lock.
//
// Every source of calls has a name, and calls are counted by it: a program at rest wakes up as
// often as its table of timers says, and a test can hold it to that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"

namespace partita::net {

using Duration = std::chrono::nanoseconds;

// Called on the loop's thread, briefly: nothing in it waits. An exception that leaves it ends the
// program.
using Task = std::function<void()>;

// A timer that is destroyed, cancelled or armed anew no longer calls what it was armed for, also
// where its time had come already. It may be destroyed from its own task. The loop's thread only.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;

  virtual void After(Duration delay, Task task) = 0;
  // First after one period. A process that was paused over several periods is called once, not for
  // each of them.
  virtual void Every(Duration period, Task task) = 0;
  virtual void Cancel() = 0;
  [[nodiscard]] virtual bool armed() const = 0;
};

// Looks at a descriptor, which stays the caller's and open for as long as this lives. Tasks are
// called again and again while there is something to read, or room to write; an empty task ends
// that. The end of a stream and an error count as both. The loop's thread only; it may be destroyed
// from its own task.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;

  virtual void OnReadable(Task task) = 0;
  virtual void OnWritable(Task task) = 0;
};

// Ends with its destruction; the signals then do what they do by default.
class SignalWatch {
 public:
  SignalWatch() = default;
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  virtual ~SignalWatch() = default;
};

struct WakeUps {
  std::string name;
  std::uint64_t count = 0;
  bool operator==(const WakeUps&) const = default;
};

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  // By which its timers run.
  [[nodiscard]] virtual const base::Clock& clock() const = 0;

  // From any thread, also from the loop's own: the task runs later, in the order of posting.
  virtual void Post(Task task) = 0;

  // The rest belongs to the loop's thread, and to whoever prepares it before Run. What they return
  // goes before the loop does.
  [[nodiscard]] virtual std::unique_ptr<Timer> NewTimer(std::string name) = 0;
  // One watch a descriptor.
  [[nodiscard]] virtual std::unique_ptr<Watch> NewWatch(std::string name, int descriptor) = 0;
  [[nodiscard]] virtual std::unique_ptr<SignalWatch> OnSignals(
      std::vector<int> signals, std::function<void(int signal)> task) = 0;

  // Returns after Stop, which any thread may call. It can be run again.
  virtual void Run() = 0;
  virtual void Stop() = 0;

  // How often each source has called, by name, sorted; posted tasks count as "post". Sources of one
  // name count together, and what is gone still counts.
  [[nodiscard]] virtual std::vector<WakeUps> CountWakeUps() const = 0;
};

// The real one, on epoll.
[[nodiscard]] std::unique_ptr<Loop> NewLoop();

}  // namespace partita::net
