// Which driver call a job is in.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace partita::hw::nvml {

// Written by the job's thread, read by whoever watches it.
class CallWatch {
 public:
  explicit CallWatch(std::chrono::nanoseconds limit) : limit_(limit) {}

  // To be asked before each driver call. False: nobody waits for this job any more, so the driver
  // must not be called. `function` must live for ever.
  [[nodiscard]] bool Enter(const char* function) { return Enter(function, limit_); }
  // The same with a limit of its own, for calls that may wake a sleeping GPU.
  [[nodiscard]] bool Enter(const char* function, std::chrono::nanoseconds limit) {
    if (abandoned()) return false;
    function_.store(function);
    limit_ns_.store(limit.count());
    serial_.fetch_add(1);
    return true;
  }
  void Leave() { serial_.fetch_add(1); }

  struct Call {
    std::uint64_t serial;  // no other call of this job has it
    const char* function;
    std::chrono::nanoseconds limit;
  };
  // The call that it is in; absent between calls.
  [[nodiscard]] std::optional<Call> Current() const {
    const std::uint64_t serial = serial_.load();
    if (serial % 2 == 0) return std::nullopt;
    const Call call{serial, function_.load(), std::chrono::nanoseconds(limit_ns_.load())};
    if (serial_.load() != serial) return std::nullopt;
    return call;
  }

  void Abandon() { abandoned_.store(true); }
  [[nodiscard]] bool abandoned() const { return abandoned_.load(); }

 private:
  const std::chrono::nanoseconds limit_;  // of a call that has none of its own
  std::atomic<const char*> function_ = nullptr;
  std::atomic<std::int64_t> limit_ns_ = 0;
  std::atomic<std::uint64_t> serial_ = 0;  // odd: in a call
  std::atomic<bool> abandoned_ = false;
};

}  // namespace partita::hw::nvml
