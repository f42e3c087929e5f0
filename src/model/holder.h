// How whoever holds a GPU is called, in every message alike.
#pragma once

#include <string>

#include "model/inventory.h"

namespace partita::model {

// "pod default/train (main)", of a pod without names "pod <uid>", outside Kubernetes
// "container 0123456789ab"; "" when nothing is known.
[[nodiscard]] std::string ContainerText(const Container& container);

// "pid 4711 (/usr/bin/python3) in pod default/train (main)"; one line that is safe to print, since
// a process chooses its own name.
[[nodiscard]] std::string HolderText(const Process& process);

// What ends a holder that does not end by itself, with the command: a server of MPS, which stays
// when its clients have gone. Empty: it is somebody's program.
[[nodiscard]] std::string HowToEnd(const Process& process);

// "somebody who cannot be seen from here holds 3.5 GiB in GPU instance 2".
[[nodiscard]] std::string HolderText(const HiddenHolder& holder);
// What to do about one.
inline constexpr const char* kHiddenHolderHint =
    "run this in the host's PID namespace to see who it is (in a pod: hostPID: true), or there ask "
    "fuser -v /dev/nvidia*; memory that nobody holds is freed by a GPU reset";

}  // namespace partita::model
