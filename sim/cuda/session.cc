#include "sim/cuda/session.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdlib.h>

#include "sim/cuda/mps_client.h"
#include "sim/cuda/share.h"
#include "sim/state/use.h"

namespace partita::sim::cuda {
namespace {

// Constant-initialised and trivially destructible: no constructor, no atexit.
Session the_session = {PTHREAD_MUTEX_INITIALIZER, 0, {}, -1, {}, {}, nullptr, false, -1, 0, 100.0};

}  // namespace

Session& TheSession() { return the_session; }

CUresult Entered() {
  const int owner = __atomic_load_n(&the_session.owner_pid, __ATOMIC_ACQUIRE);
  return owner != 0 && owner == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult LastingError(Session& session, Context& context) {
  if (context.sticky == CUDA_SUCCESS && session.is_mps_client) {
    context.sticky = HearFromServer(session, context);
  }
  return context.sticky;
}

uint32_t UsableMultiprocessors(const Session& session, uint32_t ordinal) {
  const uint32_t all = session.store.Read([&](const Slot& slot) {
    return Multiprocessors(session.store.machine(), slot, session.devices.devices[ordinal]);
  });
  return session.is_mps_client ? SharedMultiprocessors(all, session.percentage) : all;
}

uint64_t ContextBytesOn(const Session& session, uint32_t ordinal) {
  return ContextBytes(UsableMultiprocessors(session, ordinal), session.is_mps_client);
}

CUresult Account(Session& session, uint32_t ordinal, uint64_t allocated_bytes) {
  Usage& usage = session.usages[ordinal];
  const uint64_t bytes =
      usage.contexts * ContextBytesOn(session, ordinal) + RoundToPages(allocated_bytes);
  if (usage.limit != 0 && bytes > usage.limit && allocated_bytes > usage.allocated_bytes) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  switch (SetUsedMemory(session.store, usage.holder, bytes)) {
    case UseStatus::kDone: usage.allocated_bytes = allocated_bytes; return CUDA_SUCCESS;
    case UseStatus::kNoMemory: return CUDA_ERROR_OUT_OF_MEMORY;
    case UseStatus::kProhibited:
    case UseStatus::kTaken:
    case UseStatus::kGone:
    case UseStatus::kNoEntry:
    case UseStatus::kReadOnly: break;
  }
  return CUDA_ERROR_UNKNOWN;
}

void FreeAll(Context& context) {
  while (context.allocations != nullptr) {
    Allocation* gone = context.allocations;
    context.allocations = gone->next;
    TheSession().usages[context.device].allocated_bytes -= gone->size;
    munmap(gone->address, gone->mapped);
    free(gone);
  }
}

}  // namespace partita::sim::cuda
