// Why a GPU's compute mode is not as MPS needs it, or not yet as before: what people are told.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "service/mps/reconcile.h"

namespace partita::agent::mps {

// Pauses before what could not be done is tried once more.
inline constexpr std::chrono::seconds kUntilNextLook{5};
inline constexpr std::chrono::seconds kUntilTriedAgain{30};

[[nodiscard]] std::string WhyNotExclusive(const base::Error& error);
[[nodiscard]] std::string WhyNotRestored(const service::mps::Step& restore,
                                         const base::Error& error);
// What earlier agents left cannot be looked at.
[[nodiscard]] std::string WhyNotRestoredYet();
// Those before MPS are not known.
[[nodiscard]] std::string WhyUntouched(const base::Error& error);

}  // namespace partita::agent::mps
