// This process as a client of MPS.
#pragma once

#include "sim/cuda/session.h"

namespace partita::sim::cuda {

// cuInit's part. Without a daemon in the pipe directory, or where this user may not reach it, the
// process is no client and goes on alone (seen on driver 580). Otherwise it waits for its server,
// and the devices and the share are the server's.
CUresult ConnectToDaemon(Session& session);

// A connection for one more context: its limit goes into the usage.
CUresult ConnectContext(Session& session, Context& context);

// Without waiting: what the server said about the context, or that it is gone.
CUresult HearFromServer(Session& session, const Context& context);

// Starts a kernel there; `code` is what it comes to. A server after a fault answers 700 to all.
CUresult LaunchOnServer(const Context& context, CUresult code);

}  // namespace partita::sim::cuda
