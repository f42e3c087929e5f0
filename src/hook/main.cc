#include <cstdlib>
#include <span>

#include "hook/names.h"

// libstdc++'s own names the exception and, for that, brings a demangler of 100 kB. Nothing here
// throws but allocation.
namespace __gnu_cxx {
// NOLINTNEXTLINE(bugprone-reserved-identifier): it is libstdc++'s name that counts.
[[noreturn]] void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx

int main(int argc, char** argv) {
  return partita::hook::Run(std::span(argv, static_cast<std::size_t>(argc)));
}
