// What a driver's libnvidia-ml.so.1 exports, by its version: clients look symbols up one by one and
// take another where one is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::sim::tool {

// Symbols of the 580 library that one of this version ("535.98") lacks, of those that list
// processes, tell memory, belong to MIG or tell of system events; what others lack is not known
// here.
[[nodiscard]] std::vector<std::string_view> LackingSymbols(std::string_view version);

// The same shared library without these in its dynamic symbol table: dlsym finds none of them.
// kInvalid if it is no 64-bit ELF file, or lacks one already.
[[nodiscard]] base::Result<std::string> WithoutSymbols(
    std::string library, const std::vector<std::string_view>& symbols);

}  // namespace partita::sim::tool
