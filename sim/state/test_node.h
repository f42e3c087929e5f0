// A node's directory for tests: a profile of data/nodes, its state file and the trees it renders
// to.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/state/store.h"

namespace partita::sim {

// The machine and first state of a profile. Ends the test program when it cannot be loaded.
struct Loaded {
  std::unique_ptr<Machine> machine;
  std::unique_ptr<Slot> slot;
};
Loaded LoadProfile(std::string_view profile);

class NodeDirectory {
 public:
  explicit NodeDirectory(std::string_view profile);
  ~NodeDirectory();
  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

  const std::string& root() const { return root_; }
  std::string state() const { return root_ + "/sim/state"; }
  std::string holders() const { return root_ + "/sim/holders"; }
  const Machine& machine() const { return *loaded_.machine; }
  Store& store() { return store_; }

  // One transaction; false from `change` abandons it.
  void Change(const std::function<void(Slot&)>& change);
  Slot Snapshot() const;
  std::string Text(
      const std::string& path) const;  // below the root; "(absent)" when it is not there
  bool Has(const std::string& path) const;

 private:
  std::string root_;
  Loaded loaded_;
  Store store_;
};

// Runs `body` in a child of fork and returns its pid; the child ends with the body's answer.
pid_t InChild(const std::function<int()>& body);
int StatusOf(pid_t child);  // of waitpid: exit code, or -signal

}  // namespace partita::sim
