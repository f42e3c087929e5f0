// `partita doctor`: a host looked over.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command DoctorCommand();

int RunDoctor(const base::Invocation& invocation);

}  // namespace partita::cli
