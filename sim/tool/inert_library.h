#pragma once

#include <string>
#include <string_view>

namespace partita::sim::tool {

// A shared object that the loader accepts and ldconfig lists under its SONAME, and that does
// nothing: no code, no symbols. Stands for the driver's libraries that tools only look for by name.
[[nodiscard]] std::string InertLibrary(std::string_view soname);

}  // namespace partita::sim::tool
