// Whether a specification means something. Nothing on the host is looked at.
#pragma once

#include "base/result.h"
#include "cdi/spec.h"

namespace partita::cdi {

// What every reader demands: a known version that has all features in use, well-formed and
// different names, at least one device, no device without edits, well-formed edits. kInvalid with
// all that is wrong, not the first of it alone.
[[nodiscard]] base::Result<void> Check(const Spec& spec);

// That, and what we demand of our own: a hook has an environment, since OCI runtimes give one that
// has none (an empty list is not written) the environment of the image; its path is absolute;
// annotations are as Kubernetes has them.
[[nodiscard]] base::Result<void> CheckToWrite(const Spec& spec);

}  // namespace partita::cdi
