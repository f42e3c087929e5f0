// The independent judge of a simulated node's state: reads the bytes of sim/state/layout.h and
// applies its own rules, computed from each board's placements. It calls nothing of sim/state or
// sim/nvml, so that a mistake there cannot excuse itself here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/state/layout.h"

namespace partita::torture {

// What is wrong, one line each.
class Findings {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> text, Args&&... args) {
    lines_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string Text() const;

 private:
  std::vector<std::string> lines_;
};

// Magic, version, sizes, and that the files never show a generation which is yet to come.
void CheckHeader(const sim::FileHeader& header, std::uint64_t file_size, Findings* findings);

// Everything that must hold of one published slot by itself: legal placements without overlap, ids
// as the board numbers them, compute instances within their GPU instance, counts and engine
// budgets, unique incarnations, holders of what exists, events without gaps.
void CheckSlot(const sim::Machine& machine, const sim::Slot& slot, Findings* findings);

// Byte for byte, apart from the simulated clock, over the GPUs that the machine has.
bool SameState(const sim::Machine& machine, const sim::Slot& a, const sim::Slot& b);

// How many bytes of a slot mean something on this machine.
std::uint64_t UsedBytes(const sim::Machine& machine);

// The id that a GPU instance at this placement must have: nodes of a binary tree over the memory
// slices, numbered from the left or from the right half.
std::uint32_t ExpectedGpuInstanceId(const sim::Board& board,
                                    std::uint32_t start,
                                    std::uint32_t size);

// Modes, GPU instances and compute instances as text, one line each. client.cc prints the same
// lines from what NVML answers.
std::string DescribeState(const sim::Machine& machine, const sim::Slot& slot);

// What must hold from one observed slot to the next: counters that only grow, incarnations that
// keep their shape and never come back, events that never change.
class History {
 public:
  void Observe(const sim::Machine& machine,
               std::uint64_t generation,
               const sim::Slot& slot,
               Findings* findings);
  [[nodiscard]] std::uint64_t last_generation() const { return last_generation_; }

 private:
  struct Shape {
    std::uint32_t gpu, id, profile, start;
    bool operator==(const Shape&) const = default;
  };
  void ObserveInstances(const sim::Machine& machine, const sim::Slot& slot, Findings* findings);
  void ObserveEvents(const sim::Slot& slot, Findings* findings);

  bool started_ = false;
  std::uint64_t last_generation_ = 0;
  std::uint64_t next_incarnation_ = 0, next_event_ = 0, boot_ = 0, driver_loads_ = 0;
  std::map<std::uint64_t, Shape> live_;  // by incarnation, as last observed
  std::map<std::uint64_t, sim::Event> events_;
};

}  // namespace partita::torture
