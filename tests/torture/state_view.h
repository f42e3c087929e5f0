// The state file of a node, mapped by the tests themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/state/layout.h"

namespace partita::torture {

// One published state, taken without a lock.
struct Snapshot {
  sim::FileHeader header;  // generation and rendered as they were around the copy
  sim::Slot slot;
};

class StateView {
 public:
  enum class Access { kRead, kReadWrite };
  static base::Result<StateView> Open(const std::string& path, Access access);
  StateView(StateView&& other) noexcept;
  StateView& operator=(StateView&& other) noexcept;
  StateView(const StateView&) = delete;
  StateView& operator=(const StateView&) = delete;
  ~StateView();

  [[nodiscard]] const sim::StateFile& file() const { return *file_; }
  [[nodiscard]] sim::StateFile& writable() { return *file_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Copies the current slot until the generation was the same before and after. The protocol of
  // layout.h, written a second time on purpose.
  [[nodiscard]] std::unique_ptr<Snapshot> Take() const;

  // Keeps every writer out while it lives; waits for the one inside.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();

   private:
    int fd_;
  };
  [[nodiscard]] std::unique_ptr<Lock> TakeLock() const;

 private:
  StateView(int fd, sim::StateFile* file, std::uint64_t size) : fd_(fd), file_(file), size_(size) {}
  int fd_ = -1;
  sim::StateFile* file_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace partita::torture
