// A simulated node for tests: a profile of data/nodes in a directory of its own, initialised.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/nvml/nvml_calls.h"
#include "sim/state/layout.h"
#include "sim/state/store.h"

namespace partita::sim::nvml {

class TestNode {
 public:
  // Aborts the test program when the node cannot be made: nothing else would be worth testing.
  explicit TestNode(std::string_view profile);
  ~TestNode();
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  const Machine& machine() const { return *machine_; }
  const std::string& root() const { return root_; }
  std::string holders_path() const { return root_ + "/sim/holders"; }
  Store& store() { return store_; }
  nvmlDevice_t gpu(unsigned int index = 0) const;

  // Changes the state as another process would.
  template <class F>
  void Change(F change) {
    Transaction transaction;
    Begin(&transaction);
    change(transaction.slot());
    transaction.Commit();
  }
  // Simulated time stands still, at `ns`.
  void FreezeAt(uint64_t ns);

 private:
  void Begin(Transaction* transaction);

  std::string root_;
  std::unique_ptr<Machine> machine_;
  Store store_;
};

}  // namespace partita::sim::nvml
