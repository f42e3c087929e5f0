// The link at which somebody reads the configuration that was selected.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::cli {

// `link` leads to `target` afterwards, from one instant to the next; what was there is replaced,
// but no directory. False: it led there already, on whatever way.
[[nodiscard]] base::Result<bool> PointLink(const std::string& link, const std::string& target);

}  // namespace partita::cli
