#include "agent/boot_id.h"

#include "base/files.h"
#include "base/text.h"

namespace partita::agent {

base::Result<std::string> ReadBootId() {
  TRY(text, base::ReadFile("/proc/sys/kernel/random/boot_id"));
  return std::string(base::Trim(text));
}

}  // namespace partita::agent
