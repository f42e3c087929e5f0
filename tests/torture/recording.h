// One operation of a client, single-stepped, with the state after every instruction that changed
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "state_view.h"
#include "tree.h"

namespace partita::torture {

// Bytes of the state file.
struct Patch {
  std::uint64_t offset;
  std::string bytes;
};

// What one instruction did: a client killed right after it leaves the initial image with all
// patches up to here, and the tree `tree`.
struct Point {
  std::uint64_t step;  // instructions since the entry of the call
  std::vector<Patch> patches;
  std::size_t tree;  // index into Recording::trees
};

struct Recording {
  std::uint64_t steps = 0;
  std::uint64_t system_calls = 0;
  std::string initial;        // the whole state file before the first instruction
  std::vector<Point> points;  // in order; the first is the untouched state
  std::vector<Tree> trees;
  int result = -1;  // what NVML answered
};

// Runs `command` (a client that traces, client.cc) and steps it from its first breakpoint to its
// second. `root` is the node, whose state `view` maps.
base::Result<Recording> Record(const std::vector<std::string>& command,
                               const std::string& root,
                               const StateView& view);

// Walks through a recording: the image after each point.
class Replay {
 public:
  explicit Replay(const Recording& recording) : image_(recording.initial) {}
  // Points must be applied in order.
  void Apply(const Point& point);
  [[nodiscard]] const sim::StateFile& file() const {
    return *static_cast<const sim::StateFile*>(static_cast<const void*>(image_.data()));
  }
  [[nodiscard]] const std::string& image() const { return image_; }

 private:
  std::string image_;
};

}  // namespace partita::torture
