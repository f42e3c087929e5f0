// What a ConfigMap holds, as files of it would.
#pragma once

#include <map>
#include <string>

#include "base/value.h"

namespace partita::kube {

// By key: `data`, and `binaryData` decoded. What is no text, or no base64, is not there: the API
// server takes neither.
[[nodiscard]] std::map<std::string, std::string> TextsOf(const base::Value& config_map);

}  // namespace partita::kube
