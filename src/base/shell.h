// Texts as words of a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace partita::base {

// 'text' for sh, bash and zsh.
[[nodiscard]] std::string ShellQuoted(std::string_view text);
// The same, but as it is where it needs no quotes.
[[nodiscard]] std::string ShellWord(std::string_view text);

}  // namespace partita::base
