// Single changes of a GPU, through the library that was built.

#include "hw/mig_control.h"

#include <gtest/gtest.h>

#include "sim/state/life.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

TEST(MigControlTest, FindsTheDriverAgainAfterAReload) {
  SimulatedMachine machine("h200-vm");
  hw::MigControl control(hw::MakeDriver(machine.Options()));
  const model::PciAddress gpu = AddressOf(machine, 0);
  ASSERT_TRUE(control.SetMode(gpu, true).ok());
  machine.Change(
      [](const sim::Machine& fixed, sim::Slot& slot) { sim::ReloadDriver(fixed, slot); });
  const base::Result<hw::Activation> lost = control.SetMode(gpu, true);
  ASSERT_FALSE(lost.ok()) << "its session was of the driver before";
  const base::Result<hw::Activation> found = control.SetMode(gpu, true);
  ASSERT_TRUE(found.ok()) << found.error().ToString();
  EXPECT_EQ(*found, hw::Activation::kActive);
}

}  // namespace
}  // namespace partita::integration
