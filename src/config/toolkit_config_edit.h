// config.toml written and changed: the defaults as a file, and one key after another set in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/toml/edit.h"

namespace partita::config {

// Every key with its default; one that has none as a comment, with an example.
[[nodiscard]] std::string DefaultToolkitConfig();

// "key=value", or "key" alone for a switch that goes on. The kind of the value is the key's: a
// switch, a text as it is, or a list with ":" between its items, else with ","; a feature that is
// "nil" is removed. Everything else in the file keeps its bytes. kInvalid: no such key, or not such
// a value; kConflict: the file has something else there.
[[nodiscard]] base::Result<void> SetToolkitKey(TomlText& file, std::string_view assignment);

}  // namespace partita::config
