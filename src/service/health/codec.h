// Health over a restart of the program: health.json's payload. A reboot begins anew.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/health/state.h"

namespace partita::service::health {

// The same text for the same faults: nothing in it changes from look to look.
[[nodiscard]] std::string Encode(const Health& health, std::string_view boot);

// Empty where it is of another boot. An entry that makes no sense is an error: forgetting a fault
// would say that it is over.
[[nodiscard]] base::Result<Health> Decode(std::string_view text, std::string_view boot);

}  // namespace partita::service::health
