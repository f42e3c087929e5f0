// What a TOML document says, whatever way it is written: to see that an edit changed no more than
// it should.
#pragma once

#include <string>
#include <vector>

#include "config/document.h"
#include "config/toml/edit.h"

namespace partita::service::toolkit {

// Keys in order, tables that are empty left out, and so is whatever lies below one of `besides`.
[[nodiscard]] std::string TomlMeaning(const config::Node& root,
                                      const std::vector<config::TomlPath>& besides);

}  // namespace partita::service::toolkit
