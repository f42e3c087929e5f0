// How a container gets what it asks for.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "request/request.h"

namespace partita::request {

enum class Mode : std::uint8_t {
  kCdi,     // from the CDI files of the machine
  kJitCdi,  // from a specification that is made at once
  kLegacy,  // by the prestart hook
};
[[nodiscard]] std::string_view ToString(Mode mode);

// `configured`: nvidia-container-runtime.mode. `prestart`: for the prestart hook, whose "auto" is
// legacy where the runtime's is jit-cdi. kUnsupported: csv, which is of another platform; kInvalid:
// no mode.
[[nodiscard]] base::Result<Mode> ResolveMode(std::string_view configured,
                                             const Request& request,
                                             bool prestart);

}  // namespace partita::request
