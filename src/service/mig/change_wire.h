// Orders, what is told on the way and ends of changes, on their way between the agent and a
// command. Private to programs of one version.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"
#include "model/mig/plan.h"
#include "service/mig/boot.h"
#include "service/mig/procedure.h"
#include "service/mig/remote_order.h"

namespace partita::service::mig {

inline constexpr std::uint64_t kChangeWireVersion = 1;

// What a plan is made of.
struct PlanLook {
  model::Inventory node;
  model::PinnedParts pinned;
};

// What is read back equals what was written, also through JSON. Reading fails with kUnsupported
// where it is of another version, and with kInvalid and the place where a field is missing,
// unknown or of another type.
[[nodiscard]] base::Value ToWire(const RemoteOrder& order);
[[nodiscard]] base::Value ToWire(const ChangeNews& news);
[[nodiscard]] base::Value ToWire(const ChangeEnd& end);
[[nodiscard]] base::Value ToWire(const BootChoice& choice);
[[nodiscard]] base::Value ToWire(const BootEnd& end);
[[nodiscard]] base::Value ToWire(const PlanLook& look);

[[nodiscard]] base::Result<RemoteOrder> OrderFromWire(const base::Value& value);
[[nodiscard]] base::Result<ChangeNews> NewsFromWire(const base::Value& value);
[[nodiscard]] base::Result<ChangeEnd> ChangeEndFromWire(const base::Value& value);
[[nodiscard]] base::Result<BootChoice> BootChoiceFromWire(const base::Value& value);
[[nodiscard]] base::Result<BootEnd> BootEndFromWire(const base::Value& value);
[[nodiscard]] base::Result<PlanLook> PlanLookFromWire(const base::Value& value);

}  // namespace partita::service::mig
