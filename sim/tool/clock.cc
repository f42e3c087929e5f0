#include <string>

#include "sim/state/time.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/show_document.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

// Sets the clock from where it is now, so that simulated time never jumps by itself.
void Rebase(Clock& clock, bool frozen, std::uint64_t advance) {
  clock.base_ns = SimulatedNow(clock) + advance;
  clock.monotonic_ns = MonotonicNow();
  clock.frozen = frozen ? 1 : 0;
}

int ChangeClock(const base::Invocation& invocation, const Node::Edit& edit) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  const auto changed = (*node)->Change(edit);
  if (!changed.ok()) return Report(changed.error());
  return Print(invocation, ClockDocument(*(*node)->Snapshot()), ClockText);
}

}  // namespace

int RunClockFreeze(const base::Invocation& invocation) {
  return ChangeClock(invocation, [](const Machine&, Slot& slot) {
    Rebase(slot.clock, true, 0);
    return base::Result<void>();
  });
}

int RunClockRun(const base::Invocation& invocation) {
  return ChangeClock(invocation, [](const Machine&, Slot& slot) {
    Rebase(slot.clock, false, 0);
    return base::Result<void>();
  });
}

int RunClockAdvance(const base::Invocation& invocation) {
  const auto step = ParseDuration(invocation.arguments().front());
  if (!step.ok()) return Report(step.error());
  return ChangeClock(invocation, [&](const Machine&, Slot& slot) -> base::Result<void> {
    if (SimulatedNow(slot.clock) > ~std::uint64_t{0} / 2) {
      return base::MakeError(base::ErrorCode::kInvalid, "the clock is too far in the future");
    }
    Rebase(slot.clock, slot.clock.frozen != 0, *step);
    return {};
  });
}

int RunClockShow(const base::Invocation& invocation) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  return Print(invocation, ClockDocument(*(*node)->Snapshot()), ClockText);
}

}  // namespace partita::sim::tool
