// Who may allocate a GPU. Exactly one does, since two allocators that cannot see each other end in
// failed pods; a change waits for whoever holds it, and evicts nobody.
#pragma once

#include "service/ledger/decision.h"

namespace partita::service::ledger {

// As long as nobody said otherwise the device plugin has it.
[[nodiscard]] Via ViaOf(const State& state, const Device& device);

// Fails, with the way that has it (kConflict), unless this is the one.
[[nodiscard]] base::Result<void> CheckOffered(const State& state, const Device& device, Via via);

// Withdraws the GPU from where it is offered. It is published by the next PublishOffers that finds
// nobody on it. To its own way: a change under way is called off.
[[nodiscard]] Decision ChangeOffer(const State& state, const Board& board, Via via, Time now);

// Ends the changes whose GPUs nobody holds any more.
[[nodiscard]] Decision PublishOffers(const State& state);

// How kubelet is shown a device: what is withdrawn stays listed as unhealthy for a while, and as
// long as somebody holds it, since it would otherwise be a device that nobody ever had.
enum class Listing : std::uint8_t { kHealthy, kUnhealthy, kGone };
inline constexpr std::chrono::seconds kListedAfterWithdrawal{60};
[[nodiscard]] Listing ListingOf(const State& state, const Device& device, Time now);

}  // namespace partita::service::ledger
