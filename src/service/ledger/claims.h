// What resource claims hold. The scheduler allocates; this is the last check before anything is
// done, and each step is on disk before the next one begins.
#pragma once

#include <string>
#include <vector>

#include "service/ledger/decision.h"

namespace partita::service::ledger {

inline constexpr std::chrono::minutes kTombstoneKept{10};

struct ClaimRequest {
  ClaimName owner;
  std::vector<Use> uses;  // a MIG device without a UUID is one still to be made
  Time asked;             // when kubelet's call came in
};

// Takes all devices or none, with the step PrepareStarted; receipt.attempt is the number to
// complete it with. The same claim again: nothing changes, and the receipt says where it is.
// Refused with the holder's name (kBusy); where the GPU is offered otherwise, or the call was
// overtaken by the claim's release (kConflict); where there is no such device (kNotFound); admin
// access to a GPU under vfio (kUnsupported).
[[nodiscard]] base::Result<Decision> StartClaim(const State& state,
                                                const ClaimRequest& request,
                                                Time now);

// Everything was done. `uses` are the same devices, with what was made for them. Refused
// (kConflict) when this attempt is not the one under way: it was overtaken by the claim's release.
[[nodiscard]] base::Result<Decision> CompleteClaim(const State& state,
                                                   const std::string& uid,
                                                   std::uint64_t attempt,
                                                   const std::vector<Use>& uses,
                                                   Time now);

// Before anything is undone. An unknown claim is released already: receipt.step is empty.
[[nodiscard]] Decision StartRelease(const State& state, const std::string& uid, Time now);
// Everything was undone. Only after StartRelease (kConflict).
[[nodiscard]] base::Result<Decision> FinishRelease(const State& state,
                                                   const std::string& uid,
                                                   Time now);

}  // namespace partita::service::ledger
