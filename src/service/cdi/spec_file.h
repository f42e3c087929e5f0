// A specification on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cdi/spec.h"

namespace partita::service::cdi {

enum class Written : std::uint8_t { kNew, kUnchanged };

// A name that engines read: "x.yaml" or "x.json".
[[nodiscard]] bool IsSpecName(std::string_view name);

// YAML or JSON by the name's ending, which must be one of the two: nobody reads "x.yml" (kInvalid).
// Whoever reads the directory finds the old file or the new one, readable for everybody. Bytes that
// are there already are left, with their time. A link is followed and stays, but not one to another
// such name of its own directory (kConflict). Another file of the directory with the same kind is
// kConflict and nothing is written: devices that two files define can be used by nobody.
[[nodiscard]] base::Result<Written> WriteSpecFile(const std::string& path,
                                                  const partita::cdi::Spec& spec);

}  // namespace partita::service::cdi
