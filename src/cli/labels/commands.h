// `partita labels`: what this node is labelled with, and the end of it.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command LabelsCommand();
[[nodiscard]] base::Command LabelsClearCommand();

int RunLabelsShow(const base::Invocation& invocation);
int RunLabelsClear(const base::Invocation& invocation);

}  // namespace partita::cli
