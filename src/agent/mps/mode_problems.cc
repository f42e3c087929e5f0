#include "agent/mps/mode_problems.h"

#include <fmt/format.h>

namespace partita::agent::mps {

std::string WhyNotExclusive(const base::Error& error) {
  return fmt::format(
      "its compute mode could not be made EXCLUSIVE_PROCESS, so that programs beside MPS may come "
      "in: {}; tried again every {} s",
      error.ToString(), kUntilTriedAgain.count());
}

std::string WhyNotRestored(const service::mps::Step& restore, const base::Error& error) {
  return fmt::format(
      "its compute mode could not be put back to what it was before MPS: {}; tried again every "
      "{} s, or set it by hand: nvidia-smi -i {} -c {}",
      error.ToString(), kUntilTriedAgain.count(), restore.name, static_cast<int>(restore.mode));
}

std::string WhyNotRestoredYet() {
  return fmt::format(
      "its compute mode is not put back to what it was before MPS: it is not known whether its "
      "daemon runs; tried again every {} s",
      kUntilNextLook.count());
}

std::string WhyUntouched(const base::Error& error) {
  return fmt::format("its compute mode is left alone, since those before MPS are not known: {}{}",
                     error.ToString(), error.hint().empty() ? "" : "; " + error.hint());
}

}  // namespace partita::agent::mps
