// The live inventory of a simulated machine. Time on the loop is the test's; the driver's threads
// are real, so whatever comes from them is waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "hw/inventory_reader.h"
#include "net/testing/fake_loop.h"
#include "service/inventory/live.h"
#include "tests/integration/simulated_machine.h"
#include "tests/integration/wait_for.h"

namespace partita::integration {

class LiveTest : public ::testing::Test {
 protected:
  explicit LiveTest(std::chrono::milliseconds deadline = std::chrono::milliseconds(300))
      : machine_("dgx-a100-40") {
    hw::ReaderOptions options = machine_.Options();
    options.deadline = deadline;
    options.release_deadline = std::chrono::milliseconds(500);
    driver_ = hw::MakeDriver(options);
    live_ = std::make_unique<service::inventory::Live>(
        loop_, *driver_, service::inventory::Live::Options{.root = machine_.root()});
  }
  // What hangs comes back before the driver goes.
  void TearDown() override { machine_.ClearCallFaults(); }

  service::inventory::SnapshotPtr Look(hw::nvml::Parts parts) {
    service::inventory::SnapshotPtr seen;
    live_->Look(parts, [&](const auto& snapshot) { seen = snapshot; });
    loop_.RunUntil([&] { return seen != nullptr; });
    return seen;
  }
  // Until links are there, which come after the first look.
  void Settle() {
    live_->Look(hw::nvml::Parts::All());
    loop_.RunUntil([&] { return !live_->current()->inventory.links.empty(); });
  }
  [[nodiscard]] const model::Gpu& Gpu(std::size_t number) const {
    return live_->current()->inventory.gpus.at(number);
  }
  [[nodiscard]] std::size_t StaleCount() const { return live_->current()->stale.size(); }
  void UntilNoneIsStale() {
    WaitFor(
        "every GPU to answer again", [&] { return StaleCount() == 0; },
        [&] { Look({hw::nvml::Part::kModes}); });
  }

  SimulatedMachine machine_;
  net::testing::FakeLoop loop_;
  std::shared_ptr<hw::nvml::Driver> driver_;
  std::unique_ptr<service::inventory::Live> live_;
};

}  // namespace partita::integration
