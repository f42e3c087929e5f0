// Starting other programs from the torture tests.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace partita::torture {

// Runs a program to its end and returns what it printed on standard output; an error when its exit
// status is not 0.
base::Result<std::string> RunProgram(const std::vector<std::string>& command);

// A simulated node of its own below /dev/shm, gone at the end. Programs started while it lives find
// it through their environment.
class ScratchNode {
 public:
  // `file` describes the node, as for `partita-sim up --file`.
  static base::Result<ScratchNode> Up(const std::string& build, const std::string& file);
  ScratchNode(ScratchNode&& other) noexcept;
  ScratchNode& operator=(ScratchNode&&) = delete;
  ScratchNode(const ScratchNode&) = delete;
  ScratchNode& operator=(const ScratchNode&) = delete;
  ~ScratchNode();

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string state() const { return root_ + "/sim/state"; }
  [[nodiscard]] std::string holders() const { return root_ + "/sim/holders"; }
  [[nodiscard]] std::string library() const { return root_ + "/usr/lib64/libnvidia-ml.so.1"; }
  [[nodiscard]] const std::string& tool() const { return tool_; }
  static constexpr const char* kName = "torture";

 private:
  ScratchNode(std::string directory, std::string root, std::string tool);
  std::string directory_, root_, tool_;
  bool up_ = false;
};

}  // namespace partita::torture
